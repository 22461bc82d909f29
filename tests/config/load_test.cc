#include "config/load.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "base/random.h"
#include "config/schema.h"

namespace gapwatch::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;
using testing::UnorderedElementsAre;

const Environment kNoVariables = [](const std::string&) { return std::nullopt; };

Environment variables(std::map<std::string, std::string> values) {
  return [values](const std::string& name) -> std::optional<std::string> {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  };
}

std::vector<std::string> faults(const std::string& text, SourceNeed need = SourceNeed::kOptional,
                                const Environment& environment = kNoVariables) {
  const auto loaded = load(text, "c.yaml", environment, need);
  EXPECT_EQ(loaded.settings.has_value(), loaded.faults.empty());
  std::vector<std::string> lines;
  for (const auto& fault : loaded.faults) lines.push_back(to_string(fault, "c.yaml"));
  return lines;
}

Settings good(const std::string& text, const Environment& environment = kNoVariables) {
  const auto loaded = load(text, "c.yaml", environment, SourceNeed::kOptional);
  for (const auto& fault : loaded.faults) ADD_FAILURE() << to_string(fault, "c.yaml");
  return loaded.settings.value_or(Settings{});
}

// A monitor with one more line, faults or settings as the caller asks.
std::string monitor(const std::string& line) {
  return "monitors:\n  - name: m\n    eval: e\n    " + line + "\n";
}

// The example of the interface contract, word for word.
constexpr const char* kExample = R"(source:
  kafka:                        # every other key under `properties` goes to librdkafka untouched
    brokers: localhost:9092
    topics: [eval-scores]
    group: gapwatch
    properties: {security.protocol: SASL_SSL}
  # or  files: [run.jsonl.gz]   or  stdin: true
format: native
state: {path: /var/lib/gapwatch}
http: {listen: 127.0.0.1:9464}
monitors:
  - name: math500
    eval: math500
    scorer: lexical
    pool: {policies: [phi-4, gemma-2-9b, llama-3.1-8b], groups: {phi-4: Phi}}   # or policies: auto
    thresholds: [0.05, 0.1, 0.2, 0.3]
    band: [0.05, 0.30]
    window: {last_draws: 16}    # or {all: true}, {sliding: 24h, step: 1h}, {tumbling: 1d}
    evaluate_every: 30s
    nulls: {replicates: 2000}
    alarm: {alpha: 0.01, threshold: 0.1}
)";

