// Real scored responses on the real broker: figures of the offline report, whatever happens on the way.
#include <random>
#include <thread>

#include "tests/support/broker.h"
#include "tests/support/monitor_process.h"
#include "tests/support/temp_dir.h"

namespace gapwatch {
namespace {

using testing::broker;
using testing::eventually;
using testing::json_at;
using testing::run_to_end;
using testing::TempDir;

const std::string kStream = std::string(GAPWATCH_SHARED_DIR) + "/data/math500.jsonl.gz";

// Every line of the stream, and after 1 in 20 of them an earlier one again or rubbish.
void spoil(const std::filesystem::path& to, const TempDir& dir) {
  ASSERT_EQ(run_to_end({"sh", "-c", "gzip -dc '" + kStream + "' > '" + (dir.path() / "plain").string() + "'"}, dir.path()).status, 0);
  std::mt19937_64 random(17);
  std::ifstream in(dir.path() / "plain");
  std::ofstream out(to);
  std::vector<std::string> seen;
  for (std::string line; std::getline(in, line);) {
    out << line << '\n';
    seen.push_back(line);
    if (random() % 20 != 0) continue;
    out << (random() % 3 != 0 ? seen[random() % seen.size()] : "\x01 rubbish {\"prompt\":") << '\n';
  }
}

TEST(BrokerStreamShared, Math500WithDuplicatesRubbishAndADozenDeaths) {
  const TempDir dir;
  const auto spoiled = dir.path() / "spoiled.jsonl";
  spoil(spoiled, dir);
  const auto topic = testing::fresh_topic("math500");
  const auto sent = run_to_end({GAPWATCH_BINARY, "replay", spoiled.string(), "--to", "kafka://" + broker().bootstrap() + "/" + topic,
                                "--partitions", "6"},
                               dir.path());
  ASSERT_EQ(sent.status, 0) << sent.err;
  testing::MonitorProcess monitor(
      dir.path(), "source:\n  kafka:\n    brokers: " + broker().bootstrap() + "\n    topics: [" + topic + "]\n    group: " + topic +
                      "\n    instance: monitor-1\n    session_timeout: 6s\nstate: {path: " + (dir.path() / "state").string() +
                      ", checkpoint_every: 20ms}\nhttp: {listen: 127.0.0.1:0}\n"
                      "monitors: [{name: math500, eval: math500, scorer: lexical, evaluate_every: 1s, nulls: {replicates: 100}}]\n");
  std::mt19937_64 random(23);
  for (int death = 0; death < 12; ++death) {
    ASSERT_TRUE(monitor.port()) << monitor.process().err();
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 400));
    EXPECT_EQ(monitor.process().kill(SIGKILL), 128 + SIGKILL);
    monitor.start();
  }
  const auto report = run_to_end({GAPWATCH_BINARY, "report", kStream, "--config", (dir.path() / "gapwatch.yaml").string(),
                                  "--format", "json"},
                                 dir.path());
  ASSERT_EQ(report.status, 0) << report.err;
  const auto offline = json_at(report.out, "/monitors/0");
  // From the published study of this pool (arXiv 2607.03436) and the stream's own counts.
  const auto number = [](const std::string& document, const char* pointer) { return std::stod("0" + json_at(document, pointer)); };
  EXPECT_NEAR(number(offline, "/oracle/ceiling"), 0.836866666667, 1e-9);
  EXPECT_NEAR(number(offline, "/oracle/union/paired"), 0.8732, 1e-12);
  EXPECT_NEAR(number(offline, "/oracle/union/product"), 0.874410831292, 1e-12);
  EXPECT_NEAR(number(offline, "/oracle/union/frechet_upper"), 0.8884, 1e-12);
  EXPECT_EQ(json_at(offline, "/oracle/best_single/policy"), "\"qwen2.5-32b\"");
  EXPECT_NEAR(number(offline, "/gap/total"), 0.100533333333, 1e-9);
  EXPECT_NEAR(number(offline, "/gap/noise_share"), 0.361405835544, 1e-12);
  EXPECT_NEAR(number(offline, "/oracle/positive_fraction"), 120.0 / 500, 1e-12);
  EXPECT_NEAR(number(offline, "/oracle/conditional_premium"), 0.156434019271, 1e-9);
  EXPECT_EQ(json_at(offline, "/oracle/zero"), R"({"certain":350,"dead":27,"lone":3})");
  EXPECT_NEAR(number(offline, "/coverage/1/gap"), 0.072, 1e-12);
  EXPECT_NEAR(number(offline, "/coverage/1/disagreement"), 0.692, 1e-12);
  std::string online;
  EXPECT_TRUE(eventually([&] {
    online = testing::without_live_laws(monitor.get("/api/v1/monitors/math500"));
    return json_at(online, "/coverage") == json_at(offline, "/coverage") && json_at(online, "/gap") == json_at(offline, "/gap");
  })) << json_at(online, "/prompts") << json_at(online, "/trials");
  for (const char* part : {"/prompts", "/trials", "/policies", "/oracle", "/gap", "/coverage", "/rauc", "/checks"}) {
    EXPECT_EQ(json_at(online, part), json_at(offline, part)) << part;
  }
  EXPECT_EQ(monitor.metric("gapwatch_oracle_gap_ratio{monitor=\"math500\",tau=\"0.1\"}"), 0.072);
  EXPECT_EQ(monitor.process().kill(SIGTERM), 0) << monitor.process().err();
}

}  // namespace
}  // namespace gapwatch
