// From a snapshot to the prompts that drive the gap, and to a sample of the history.
#include "app/reporting.h"

#include <numbers>

namespace gapwatch::app {
namespace {

// Three policies, five draws a cell. "a" has the best mean rate and covers most at tau 0.5.
state::TableSnapshot snapshot() {
  state::TableSnapshot out;
  out.table.policies = {"a", "b", "c"};
  out.table.prompts = {"p0", "p1", "p2", "p3", "p4"};
  out.table.cells = {{5, 5}, {5, 0}, {5, 0},   // only a
                     {5, 4}, {5, 3}, {5, 0},   // a is best
                     {5, 1}, {5, 5}, {5, 0},   // b covers, a does not: gain 0.8
                     {5, 2}, {5, 0}, {5, 3},   // c covers, a does not: gain 0.2
                     {5, 0}, {0, 0}, {5, 5}};  // b has not answered: not complete
  out.slices.assign(5, "");
  return out;
}

state::MonitorMoment moment() {
  state::MonitorMoment out;
  out.config.name = "m";
  out.config.alarm_threshold = 0.5;
  out.spec.pool_size = 3;
  return out;
}

TEST(DrivingPrompts, ThoseInTheGapComeFirstThenByGain) {
  const auto found = driving_prompts(snapshot(), moment(), {1, 1}, {exporters::PromptSort::kGap, 10});
  ASSERT_EQ(found.size(), 5u);
  EXPECT_EQ(found[0].prompt, "p2");
  EXPECT_TRUE(found[0].in_gap);
  EXPECT_DOUBLE_EQ(found[0].gain, 0.8);
  EXPECT_EQ(found[1].prompt, "p3");
  EXPECT_TRUE(found[1].in_gap);
  EXPECT_NEAR(found[1].gain, 0.2, 1e-15);
  for (std::size_t i = 2; i < 5; ++i) {
    EXPECT_FALSE(found[i].in_gap) << found[i].prompt;
    EXPECT_EQ(found[i].gain, 0) << found[i].prompt;
  }
  EXPECT_EQ(found[2].prompt, "p0");
  EXPECT_EQ(found[4].prompt, "p4");
  EXPECT_DOUBLE_EQ(found[0].cells[0].posterior_mean, 2.0 / 7);  // (1 + 1) / (5 + 2)
}

TEST(SplitPrompts, EachIsCountedOnce) {
  stats::CountTable table;
  EXPECT_EQ(split_prompts(table), 0);
  table.prompts = {"a", "b", "b", "b", "c", "d", "d"};
  EXPECT_EQ(split_prompts(table), 2);
}

TEST(HistorySample, OfAnUnmeasuredMonitorHasCountsOnly) {
  exporters::MonitorReport report;
  report.state = "collecting";
  report.prompts_total = 3;
  const auto sample = history_sample(report, 17);
  EXPECT_EQ(sample.at, 17);
  EXPECT_EQ(sample.state, "collecting");
  EXPECT_EQ(sample.prompts, 3u);
  EXPECT_FALSE(sample.ceiling);
  EXPECT_TRUE(sample.thresholds.empty());
}

TEST(HistorySample, HoldsTheNumbersOfTheReport) {
  exporters::MonitorReport report;
  report.state = "quiet";
  report.pool = {"a", "b"};
  report.thresholds = {0.1};
  report.prompts_total = 30;
  auto& summary = report.summary;
  summary.complete = 24;
  summary.trials_total = 480;
  summary.pass_at_1 = {0.25, 0.5};
  summary.best_single = 1;
  summary.ceiling = 0.625;
  summary.union_product = 0.75;
  summary.premium_product = 0.125;
  summary.frechet_upper = 0.875;
  stats::CoverageSummary coverage;
  coverage.tau = 0.1;
  coverage.gap = 0.125;
  summary.coverage = {coverage};
  report.evaluation.emplace();
  stats::ThresholdNulls nulls;
  nulls.tau = 0.1;
  nulls.gap.margin.emplace();
  nulls.gap.margin->mean = 0.0625;
  nulls.gap.margin->excess = 0.0625;
  report.evaluation->thresholds = {nulls};
  report.state = "evidence";
  report.evidence.emplace();
  report.evidence->redeal.log_e = -std::numbers::ln10;
  report.evidence->margin.log_e = 3 * std::numbers::ln10;
  report.evidence->margin.reached = true;
  const auto sample = history_sample(report, 5);
  EXPECT_EQ(sample.state, "evidence");
  EXPECT_NEAR(*sample.redeal.log10_e, -1, 1e-12);
  EXPECT_FALSE(sample.redeal.alarm);
  EXPECT_NEAR(*sample.margin.log10_e, 3, 1e-12);
  EXPECT_TRUE(sample.margin.alarm);
  EXPECT_EQ(sample.complete, 24u);
  EXPECT_EQ(sample.trials, 480u);
  EXPECT_FALSE(sample.paired);
  EXPECT_EQ(sample.comparator, 0.5);
  EXPECT_EQ(sample.ceiling, 0.625);
  EXPECT_EQ(sample.union_rate, 0.75);
  EXPECT_EQ(sample.union_upper, 0.875);
  EXPECT_EQ(sample.noise_share, 0.5);  // (0.75 - 0.625) / (0.75 - 0.5)
  ASSERT_EQ(sample.thresholds.size(), 1u);
  EXPECT_EQ(sample.thresholds[0].gap, 0.125);
  EXPECT_EQ(sample.thresholds[0].margin.excess, 0.0625);
  EXPECT_FALSE(sample.thresholds[0].redeal.mean);
}

}  // namespace
}  // namespace gapwatch::app