TEST(Load, ReadsTheExample) {
  const auto loaded = load(kExample, "gapwatch.yaml", kNoVariables);
  ASSERT_TRUE(loaded.settings) << to_string(loaded.faults.front(), "gapwatch.yaml");
  const auto& s = *loaded.settings;
  ASSERT_TRUE(s.source.kafka);
  EXPECT_EQ(s.source.kafka->brokers, "localhost:9092");
  EXPECT_THAT(s.source.kafka->topics, ElementsAre("eval-scores"));
  EXPECT_EQ(s.source.kafka->group, "gapwatch");
  EXPECT_THAT(s.source.kafka->properties, ElementsAre(Pair("security.protocol", "SASL_SSL")));
  EXPECT_EQ(s.state.path, "/var/lib/gapwatch");
  EXPECT_EQ(s.http.listen, "127.0.0.1:9464");
  ASSERT_EQ(s.monitors.size(), 1u);
  const auto& m = s.monitors[0];
  EXPECT_EQ(m.name, "math500");
  EXPECT_EQ(m.eval, "math500");
  EXPECT_EQ(m.scorer, "lexical");
  EXPECT_EQ(m.slice, std::nullopt);
  EXPECT_THAT(m.policies, ElementsAre("phi-4", "gemma-2-9b", "llama-3.1-8b"));
  EXPECT_THAT(m.groups, ElementsAre(Pair("phi-4", "Phi")));
  EXPECT_THAT(m.thresholds, ElementsAre(0.05, 0.1, 0.2, 0.3));
  EXPECT_EQ(m.band_low, 0.05);
  EXPECT_EQ(m.band_high, 0.30);
  EXPECT_EQ(m.window.last_draws, 16u);
  EXPECT_EQ(m.evaluate_every, std::chrono::seconds(30));
  EXPECT_EQ(m.nulls.replicates, 2'000u);
  EXPECT_EQ(m.alpha, 0.01);
  EXPECT_EQ(m.alarm_threshold, 0.1);
}

TEST(Load, AnEmptyFileIsTheDefaults) {
  EXPECT_EQ(describe(good("")), describe(Settings{}));
  EXPECT_EQ(describe(good("# nothing\n")), describe(Settings{}));
  EXPECT_EQ(describe(good("monitors:\nstate:\n")), describe(Settings{}));
  EXPECT_EQ(describe(good("\xef\xbb\xbfthreads: 0\n")), describe(Settings{}));
}

TEST(Load, WhereAStreamBegins) {
  const auto kafka = [](const std::string& more) {
    return "source: {kafka: {brokers: a:1, topics: [t], " + more + "}}\n";
  };
  EXPECT_EQ(good(kafka("start: latest")).source.kafka->start, StartAt::kLatest);
  const auto at_time = good(kafka("start: 2026-11-29T23:53:13.250Z"));
  EXPECT_EQ(at_time.source.kafka->start, StartAt::kTime);
  EXPECT_EQ(at_time.source.kafka->start_time, 1795996393250);
  EXPECT_EQ(good(describe(at_time)).source.kafka->start_time, 1795996393250);
  EXPECT_THAT(good(kafka("start_offsets: {t/0: 15, t/1: 0}, wait_for_topics: true")).source.kafka->start_offsets,
              ElementsAre(Pair("t/0", 15), Pair("t/1", 0)));
  EXPECT_THAT(faults(kafka("start: latst")), ElementsAre(HasSubstr("did you mean latest?")));
  EXPECT_THAT(faults(kafka("start_offsets: {t: 15}")), ElementsAre(HasSubstr("is not under topic/partition")));
  EXPECT_THAT(faults(kafka("start_offsets: {t/0: -1}")), ElementsAre(HasSubstr("start_offsets.t/0")));
}

TEST(Load, DeadLettersHaveOnePlaceThatIsNotRead) {
  const std::string source = "source: {kafka: {brokers: a:1, topics: [t]}}\n";
  EXPECT_EQ(good(source + "dead_letters: {topic: bad}\n").dead_letters.topic, "bad");
  EXPECT_THAT(faults(source + "dead_letters: {topic: t}\n"), ElementsAre(HasSubstr("is a topic that is read")));
  EXPECT_THAT(faults(source + "dead_letters: {topic: bad, file: f}\n"), ElementsAre(HasSubstr("a second place")));
  EXPECT_THAT(faults("source: {stdin: true}\ndead_letters: {topic: bad}\n"), ElementsAre(HasSubstr("no source.kafka")));
}

TEST(Load, EverySettingHasItsPlace) {
  const auto s = good(R"(
source: {files: [a.jsonl, "-"]}
format: native
events: {eval: e, scorer: judge, success_at: 0.5, success_at_by_eval: {gsm8k: 0.9},
         success_at_by_scorer: {rubric: 4}, errors: failure, errors_by_scorer: {judge: skip}, later_wins: false,
         max_event: 2MiB, max_name: 256B}
dead_letters: {file: /var/dead.jsonl}
state: {path: /s, checkpoint_every: 2s, write_buffer: 16MiB, block_cache: 8MiB}
http: {listen: "[::1]:0", token: secret-1}
threads: 3
limits: {policies: 7, prompts: 8, monitors: 9}
monitors:
  - name: a
    slice: hard
    pool: {policies: auto}
    thresholds: [1]
    min_trials: 4
    missing: fail
    rates: posterior
    prior: jeffreys
    window: {all: true}
    nulls: {replicates: 100, seed: 9}
  - {name: b, eval: f, scorer: g, prior: {alpha: 0.347, beta: 0.601}}
  - {name: c, prior: moments}
)");
  EXPECT_THAT(s.source.files, ElementsAre("a.jsonl", "-"));
  EXPECT_EQ(s.events.success_at, 0.5);
  EXPECT_THAT(s.events.success_at_by_eval, ElementsAre(Pair("gsm8k", 0.9)));
  EXPECT_THAT(s.events.success_at_by_scorer, ElementsAre(Pair("rubric", 4)));
  EXPECT_EQ(s.events.errors, ErrorOutcome::kFailure);
  EXPECT_THAT(s.events.errors_by_scorer, ElementsAre(Pair("judge", ErrorOutcome::kSkip)));
  EXPECT_FALSE(s.events.later_wins);
  EXPECT_EQ(s.dead_letters.file, "/var/dead.jsonl");
  EXPECT_EQ(s.events.max_event_bytes, 2u << 20);
  EXPECT_EQ(s.events.max_name_bytes, 256u);
  EXPECT_EQ(s.state.checkpoint_every, std::chrono::seconds(2));
  EXPECT_EQ(s.state.write_buffer_bytes, 16u << 20);
  EXPECT_EQ(s.state.block_cache_bytes, 8u << 20);
  EXPECT_EQ(s.http.listen, "[::1]:0");
  EXPECT_EQ(s.http.token, "secret-1");
  EXPECT_EQ(s.threads, 3u);
  EXPECT_EQ(s.max_policies, 7u);
  EXPECT_EQ(s.max_prompts, 8u);
  EXPECT_EQ(s.max_monitors, 9u);
  ASSERT_EQ(s.monitors.size(), 3u);
  const auto& a = s.monitors[0];
  EXPECT_EQ(a.eval, "e");
  EXPECT_EQ(a.scorer, "judge");
  EXPECT_EQ(a.slice, "hard");
  EXPECT_THAT(a.policies, IsEmpty());
  EXPECT_EQ(a.min_trials, 4u);
  EXPECT_TRUE(a.missing_as_fail);
  EXPECT_EQ(a.rates, RateKind::kPosterior);
  EXPECT_EQ(a.prior.kind, PriorKind::kJeffreys);
  EXPECT_EQ(a.prior.alpha, 0.5);
  EXPECT_EQ(a.window.last_draws, 0u);
  EXPECT_EQ(a.nulls.replicates, 100u);
  EXPECT_EQ(a.nulls.seed, 9u);
  EXPECT_EQ(s.monitors[1].prior.kind, PriorKind::kGiven);
  EXPECT_EQ(s.monitors[1].prior.beta, 0.601);
  EXPECT_EQ(s.monitors[2].prior.kind, PriorKind::kMoments);
}

TEST(Load, AllFaultsAtOnceEachWithItsPlace) {
  EXPECT_THAT(
      faults(R"(source: {kafka: {brokres: x:1, topics: []}}
threds: 2
monitors:
  - name: a b
    eval: e
    thresholds: [0.2, 0.1]
    evaluate_every: 30
)"),
      ElementsAre(
          "c.yaml:1:10: source.kafka.brokers: is missing; host:port, several with commas between them",
          "c.yaml:1:18: source.kafka.brokres: is not known; did you mean brokers?",
          "c.yaml:1:40: source.kafka.topics: is an empty list; names of topics",
          "c.yaml:2:1: threds: is not known; did you mean threads?",
          "c.yaml:4:11: monitors[0].name: \"a b\" has a character that does not fit a URL and a label; "
          "letters, digits, _ . - (at most 100)",
          "c.yaml:6:23: monitors[0].thresholds[1]: \"0.1\" is not above the one before it; "
          "1 to 32 rising numbers, each above 0 to 1",
          "c.yaml:7:21: monitors[0].evaluate_every: \"30\" has no unit; 100ms to 1d (units: ms, s, m, h, "
          "d)"));
}

TEST(Load, UnknownKeysNameTheNearest) {
  EXPECT_THAT(faults("brokers: x\n"),
              ElementsAre("c.yaml:1:1: brokers: is not known; did you mean source.kafka.brokers?"));
  EXPECT_THAT(
      faults("zzzzzzzz: 1\n"),
      ElementsAre(
          "c.yaml:1:1: zzzzzzzz: is not known; known here: format, alarms, threads, source, events, dead_letters, state, http, "
          "limits, monitor_defaults, monitors"));
  EXPECT_THAT(faults("state.path: /x\n"), ElementsAre(HasSubstr("is not known")));
  EXPECT_THAT(faults(monitor("<<: 1")), ElementsAre(HasSubstr("monitors[0].<<: is not known")));
  EXPECT_THAT(faults(monitor("nulls: {replicate: 5}")), ElementsAre(HasSubstr("did you mean replicates?")));
}

TEST(Load, DuplicateKeys) {
  EXPECT_THAT(faults("threads: 1\nthreads: 2\n"),
              ElementsAre("c.yaml:2:1: threads: is there twice; keep one"));
  EXPECT_THAT(faults("state: {path: /a}\nstate: {path: /b}\n"),
              ElementsAre(HasSubstr("c.yaml:2:1: state: is there twice")));
  EXPECT_THAT(faults(monitor("name: n")),
              ElementsAre(HasSubstr("c.yaml:4:5: monitors[0].name: is there twice")));
}

TEST(Load, WrongKinds) {
  EXPECT_THAT(faults("threads: [1]\n"), ElementsAre("c.yaml:1:10: threads: is a list; 0 to 1024"));
  EXPECT_THAT(faults("threads: {a: 1}\n"), ElementsAre(HasSubstr("is a section")));
  EXPECT_THAT(faults("threads:\n"), ElementsAre(HasSubstr("has no value")));
  EXPECT_THAT(faults("threads: many\n"), ElementsAre(HasSubstr("\"many\" is not a whole number")));
  EXPECT_THAT(faults("threads: 5000\n"), ElementsAre(HasSubstr("\"5000\" is out of range; 0 to 1024")));
  EXPECT_THAT(faults("state: /x\n"), ElementsAre(HasSubstr("state: is a single value, not a section")));
  EXPECT_THAT(faults("state: [a]\n"), ElementsAre(HasSubstr("state: is a list, not a section")));
  EXPECT_THAT(faults("monitors: {name: a}\n"), ElementsAre(HasSubstr("monitors: is a section, not a list")));
  EXPECT_THAT(faults("monitors: [a]\n"), Not(IsEmpty()));
  EXPECT_THAT(faults("[a, b]\n"), ElementsAre(HasSubstr("is a list, not a section")));
  EXPECT_THAT(faults("just words\n"), ElementsAre(HasSubstr("c.yaml:1:1: is a single value")));
  EXPECT_THAT(faults("source: {stdin: yes}\n"), ElementsAre(HasSubstr("neither true nor false")));
  EXPECT_THAT(faults("? [a]\n: 1\n"), ElementsAre(HasSubstr("has a key that is not a word")));
  EXPECT_THAT(faults("format: natve\n"), ElementsAre(HasSubstr("did you mean native?")));
}

TEST(Load, RulesOfAMonitor) {
  const std::map<std::string, std::string> wrong = {
      {"thresholds: []", "is an empty list"},
      {"thresholds: [0]", "\"0\" is out of range"},
      {"thresholds: [1.1]", "\"1.1\" is out of range"},
      {"thresholds: [nan]", "is not a number"},
      {"thresholds: [0.1, 0.1]", "is there twice"},
      {"thresholds: 0.1", "is a single value, not a list"},
      {"band: [0.3, 0.1]", "is not above the one before it"},
      {"band: [0.3]", "is not two numbers"},
      {"band: [-0.1, 0.3]", "is out of range"},
      {"alarm: {alpha: 0}", "out of range; above 0 and below 1"},
      {"alarm: {alpha: 1}", "out of range"},
      {"alarm: {threshold: 0}", "out of range"},
      {"min_trials: 0", "out of range"},
      {"missing: skip", "is not known"},
      {"rates: posteriour", "did you mean posterior?"},
      {"prior: jefreys", "did you mean jeffreys?"},
      {"prior: {alpha: 1}", "needs both alpha and beta"},
      {"prior: {alpha: 0, beta: 1}", "out of range"},
      {"prior: {gamma: 1}", "is not known"},
      {"window: {}", "is not one of its kinds"},
      {"window: {all: false}", "leaves no window"},
      {"window: {last_draws: 0}", "out of range"},
      {"window: {sliding: 24h, tumbling: 1d}", "is of two kinds"},
      {"window: {step: 1h}", "is not one of its kinds; {all: true}"},
      {"window: {sliding: 1h, step: 2h}", "has a step longer than itself"},
      {"window: {tumbling: 1d, step: 1h}", "is not of a window \"tumbling\""},
      {"window: {last_draws: 3, lateness: 1h}", "is not of a window \"last_draws\""},
      {"window: {sliding: 24}", "has no unit"},
      {"window: {sliding: 1ms}", "out of range"},
      {"window: {growing: 1h}", "is not known"},
      {"window: 16", "is a single value, not a section"},
      {"pool: {policies: some}", "\"some\" is not a list"},
      {"pool: {policies: [a, b, a]}", "\"a\" is there twice"},
      {"pool: {policies: []}", "is an empty list"},
      {"pool: {policies: [phi-4], groups: {phi4: Phi}}", "is not in the pool (did you mean phi-4?)"},
      {"slice: \"\"", "is empty"},
      {"evaluate_every: 1ms", "out of range"},
      {"nulls: {replicates: 1}", "out of range"},
      {"nulls: {seed: -1}", "is not a whole number"}};
  for (const auto& [line, problem] : wrong) {
    EXPECT_THAT(faults(monitor(line)), ElementsAre(HasSubstr(problem))) << line;
  }
  EXPECT_THAT(faults(monitor("pool: {policies: auto, groups: {any: Group}}")), IsEmpty());
}

TEST(Load, MonitorsHaveNamesOfTheirOwn) {
  EXPECT_THAT(faults("monitors: [{eval: e}]\n"), ElementsAre(HasSubstr("monitors[0].name: is missing")));
  EXPECT_THAT(faults("monitors: [{name: a}]\n"), ElementsAre(HasSubstr("monitors[0].eval: is missing")));
  EXPECT_THAT(faults("monitors: [{name: a, eval: e}, {name: a, eval: f}]\n"),
              ElementsAre(HasSubstr("monitors[1].name: \"a\" is there twice")));
  for (const auto* name : {"\"..\"", "a/b", "é", "\"\""}) {
    EXPECT_THAT(faults(fmt::format("monitors: [{{name: {}, eval: e}}]\n", name)), Not(IsEmpty())) << name;
  }
}

TEST(Load, MonitorsHaveDefaultsInCommon) {
  const auto s = good(R"(
monitors: [{name: a, eval: e, min_trials: 2}, {name: b, eval: e, thresholds: [0.7]}]
monitor_defaults: {thresholds: [0.5], min_trials: 4, nulls: {replicates: 99}}
)");
  EXPECT_THAT(s.automatic_monitor.thresholds, ElementsAre(0.5));
  EXPECT_EQ(s.automatic_monitor.nulls.replicates, 99u);
  EXPECT_THAT(s.monitors[0].thresholds, ElementsAre(0.5));
  EXPECT_EQ(s.monitors[0].min_trials, 2u);
  EXPECT_THAT(s.monitors[1].thresholds, ElementsAre(0.7));
  EXPECT_EQ(s.monitors[1].min_trials, 4u);
  EXPECT_THAT(faults("monitor_defaults: {name: a}\n"),
              ElementsAre(HasSubstr("monitor_defaults.name: is not known")));
  EXPECT_THAT(faults("monitor_defaults: {band: [1, 0]}\n"),
              ElementsAre(HasSubstr("monitor_defaults.band[1]: \"0\" is not above")));
}

TEST(Load, ExactlyOneSource) {
  EXPECT_THAT(faults("threads: 1\n", SourceNeed::kRequired),
              ElementsAre("c.yaml:1:1: source: is missing; exactly one of kafka, files, stdin: true"));
  EXPECT_THAT(faults("source: {stdin: false}\n", SourceNeed::kRequired),
              ElementsAre(HasSubstr("source: is missing")));
  EXPECT_THAT(faults("source: {stdin: true, files: [a]}\n"), ElementsAre(HasSubstr("more than one kind")));
  EXPECT_THAT(faults("source: {stdin: true}\n", SourceNeed::kRequired), IsEmpty());
  EXPECT_THAT(faults("source: {kafka: }\n"),
              UnorderedElementsAre(HasSubstr("brokers: is missing"), HasSubstr("topics: is missing")));
}

TEST(Load, KafkaRules) {
  const auto kafka = [](const std::string& line) {
    return "source: {kafka: {brokers: b, topics: [t], " + line + "}}\n";
  };
  EXPECT_THAT(faults(kafka("properties: {group.id: x}")),
              ElementsAre(HasSubstr("has a setting of its own, source.kafka.group")));
  EXPECT_THAT(faults(kafka("properties: {enable.auto.commit: true}")),
              ElementsAre(HasSubstr("positions are kept with the counts")));
  EXPECT_THAT(faults(kafka("properties: {security: {protocol: SSL}}")),
              ElementsAre(HasSubstr("whole name as one key")));
  EXPECT_THAT(faults(kafka("queue: 64")), ElementsAre(HasSubstr("has no unit; 1MiB to 2GiB")));
  EXPECT_THAT(faults(kafka("session_timeout: 10")), ElementsAre(HasSubstr("has no unit")));
  EXPECT_THAT(
      faults("source: {kafka: {brokers: \"a,,b\", topics: [^x, a b]}}\n"),
      ElementsAre(HasSubstr("an empty broker"), HasSubstr("is a pattern"), HasSubstr("cannot be the name")));
  const auto s = good(kafka("queue: 512MiB, instance: one, session_timeout: 6s, properties: {ssl.port: 1}"));
  EXPECT_EQ(s.source.kafka->queue_bytes, 512u << 20);
  EXPECT_EQ(s.source.kafka->instance, "one");
  EXPECT_EQ(s.source.kafka->session_timeout, std::chrono::seconds(6));
}

TEST(Load, ListenIsHostAndPort) {
  for (const auto* listen :
       {"localhost", "\":9464\"", "127.0.0.1:70000", "127.0.0.1:x", "\"::1:9464\"", "a b:1"}) {
    EXPECT_THAT(faults(fmt::format("http: {{listen: {}}}\n", listen)), ElementsAre(HasSubstr("http.listen")))
        << listen;
  }
  for (const auto* listen : {"localhost:0", "0.0.0.0:9464", "\"[::]:9464\""}) {
    EXPECT_THAT(faults(fmt::format("http: {{listen: {}}}\n", listen)), IsEmpty()) << listen;
  }
}

TEST(Load, VariablesOfTheEnvironment) {
  const auto environment = variables({{"HOST", "broker-1"}, {"PORT", "9092"}, {"N", "4"}, {"BAD", "\xff"}});
  const auto s = good(
      "source: {kafka: {brokers: \"${HOST}:${PORT}\", topics: [t]}}\nthreads: ${N}\nstate: {path: "
      "\"/a/$${N}$5\"}\n",
      environment);
  EXPECT_EQ(s.source.kafka->brokers, "broker-1:9092");
  EXPECT_EQ(s.threads, 4u);
  EXPECT_EQ(s.state.path, "/a/${N}$5");
  EXPECT_THAT(faults("threads: ${M}\n"),
              ElementsAre("c.yaml:1:10: threads: the environment variable M is not set; 0 to 1024"));
  EXPECT_THAT(faults("threads: ${4}\n"), ElementsAre(HasSubstr("does not begin a ${NAME}")));
  EXPECT_THAT(faults("format: ${N\n"), ElementsAre(HasSubstr("does not begin a ${NAME}")));
  EXPECT_THAT(faults("format: ${BAD}\n", SourceNeed::kOptional, environment),
              ElementsAre(HasSubstr("is not UTF-8")));
}

class SecretsTest : public testing::Test {
 protected:
  SecretsTest() : folder_(testing::TempDir() + "gapwatch_secrets_" + std::to_string(getpid())) {
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ + "/pw.txt") << "hunter2\n";
    std::ofstream(folder_ + "/empty.txt") << "\n";
  }
  ~SecretsTest() override { std::filesystem::remove_all(folder_); }

  Loaded read(const std::string& text) {
    return load(text, folder_ + "/c.yaml", variables({{"PW", "hunter2"}}), SourceNeed::kOptional);
  }
  std::string folder_;
};

