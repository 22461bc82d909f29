// Real scored responses on the real broker: figures of the offline report, whatever happens on the way.
#include <random>

#include "tests/support/broker_stream.h"
#include "tests/support/temp_dir.h"

namespace gapwatch {
namespace {

using testing::eventually;
using testing::json_at;
using testing::run_to_end;
using testing::TempDir;

const std::string kStream = std::string(GAPWATCH_SHARED_DIR) + "/data/math500.jsonl.gz";

// Every line of the stream; after 1 in 20 of them an earlier one again or rubbish; and for another monitor 1 in 10 again
// without its draw, or as trials counted before: these count as often as they are read.
std::vector<std::string> spoiled(const TempDir& dir) {
  EXPECT_EQ(run_to_end({"sh", "-c", "gzip -dc '" + kStream + "' > '" + (dir.path() / "plain").string() + "'"}, dir.path()).status, 0);
  const auto plain = testing::lines_of(testing::read_file(dir.path() / "plain"));
  std::mt19937_64 random(17);
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    lines.push_back(plain[i]);
    if (random() % 20 == 0) lines.push_back(random() % 3 != 0 ? plain[random() % (i + 1)] : "\x01 rubbish {\"prompt\":");
    if (random() % 10 != 0) continue;
    const auto other = testing::with_member(plain[i], "eval", R"("eval":"unnumbered")");
    lines.push_back(random() % 8 != 0 ? testing::without_draw(other) : testing::pre_counted(other, random() % 3, 2));
  }
  return lines;
}

TEST(BrokerStreamShared, Math500WithDuplicatesRubbishAndADozenDeaths) {
  constexpr int kDeaths = 12;
  const TempDir dir;
  const auto lines = spoiled(dir);
  const auto name = testing::fresh_topic("math500");
  testing::TopicWriter topic(name, 6);
  testing::MonitorProcess monitor(
      dir.path(), testing::topic_config(name, dir.path(),
                                        "  - {name: math500, eval: math500, scorer: lexical, evaluate_every: 1s, nulls: {replicates: 100}}\n"
                                        "  - {name: unnumbered, eval: unnumbered, scorer: lexical, nulls: {replicates: 20}}\n"));
  EXPECT_GE(testing::kill_amid(monitor, topic, lines, kDeaths, 23), kDeaths / 4);
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
  const auto same = [&] {
    online = testing::without_live_laws(monitor.get("/api/v1/monitors/math500"));
    return json_at(online, "/coverage") == json_at(offline, "/coverage") && json_at(online, "/gap") == json_at(offline, "/gap");
  };
  // Evaluations give way to everything else: on a busy machine three of them take longer than one wait.
  EXPECT_TRUE(eventually(same) || eventually(same)) << json_at(online, "/prompts") << json_at(online, "/trials");
  for (const char* part : {"/prompts", "/trials", "/policies", "/oracle", "/gap", "/coverage", "/rauc", "/checks"}) {
    EXPECT_EQ(json_at(online, part), json_at(offline, part)) << part;
  }
  EXPECT_EQ(monitor.metric("gapwatch_oracle_gap_ratio{monitor=\"math500\",tau=\"0.1\"}"), 0.072);
  EXPECT_EQ(monitor.process().kill(SIGTERM), 0) << monitor.process().err();
  for (const char* eval : {"math500", "unnumbered"}) {
    EXPECT_EQ(testing::exported_counts(dir.path(), eval), testing::naive_counts(lines, eval)) << eval;
  }
}

}  // namespace
}  // namespace gapwatch
