// Cells of up to 2^31 - 1 trials: everything is defined, finite, and done in a few passes over the table.
#include <gtest/gtest.h>

#include <cmath>

#include "stats/bounds.h"
#include "stats/budget_mixture.h"
#include "stats/evaluate.h"
#include "stats/split_half.h"
#include "tests/support/tables.h"

namespace gapwatch::stats {
namespace {

CountTable huge_table(std::size_t prompts, std::size_t policies, std::uint32_t trials, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  CountTable table;
  table.policies = testing::policy_names(policies);
  for (std::size_t c = 0; c < prompts * policies; ++c) {
    const double u = static_cast<double>(random() >> 11) * 0x1p-53, v = static_cast<double>(random() >> 11) * 0x1p-53;
    const auto n = static_cast<std::uint32_t>(trials * (0.5 + u / 2));
    table.cells.push_back({n, static_cast<std::uint32_t>(n * v)});
  }
  return table;
}

TEST(HugeCounts, AnEvaluationHasBothNulls) {
  for (const std::uint32_t trials : {3'000u, 100'000u, 2'147'483'647u}) {
    SCOPED_TRACE(trials);
    EvaluationSettings settings;
    settings.thresholds = {0.1, 0.5};
    settings.replicates = 100;
    InlineExecutor executor;
    const auto out = evaluate(huge_table(25, 4, trials, trials), {}, settings, executor);
    for (const auto& at : out.thresholds) {
      for (const auto& both : {at.gap, at.disagreement, at.rise}) {
        ASSERT_TRUE(both.redeal && both.margin);
        EXPECT_TRUE(std::isfinite(both.redeal->mean) && std::isfinite(both.margin->mean));
        EXPECT_FALSE(both.redeal->method.empty() || both.margin->method.empty());
      }
      ASSERT_TRUE(at.split_half.matched && at.mixture_matched && at.split_half.honest);
      EXPECT_TRUE(*at.split_half.honest >= 0 && *at.split_half.honest <= 1);
      EXPECT_TRUE(*at.mixture_matched >= 0 && *at.mixture_matched <= 1);
    }
    ASSERT_TRUE(out.curse_at_half);
    EXPECT_TRUE(std::isfinite(out.curse_at_half->exact_independent));
    EXPECT_LE(out.curse_at_half->exact_independent, out.curse_at_half->hoeffding);
  }
}

// With so many trials a half has the rates of the whole, so split halves lose nothing: honest coverage is the
// oracle's, wherever the policies are not within noise of each other or of the threshold.
TEST(HugeCounts, HalvesAreTheWhole) {
  const auto table = huge_table(30, 4, 1'000'000'000, 3);
  InlineExecutor executor;
  const double tau = 0.5;
  const auto half = split_half(table, {&tau, 1}, {.replicates = 20, .seed = 1}, executor)[0];
  double oracle = 0;
  for (std::size_t i = 0; i < 30; ++i) {
    const auto row = table.row(i);
    oracle += std::any_of(row.begin(), row.end(), [&](CellCount cell) { return covers(cell, need(tau, cell.trials)); });
  }
  EXPECT_FALSE(half.honest_exact);
  EXPECT_NEAR(*half.honest, oracle / 30, 1e-9);
}

// The normal route of the budget-matched mixture against the sum, on a law just above its limit: 2e6 of 1e7
// outcomes, deviation about 580.
TEST(HugeCounts, TheMixturesNormalRouteIsAccurate) {
  const double trials = 1e7, successes = 3e6, draws = 2e6;
  CountTable table;
  table.policies = testing::policy_names(5);
  for (int m = 0; m < 5; ++m) table.cells.push_back({2'000'000, 600'000});
  // By hand: the hypergeometric tail summed outwards from its mode.
  const auto ratio = [&](double x) {
    return (successes - x) * (draws - x) / ((x + 1) * (trials - successes - draws + x + 1));
  };
  const double mode = std::floor((draws + 1.0) * (successes + 1.0) / (trials + 2.0));
  for (const double tau : {0.2995, 0.3, 0.30023, 0.301}) {
    const double needed = need(tau, static_cast<std::uint32_t>(draws));
    double sum = 1, tail = mode >= needed ? 1 : 0, weight = 1;
    for (double x = mode; weight > 1e-20; ++x) {
      sum += weight *= ratio(x);
      if (x + 1 >= needed) tail += weight;
    }
    weight = 1;
    for (double x = mode; weight > 1e-20; --x) {
      sum += weight /= ratio(x - 1);
      if (x - 1 >= needed) tail += weight;
    }
    EXPECT_NEAR(budget_mixture(table, {&tau, 1}, 0.05, 0.3, std::nullopt, static_cast<std::uint32_t>(draws)).coverage[0], tail / sum, 1e-5)
        << tau;
  }
}

// sqrt(n) times the bias of two tied policies at 1/2 tends to 1/(2 sqrt(pi)).
TEST(HugeCounts, TheTiedBiasHasItsLimit) {
  const double n = 2'147'483'647.0;
  EXPECT_NEAR(tied_bias(0.5, 2, 2'147'483'647) * std::sqrt(n), 0.28209479, 1e-5);
  EXPECT_NEAR(tied_bias(0.5, 1, 2'147'483'647) * std::sqrt(n), 0, 1e-5);
}

}  // namespace
}  // namespace gapwatch::stats