TEST_F(SecretsTest, FilesAreReadAndNothingIsShown) {
  const auto loaded = read(R"(
source:
  kafka:
    brokers: b
    topics: [t]
    properties: {sasl.password_file: pw.txt, ssl.key.password: hunter2, custom: "${PW}", plain: seen}
http: {token_file: pw.txt}
)");
  ASSERT_TRUE(loaded.settings) << to_string(loaded.faults.front(), "c");
  const auto& properties = loaded.settings->source.kafka->properties;
  EXPECT_EQ(properties.at("sasl.password"), "hunter2");
  EXPECT_EQ(properties.at("custom"), "hunter2");
  EXPECT_EQ(loaded.settings->http.token, "hunter2");
  const auto shown = describe(*loaded.settings);
  EXPECT_THAT(shown, Not(HasSubstr("hunter2")));
  EXPECT_THAT(shown, HasSubstr("sasl.password: \"(hidden)\""));
  EXPECT_THAT(shown, HasSubstr("token: \"(hidden)\""));
  EXPECT_THAT(shown, HasSubstr("plain: seen"));
}

TEST_F(SecretsTest, FaultsDoNotShowThem) {
  for (const auto* text :
       {"http: {token: \"hunter2 hunter2\"}\n", "threads: ${PW}\n", "http: {token: *hunter2}\n",
        "http: {token: \"${PW} x\"}\n", "source: {files: [\"${PW}\", \"${PW}\"]}\n"}) {
    const auto loaded = read(text);
    ASSERT_FALSE(loaded.faults.empty()) << text;
    for (const auto& fault : loaded.faults)
      EXPECT_THAT(to_string(fault, "c"), Not(HasSubstr("hunter2"))) << text;
  }
}

