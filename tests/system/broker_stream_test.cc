// The whole way on a real broker: a replayed stream, a monitor process, its API, against the offline report.
#include "tests/support/broker_stream.h"
#include "tests/support/temp_dir.h"

namespace gapwatch {
namespace {

using testing::broker;
using testing::eventually;
using testing::fresh_topic;
using testing::json_at;
using testing::MonitorProcess;
using testing::offline_monitor;
using testing::replay;
using testing::run_to_end;
using testing::simulated_config;
using testing::TempDir;

void simulate(const std::filesystem::path& dir, const std::filesystem::path& to) {
  testing::simulate(dir, "specialist", 120, 4, 40, to);
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
    MonitorProcess monitor(home.path(), simulated_config(topic, home.path()));
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
  MonitorProcess monitor(dir.path(), simulated_config(topic, dir.path()));
  ASSERT_TRUE(monitor.caught_up(lines)) << monitor.process().err();
  expect_same_figures(monitor, offline_monitor(dir.path(), input));
  EXPECT_GT(monitor.metric("gapwatch_rejected_total{reason=\"not_json\"}").value_or(0), 0);
  EXPECT_EQ(monitor.process().kill(SIGTERM), 0);
}

// Many draws without their number, and trials counted before: read again, they would count again.
std::vector<std::string> with_unnumbered(std::vector<std::string> events) {
  std::mt19937_64 random(3);
  for (auto& event : events) {
    const auto kind = random() % 8, trials = random() % 5;
    if (kind < 3) event = testing::without_draw(event);
    if (kind == 3) event = testing::pre_counted(event, trials == 0 ? 0 : random() % trials, trials);
  }
  return events;
}

double events_total(MonitorProcess& monitor, const char* result) {
  return monitor.metric("gapwatch_events_total{result=\"" + std::string(result) + "\"}").value_or(-1);
}

// After a clean end it goes on where it was: of all the topic only `partitions` new records are read, which count nothing.
void expect_nothing_read_again(MonitorProcess& monitor, testing::TopicWriter& topic, int partitions) {
  EXPECT_EQ(monitor.process().kill(SIGTERM), 0) << monitor.process().err();
  monitor.start();
  topic.write_to_each("{", partitions);
  EXPECT_TRUE(eventually([&] { return events_total(monitor, "rejected") >= partitions; })) << monitor.process().err();
  EXPECT_EQ(events_total(monitor, "rejected"), partitions);
  for (const char* result : {"applied", "duplicate", "correction"}) EXPECT_EQ(events_total(monitor, result), 0) << result;
}

TEST(BrokerStream, KilledADozenTimesItCountsEveryRecordOnce) {
  constexpr int kPartitions = 6, kDeaths = 12;
  const TempDir dir;
  const auto input = dir.path() / "events.jsonl";
  simulate(dir.path(), input);
  const auto events = with_unnumbered(testing::lines_of(testing::read_file(input)));
  testing::write_lines(input, events);
  const auto name = fresh_topic("killed");
  testing::TopicWriter topic(name, kPartitions);
  MonitorProcess monitor(dir.path(), simulated_config(name, dir.path()));
  EXPECT_GE(testing::kill_amid(monitor, topic, events, kDeaths, 5), kDeaths / 4);
  const auto offline = offline_monitor(dir.path(), input);
  expect_same_figures(monitor, offline);
  ASSERT_FALSE(HasFailure());  // what follows would wait in vain as well
  expect_nothing_read_again(monitor, topic, kPartitions);
  expect_same_figures(monitor, offline);
  EXPECT_EQ(monitor.process().kill(SIGTERM), 0);

  const auto verified = run_to_end({GAPWATCH_BINARY, "state", "verify", (dir.path() / "state").string()}, dir.path());
  EXPECT_EQ(verified.status, 0) << verified.err;
  EXPECT_EQ(testing::exported_counts(dir.path(), "simulated"), testing::naive_counts(events, "simulated"));
  testing::write_file(dir.path() / "exported.jsonl",
                      testing::run_gapwatch(dir.path(), {"state", "export", (dir.path() / "state").string()}));
  EXPECT_EQ(json_at(offline_monitor(dir.path(), dir.path() / "exported.jsonl"), "/coverage"), json_at(offline, "/coverage"))
      << "an export reads back as the same counts";
}

TEST(BrokerStream, ABrokerThatGoesAwayIsWaitedFor) {
  const TempDir dir;
  const auto input = dir.path() / "events.jsonl";
  simulate(dir.path(), input);
  const auto topic = fresh_topic("away");
  replay(dir.path(), input, topic, 2);
  MonitorProcess monitor(dir.path(), simulated_config(topic, dir.path()));
  ASSERT_TRUE(monitor.caught_up(kSimulated)) << monitor.process().err();
  broker().stop();
  ASSERT_TRUE(eventually([&] { return monitor.process().err().find("warning") != std::string::npos; }))
      << monitor.process().err();
  EXPECT_TRUE(monitor.process().running());
  broker().start();
  const auto more = dir.path() / "more.jsonl";
  testing::write_file(more, R"({"eval":"simulated","scorer":"default","prompt":"late","policy":"policy-a","draw":0,"correct":1})");
  replay(dir.path(), more, topic, 2);
  EXPECT_TRUE(monitor.caught_up(kSimulated + 1)) << monitor.process().err();
  EXPECT_EQ(monitor.process().kill(SIGTERM), 0) << monitor.process().err();
}

}  // namespace
}  // namespace gapwatch
