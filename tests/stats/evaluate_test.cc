#include "stats/evaluate.h"

#include <cmath>

#include "tests/support/draws.h"
#include "tests/support/golden.h"

namespace gapwatch::stats {
namespace {

using testing::Draws;

EvaluationSettings quick(std::vector<double> thresholds = {0.1, 0.5}) {
  EvaluationSettings settings;
  settings.thresholds = std::move(thresholds);
  settings.replicates = 60;
  return settings;
}

void expect_finite(Number value, const char* what) {
  if (value) {
    EXPECT_TRUE(std::isfinite(*value)) << what;
  }
}

void expect_finite(const std::optional<NullComparison>& null) {
  if (!null) return;
  for (const double x : {null->observed, null->mean, null->p05, null->p95, null->p_upper, null->p_lower, null->fraction_upper,
                         null->fraction_lower, null->excess}) {
    EXPECT_TRUE(std::isfinite(x));
  }
}

void expect_defined(const Evaluation& e) {
  EXPECT_TRUE(std::isfinite(e.prior.alpha) && std::isfinite(e.prior.beta));
  expect_finite(e.effective_pool_size, "effective pool size");
  expect_finite(e.conservative_premium_floor, "floor");
  if (e.noise_share_interval) {
    EXPECT_LE(e.noise_share_interval->low, e.noise_share_interval->high);
  }
  for (const auto& at : e.thresholds) {
    for (const auto& both : {at.gap, at.disagreement, at.rise}) {
      expect_finite(both.redeal);
      expect_finite(both.margin);
    }
    expect_finite(at.oracle_minus_mixture);
    expect_finite(at.mixture_matched, "matched mixture");
    expect_finite(at.split_half.matched, "split half");
    expect_finite(at.split_half.scoring_half, "split half");
    for (const auto& size : at.gap_by_size) EXPECT_TRUE(std::isfinite(size.gap));
  }
  for (const auto& check : e.checks) expect_finite(check.value, check.name.c_str());
  for (const auto& best : e.best_of_r) {
    EXPECT_TRUE(std::isfinite(best.union_product) && std::isfinite(best.mean_share.value_or(0)));
  }
  for (const auto& test : e.family) EXPECT_TRUE(test.adjusted >= test.p - 1e-12 && test.adjusted <= 1);
}

TEST(Evaluate, TablesOfEveryShapeAreDefined) {
  InlineExecutor executor;
  const std::vector<testing::RandomTable> shapes{
      {.prompts = 30, .policies = 1}, {.prompts = 1, .policies = 4, .trials_from = 2}, {.prompts = 12, .policies = 3, .trials_to = 1},
      {.prompts = 6, .policies = 200, .trials_from = 1}, {.prompts = 5, .policies = 2, .trials_from = 1, .trials_to = 100'000}};
  for (std::size_t s = 0; s < shapes.size(); ++s) {
    SCOPED_TRACE(s);
    const auto table = testing::random_table(shapes[s], s);
    for (const bool missing_as_fail : {false, true}) {
      auto settings = quick();
      settings.completeness.missing_as_fail = missing_as_fail;
      settings.rates = config::RateKind::kPosterior;
      settings.prior.kind = config::PriorKind::kLikelihood;
      const auto evaluation = evaluate(table, {}, settings, executor);
      ASSERT_EQ(evaluation.thresholds.size(), 2u);
      expect_defined(evaluation);
    }
  }
}

TEST(Evaluate, AllCellsEqual) {
  InlineExecutor executor;
  for (const std::uint32_t successes : {0u, 2u, 4u}) {
    CountTable table;
    table.policies = {"a", "b", "c"};
    table.cells.assign(15, {4, successes});
    const auto evaluation = evaluate(table, {}, quick(), executor);
    expect_defined(evaluation);
    EXPECT_FALSE(evaluation.effective_pool_size);
    EXPECT_EQ(evaluation.thresholds[0].gap.redeal->observed, 0);
  }
}

TEST(Evaluate, NothingCompleteHasNothing) {
  InlineExecutor executor;
  CountTable table;
  table.policies = {"a", "b"};
  table.cells = {{4, 1}, {0, 0}};
  for (const auto& nothing : {table, CountTable{}}) {
    const auto evaluation = evaluate(nothing, {}, quick(), executor);
    ASSERT_EQ(evaluation.thresholds.size(), 2u);
    EXPECT_EQ(evaluation.thresholds[1].tau, 0.5);
    EXPECT_FALSE(evaluation.thresholds[0].gap.redeal || evaluation.thresholds[0].mixture_matched);
    EXPECT_TRUE(evaluation.checks.empty() && evaluation.family.empty() && evaluation.best_of_r.empty());
    EXPECT_FALSE(evaluation.noise_share_interval || evaluation.subpools || evaluation.curse_at_half);
  }
}

TEST(Evaluate, TakesDrawsOfTheRowsThatCount) {
  const testing::Golden golden(testing::golden_path("draws_60x11x30"));
  auto rows = testing::draws_of(golden);
  rows.resize(20);
  Draws draws(rows);
  auto table = testing::counts_of(draws.table, testing::policy_names(11));
  auto settings = quick();
  settings.groups = testing::groups_of(golden, table);
  settings.most_subpool_policies = 11;
  InlineExecutor one;
  const auto three = make_thread_executor(3);
  const auto whole = evaluate(table, draws.table, settings, one);
  expect_defined(whole);
  EXPECT_EQ(whole.strata.at(0).by, "first draw");
  EXPECT_EQ(whole.prefix_ranges.back().k, 30u);
  EXPECT_NEAR(*whole.prefix_ranges.back().premium_mean, *whole.prefix_path.back().premium, 1e-12);
  EXPECT_EQ(whole.prefix_path.back().k, 30u);
  EXPECT_EQ(whole.leave_one_group_out.size(), 8u);
  ASSERT_TRUE(whole.subpools);
  EXPECT_NEAR(whole.subpools->full_premium, *whole.prefix_path.back().premium, 1e-12);

  const auto threaded = evaluate(table, draws.table, settings, *three);
  EXPECT_EQ(threaded.noise_share_interval, whole.noise_share_interval);
  EXPECT_EQ(threaded.thresholds[0].split_half.matched, whole.thresholds[0].split_half.matched);
  EXPECT_EQ(threaded.thresholds[0].gap.margin->mean, whole.thresholds[0].gap.margin->mean);
  EXPECT_EQ(threaded.thresholds[0].gap.redeal->p_upper, whole.thresholds[0].gap.redeal->p_upper);

  // A row that does not count changes nothing.
  for (std::size_t m = 0; m < 11; ++m) {
    table.cells.push_back(m == 0 ? CellCount{0, 0} : CellCount{30, 30});
    draws.table.cells.push_back(nullptr);
  }
  const auto more = evaluate(table, draws.table, settings, one);
  EXPECT_EQ(more.noise_share_interval, whole.noise_share_interval);
  EXPECT_EQ(more.prefix_path.size(), whole.prefix_path.size());
  EXPECT_EQ(more.draw_correlation.effective_pool_size, whole.draw_correlation.effective_pool_size);
}

TEST(Evaluate, SettingsOfAMonitor) {
  config::Monitor monitor;
  monitor.thresholds = {0.2};
  monitor.min_trials = 4;
  monitor.nulls = {.replicates = 7, .seed = 9};
  monitor.groups = {{"a", "x"}};
  const auto settings = evaluation_settings(monitor);
  EXPECT_EQ(settings.thresholds, monitor.thresholds);
  EXPECT_EQ(settings.completeness.min_trials, 4u);
  EXPECT_EQ(settings.replicates, 7u);
  EXPECT_EQ(settings.seed, 9u);
  EXPECT_EQ(settings.groups, monitor.groups);
}

}  // namespace
}  // namespace gapwatch::stats