TEST_F(SecretsTest, FilesThatCannotBeUsed) {
  const std::map<std::string, std::string> wrong = {
      {"http: {token_file: none.txt}\n", "cannot read \"none.txt\": No such file"},
      {"http: {token_file: .}\n", "it is a directory"},
      {"http: {token_file: empty.txt}\n", "is empty"},
      {"http: {token_file: pw.txt, token: t}\n", "gives the token twice"},
      {"source: {kafka: {brokers: b, topics: [t], properties: {a_file: pw.txt, a: x}}}\n", "gives a twice"}};
  for (const auto& [text, problem] : wrong) {
    const auto loaded = read(text);
    ASSERT_EQ(loaded.faults.size(), 1u) << text;
    EXPECT_THAT(to_string(loaded.faults[0], "c"), HasSubstr(problem));
  }
}

TEST_F(SecretsTest, RelativePathsStartAtTheFile) {
  const auto loaded = read("source: {files: [a/../b.jsonl, /c.jsonl, \"-\"]}\nstate: {path: state}\n");
  ASSERT_TRUE(loaded.settings);
  EXPECT_THAT(loaded.settings->source.files, ElementsAre(folder_ + "/b.jsonl", "/c.jsonl", "-"));
  EXPECT_EQ(loaded.settings->state.path, folder_ + "/state");
}

