// The whole way on a real broker: a replayed stream, a monitor process, its API, against the offline report.
#include <random>

#include "tests/support/broker.h"
#include "tests/support/monitor_process.h"
#include "tests/support/temp_dir.h"

namespace gapwatch {
namespace {

using testing::broker;
using testing::eventually;
using testing::fresh_topic;
using testing::json_at;
using testing::MonitorProcess;
using testing::run_to_end;
using testing::TempDir;

std::string kafka_config(const std::string& topic, const std::filesystem::path& dir, const std::string& more = "") {
  return "source:\n  kafka:\n    brokers: " + broker().bootstrap() + "\n    topics: [" + topic + "]\n    group: " + topic +
         "\n    instance: monitor-1\n    session_timeout: 6s\n" + "state: {path: " + (dir / "state").string() +
         ", checkpoint_every: 20ms}\nhttp: {listen: 127.0.0.1:0}\n"
         "monitors:\n  - name: m\n    eval: simulated\n    evaluate_every: 1s\n    nulls: {replicates: 50}\n" +
         more;
}

// The offline report's monitor, of the same config.
std::string offline_monitor(const std::filesystem::path& dir, const std::string& input) {
  const auto ran = run_to_end({GAPWATCH_BINARY, "report", input, "--config", (dir / "gapwatch.yaml").string(), "--format",
                               "json"},
                              dir);
  EXPECT_EQ(ran.status, 0) << ran.err;
  return json_at(ran.out, "/monitors/0");
}

void replay(const std::filesystem::path& dir, const std::string& input, const std::string& topic, int partitions) {
  const auto ran = run_to_end({GAPWATCH_BINARY, "replay", input, "--to", "kafka://" + broker().bootstrap() + "/" + topic,
                               "--partitions", std::to_string(partitions)},
                              dir);
  ASSERT_EQ(ran.status, 0) << ran.err;
}

void simulate(const std::filesystem::path& dir, const std::filesystem::path& to) {
  const auto ran = run_to_end({GAPWATCH_BINARY, "simulate", "specialist", "--prompts", "120", "--policies", "4", "--draws",
                               "40", "--traffic", "random", "--to", to.string()},
                              dir);
  ASSERT_EQ(ran.status, 0) << ran.err;
}

constexpr std::uint64_t kSimulated = 120 * 4 * 40;

// Everything that is a function of the counts; the evaluation too, once it is of all of them.
void expect_same_figures(MonitorProcess& monitor, const std::string& offline) {
  std::string online;
  EXPECT_TRUE(eventually([&] {
    online = testing::without_live_laws(monitor.get("/api/v1/monitors/m"));
    return json_at(online, "/coverage") == json_at(offline, "/coverage") &&
           json_at(online, "/gap") == json_at(offline, "/gap");
  })) << json_at(online, "/coverage")
      << "\n"
      << json_at(offline, "/coverage");
  for (const char* part : {"/prompts", "/trials", "/policies", "/oracle", "/gap", "/routers", "/coverage", "/rauc",
                           "/pass_at_1_nulls", "/unscored", "/pool", "/checks"}) {
    EXPECT_EQ(json_at(online, part), json_at(offline, part)) << part;
  }
  EXPECT_NE(json_at(online, "/coverage"), "") << online;
}

TEST(BrokerStream, AReplayedStreamGivesTheFiguresOfTheReport) {
  const TempDir dir;
  const auto input = dir.path() / "events.jsonl";
  simulate(dir.path(), input);
  for (const int partitions : {1, 6}) {
    const auto topic = fresh_topic("replayed");
    const TempDir home;
    replay(dir.path(), input, topic, partitions);
    MonitorProcess monitor(home.path(), kafka_config(topic, home.path()));
    ASSERT_TRUE(monitor.caught_up(kSimulated)) << monitor.process().err();
    expect_same_figures(monitor, offline_monitor(home.path(), input));
    EXPECT_EQ(monitor.metric("gapwatch_prompts{monitor=\"m\",state=\"complete\"}"), 120.0);
    EXPECT_EQ(monitor.process().kill(SIGTERM), 0) << monitor.process().err();
  }
}

// 5% of the lines twice or thrice, or rubbish.
std::uint64_t spoil(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::mt19937_64 random(11);
  std::ifstream in(from);
  std::ofstream out(to);
  std::vector<std::string> seen;
  std::uint64_t lines = 0;
  const std::string rubbish[] = {"{", "not json at all", R"({"prompt":"p"})", R"({"prompt":1,"policy":"a","correct":1})",
                                 R"({"prompt":"p","policy":"a","correct":7,"draw":0})", "[1,2,3]", "\xff\xfe{}"};
  for (std::string line; std::getline(in, line); ++lines) {
    out << line << '\n';
    seen.push_back(line);
    if (random() % 20 != 0) continue;
    ++lines;
    out << (random() % 2 == 0 ? seen[random() % seen.size()] : rubbish[random() % std::size(rubbish)]) << '\n';
  }
  return lines;
}

TEST(BrokerStream, DuplicatesAndRubbishChangeNothing) {
  const TempDir dir;
  const auto input = dir.path() / "events.jsonl", spoiled = dir.path() / "spoiled.jsonl";
  simulate(dir.path(), input);
  const auto lines = spoil(input, spoiled);
  const auto topic = fresh_topic("spoiled");
  replay(dir.path(), spoiled, topic, 6);
  MonitorProcess monitor(dir.path(), kafka_config(topic, dir.path()));
  ASSERT_TRUE(monitor.caught_up(lines)) << monitor.process().err();
  expect_same_figures(monitor, offline_monitor(dir.path(), input));
  EXPECT_GT(monitor.metric("gapwatch_rejected_total{reason=\"not_json\"}").value_or(0), 0);
  EXPECT_EQ(monitor.process().kill(SIGTERM), 0);
}

TEST(BrokerStream, KilledADozenTimesItCountsEveryRecordOnce) {
  const TempDir dir;
  const auto input = dir.path() / "events.jsonl";
  simulate(dir.path(), input);
  const auto topic = fresh_topic("killed");
  replay(dir.path(), input, topic, 6);
  MonitorProcess monitor(dir.path(), kafka_config(topic, dir.path()));
  std::mt19937_64 random(5);
  for (int death = 0; death < 12; ++death) {
    // Killed at a random moment after it began to listen, whatever it is doing then.
    ASSERT_TRUE(monitor.port()) << monitor.process().err();
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 300));
    EXPECT_EQ(monitor.process().kill(SIGKILL), 128 + SIGKILL);
    monitor.start();
  }
  const auto offline = offline_monitor(dir.path(), input);
  expect_same_figures(monitor, offline);
  EXPECT_EQ(monitor.process().kill(SIGTERM), 0) << monitor.process().err();

