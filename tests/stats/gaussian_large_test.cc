// The large-N routes against the laws' own samples, at a size where reports take them.
#include "stats/nulls.h"

#include <gtest/gtest.h>

#include <cmath>

#include "stats/power_tables.h"

namespace gapwatch::stats {
namespace {

// Means within 0.08 standard deviations of the samples' and quantiles within 0.3: the samples' own errors (2,000 of
// them, some correlated) are 0.03 and 0.06.
void expect_close(const NullComparison& normal, const NullComparison& sampled, const std::string& what) {
  EXPECT_EQ(normal.method, "gaussian") << what;
  EXPECT_EQ(sampled.method, "monte-carlo") << what;
  const double sd = std::max(2e-5, (sampled.p95 - sampled.p05) / 3.29);
  EXPECT_NEAR(normal.mean, sampled.mean, 0.08 * sd) << what;
  EXPECT_NEAR(normal.p05, sampled.p05, 0.3 * sd) << what;
  EXPECT_NEAR(normal.p95, sampled.p95, 0.3 * sd) << what;
  EXPECT_NEAR(normal.p_upper, sampled.p_upper, 0.2 * sampled.p_upper + 0.03) << what;
}

TEST(GaussianNull, AgreesWithTheChainOnFiveThousandPrompts) {
  PowerPool pool;
  pool.prompts = 5'000;
  pool.policies = 5;
  pool.trials = 16;
  pool.quality = {-0.5, -0.25, 0, 0.25, 0.5};
  const std::vector<double> taus{0.1, 0.3};
  const auto table = draw_power_table(pool, {}, 0.1, 3).table;
  NullOptions sampled{2'000, 0}, normal{2'000, 0};
  sampled.redeal = sampled.margin = NullRoute::kSampled;
  normal.redeal = normal.margin = NullRoute::kGaussian;
  InlineExecutor executor;
  const auto by_samples = compare_with_nulls(table, taus, sampled, executor);
  const auto by_moments = compare_with_nulls(table, taus, normal, executor);
  for (std::size_t t = 0; t < taus.size(); ++t) {
    const auto &a = by_moments.thresholds[t], &b = by_samples.thresholds[t];
    const auto what = "tau " + std::to_string(taus[t]);
    expect_close(*a.gap.redeal, *b.gap.redeal, what + " L redeal");
    expect_close(*a.gap.margin, *b.gap.margin, what + " L margin");
    expect_close(*a.disagreement.margin, *b.disagreement.margin, what + " D margin");
  }
  expect_close(*by_moments.pass_at_1_gap.redeal, *by_samples.pass_at_1_gap.redeal, "pass@1 redeal");
  expect_close(*by_moments.pass_at_1_gap.margin, *by_samples.pass_at_1_gap.margin, "pass@1 margin");
}

}  // namespace
}  // namespace gapwatch::stats