TEST_F(SecretsTest, FilesAsAWhole) {
  const auto fault_of = [&](const std::string& path) {
    const auto loaded = load_file(path, kNoVariables);
    EXPECT_EQ(loaded.faults.size(), 1u);
    return loaded.faults.empty() ? "" : to_string(loaded.faults[0], "c.yaml");
  };
  EXPECT_EQ(fault_of(folder_ + "/none.yaml"),
            "c.yaml: cannot read it: No such file or directory; give a readable YAML file");
  EXPECT_EQ(fault_of(folder_), "c.yaml: cannot read it: it is a directory; give a readable YAML file");
  std::ofstream(folder_ + "/big.yaml") << std::string(2 << 20, '#');
  EXPECT_THAT(fault_of(folder_ + "/big.yaml"), HasSubstr("it is larger than 1MiB"));
  std::ofstream(folder_ + "/fine.yaml") << "source: {stdin: true}\n";
  EXPECT_TRUE(load_file(folder_ + "/fine.yaml", kNoVariables).settings);
}

TEST(Load, WhatIsNotYaml) {
  EXPECT_THAT(faults("a: [1, 2\nb: 3\n"), ElementsAre(HasSubstr("not YAML: ")));
  EXPECT_THAT(faults("a: b: c\n"), ElementsAre(HasSubstr("c.yaml:1:5: not YAML: illegal map value")));
  EXPECT_THAT(faults("a: *none\n"), ElementsAre(HasSubstr("an alias without its anchor")));
  EXPECT_THAT(faults("threads: 1\n---\nthreads: 2\n"), ElementsAre(HasSubstr("more than one YAML document")));
  EXPECT_THAT(faults("threads: 1\nstate: {path: \xff}\n"),
              ElementsAre("c.yaml:2:15: byte 0xff is not UTF-8 text; save the file as UTF-8"));
  EXPECT_THAT(faults(std::string("a\0b", 3)), ElementsAre(HasSubstr("byte 0x00 is not UTF-8 text")));
  for (const auto& line : faults("\x01")) EXPECT_THAT(line, Not(HasSubstr("\n")));
}