  // A clean second run goes on where the first stopped: nothing is read again.
  monitor.start();
  expect_same_figures(monitor, offline);
  EXPECT_EQ(monitor.metric("gapwatch_events_total{result=\"applied\"}").value_or(0), 0.0);
  EXPECT_EQ(monitor.process().kill(SIGTERM), 0);

  const auto verified = run_to_end({GAPWATCH_BINARY, "state", "verify", (dir.path() / "state").string()}, dir.path());
  EXPECT_EQ(verified.status, 0) << verified.err;
  const auto exported = run_to_end({GAPWATCH_BINARY, "state", "export", (dir.path() / "state").string()}, dir.path());
  testing::write_file(dir.path() / "exported.jsonl", exported.out);
  EXPECT_EQ(json_at(offline_monitor(dir.path(), (dir.path() / "exported.jsonl").string()), "/coverage"),
            json_at(offline, "/coverage"))
      << "an export reads back as the same counts";
}

TEST(BrokerStream, ABrokerThatGoesAwayIsWaitedFor) {
  const TempDir dir;
  const auto input = dir.path() / "events.jsonl";
  simulate(dir.path(), input);
  const auto topic = fresh_topic("away");
  replay(dir.path(), input, topic, 2);
  MonitorProcess monitor(dir.path(), kafka_config(topic, dir.path()));
  ASSERT_TRUE(monitor.caught_up(kSimulated)) << monitor.process().err();
  broker().stop();
  ASSERT_TRUE(eventually([&] { return monitor.process().err().find("warning") != std::string::npos; }))
      << monitor.process().err();
  EXPECT_TRUE(monitor.process().running());
  broker().start();
  const auto more = dir.path() / "more.jsonl";
  testing::write_file(more, R"({"eval":"simulated","scorer":"default","prompt":"late","policy":"policy-a","draw":0,"correct":1})");
  replay(dir.path(), more.string(), topic, 2);
  EXPECT_TRUE(monitor.caught_up(kSimulated + 1)) << monitor.process().err();
  EXPECT_EQ(monitor.process().kill(SIGTERM), 0) << monitor.process().err();
}

}  // namespace
}  // namespace gapwatch