TEST(Load, WorkIsBounded) {
  // Nine levels of nine aliases: 387 million values where they are all looked at.
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    bomb += fmt::format("a{0}: &a{0} [*a{1},*a{1},*a{1},*a{1},*a{1},*a{1},*a{1},*a{1},*a{1}]\n", i, i - 1);
  }
  EXPECT_THAT(faults(bomb), testing::SizeIs(9));
  // A monitor of 2,000 policies, 900 times.
  std::string wide = "monitors:\n  - &m\n    name: m\n    eval: e\n    pool: {policies: [";
  for (int i = 0; i < 2'000; ++i) wide += fmt::format("{}p{}", i == 0 ? "" : ",", i);
  wide += "]}\n";
  for (int i = 0; i < 900; ++i) wide += "  - *m\n";
  const auto lines = faults(wide);
  EXPECT_LE(lines.size(), 101u);
  EXPECT_THAT(lines, testing::Contains(HasSubstr("expands to more than 200000 values")));
  EXPECT_THAT(faults(std::string(100'000, '[')), testing::SizeIs(1));
  std::string many;
  for (int i = 0; i < 5'000; ++i) many += fmt::format("unknown{}: 1\n", i);
  EXPECT_THAT(faults(many), testing::SizeIs(101));
}

TEST(Load, WindowsByTime) {
  const auto window = [](const std::string& text) { return good(monitor("window: " + text)).monitors.at(0).window; };
  using std::chrono::hours;
  using std::chrono::minutes;
  EXPECT_EQ(window("{sliding: 24h, step: 2h}"), (Window{0, hours(24), hours(2), {}}));
  EXPECT_EQ(window("{sliding: 24h}"), (Window{0, hours(24), hours(1), {}})) << "a 24th without a step";
  EXPECT_EQ(window("{tumbling: 1d, lateness: 10m}"), (Window{0, hours(24), hours(24), minutes(10)}));
  EXPECT_EQ(window_text(window("{tumbling: 1d, lateness: 10m}")), "tumbling: 1d, lateness: 10m");
  EXPECT_EQ(window_text(window("{sliding: 36h, step: 2h}")), "sliding: 36h, step: 2h");
}

TEST(Load, HttpTlsNeedsBothItsFiles) {
  EXPECT_THAT(faults("http: {tls: {certificate: a.pem}}"), ElementsAre(HasSubstr("has no key; http.tls.key beside it")));
  EXPECT_THAT(faults("http: {tls: {key: a.pem}}"), ElementsAre(HasSubstr("has no certificate")));
  EXPECT_THAT(faults("http: {tls: {client_ca: a.pem}}"), ElementsAre(HasSubstr("has no certificate of the server's")));
  EXPECT_EQ(good("http: {tls: {certificate: /a.pem, key: /b.pem}}").http.tls_key, "/b.pem");
}

// Whatever the text: settings or faults, each in one line.
TEST(Load, DamagedTextNeverCrashes) {
  const std::string whole = kExample;
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < whole.size(); i += 7) texts.push_back(whole.substr(0, i));
  CounterRandom random(1);
  constexpr std::string_view kAlphabet = "{}[]:,-#&*!|>'\"%@`?~ \n\t$x0<=\\";
  for (int i = 0; i < 600; ++i) {
    texts.push_back(whole);
    for (int edits = 0; edits < 3; ++edits) {
      texts.back()[bounded(random, whole.size())] = kAlphabet[bounded(random, kAlphabet.size())];
    }
  }
  for (const auto& text : texts) {
    for (const auto& line : faults(text)) ASSERT_THAT(line, Not(HasSubstr("\n"))) << text;
  }
}

}  // namespace
}  // namespace gapwatch::config
