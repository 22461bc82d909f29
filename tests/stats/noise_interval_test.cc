#include "stats/noise_interval.h"

#include "stats/running.h"
#include "tests/support/tables.h"

namespace gapwatch::stats {
namespace {

NestedBootstrap bootstrap(std::uint32_t replicates, std::uint64_t seed) {
  NestedBootstrap options;
  options.replicates = replicates;
  options.seed = seed;
  return options;
}

TEST(NoiseInterval, CoversTheEstimateOnManyTrials) {
  const auto table = testing::random_table({.prompts = 120, .policies = 4, .trials_from = 60, .trials_to = 60, .certain = 0}, 3);
  SumsSpec spec;
  spec.pool_size = 4;
  const auto summary = summarize(sum_table(table, spec), spec);
  InlineExecutor executor;
  const auto intervals = noise_intervals(table, {}, bootstrap(200, 4), executor);
  for (std::size_t m = 0; m < 4; ++m) {
    EXPECT_LT(intervals.pass_at_1[m]->low, summary.pass_at_1[m]);
    EXPECT_GT(intervals.pass_at_1[m]->high, summary.pass_at_1[m]);
    // A mean of 120 uniform rates has a standard error near 0.0264.
    EXPECT_NEAR(intervals.pass_at_1[m]->high - intervals.pass_at_1[m]->low, 3.92 * 0.0264, 0.03);
  }
  const auto split = split_gap(summary, "product", "best", summary.pass_at_1[summary.best_single]);
  EXPECT_LT(intervals.noise_share->low, *split.noise_share + 0.05);
  EXPECT_GT(intervals.noise_share->high, *split.noise_share - 0.05);
  EXPECT_LT(intervals.noise_share->low, intervals.noise_share->high);
}

// Where draws are few the replicates lie to one side; the interval must hold its estimate all the same.
TEST(NoiseInterval, HoldsItsEstimateOnFewTrials) {
  for (const std::uint32_t trials : {2u, 4u, 16u}) {
    const auto table = testing::random_table(
        {.prompts = 200, .policies = 5, .trials_from = trials, .trials_to = trials, .certain = 0}, trials);
    SumsSpec spec;
    spec.pool_size = 5;
    const auto summary = summarize(sum_table(table, spec), spec);
    const auto split = split_gap(summary, "product", "best", summary.pass_at_1[summary.best_single]);
    InlineExecutor executor;
    const auto intervals = noise_intervals(table, {}, bootstrap(100, 4), executor);
    EXPECT_LT(intervals.noise_share->low, *split.noise_share);
    EXPECT_GT(intervals.noise_share->high, *split.noise_share);
    EXPECT_LT(intervals.premium->low, summary.premium_product);
    EXPECT_GT(intervals.premium->high, summary.premium_product);
  }
}

TEST(NoiseInterval, TheSameForAnyNumberOfThreadsAndSeeded) {
  const auto table = testing::random_table({.prompts = 25, .policies = 3}, 5);
  InlineExecutor one;
  const auto three = make_thread_executor(3);
  const auto a = noise_intervals(table, {}, bootstrap(50, 1), one);
  const auto b = noise_intervals(table, {}, bootstrap(50, 1), *three);
  EXPECT_EQ(a.noise_share, b.noise_share);
  EXPECT_EQ(a.pass_at_1, b.pass_at_1);
  EXPECT_NE(noise_intervals(table, {}, bootstrap(50, 2), one).premium, a.premium);
}

TEST(NoiseInterval, LargeTablesAreDrawnInPart) {
  // Ten times as many cells as a replicate draws, all of one kind: the interval must shrink as if all were drawn.
  const auto small = testing::random_table({.prompts = 10'000, .policies = 2, .trials_from = 1, .trials_to = 1}, 5);
  auto large = small;
  for (int copy = 1; copy < 10; ++copy) large.cells.insert(large.cells.end(), small.cells.begin(), small.cells.end());
  InlineExecutor executor;
  const auto of_small = noise_intervals(small, {}, bootstrap(60, 1), executor);
  const auto of_large = noise_intervals(large, {}, bootstrap(60, 1), executor);
  const auto width = [](const std::optional<Interval>& i) { return i->high - i->low; };
  EXPECT_NEAR(width(of_large.premium) / width(of_small.premium), 0.316, 0.12);
}

TEST(NoiseInterval, NothingAndOnePolicy) {
  InlineExecutor executor;
  EXPECT_FALSE(noise_intervals({}, {}, {}, executor).noise_share);
  const auto one = noise_intervals(testing::random_table({.prompts = 9, .policies = 1}, 1), {}, bootstrap(20, 1), executor);
  EXPECT_FALSE(one.noise_share) << "no gap, no share";
  EXPECT_TRUE(one.pass_at_1[0]);
}

// Draws that all policies share: the paired union is the ceiling's own, far below the product's.
TEST(NoiseInterval, ThePairedShareFollowsThePairedUnion) {
  const auto table = testing::random_table({.prompts = 200, .policies = 4, .trials_from = 30, .trials_to = 30}, 8);
  std::vector<PairedCount> paired;
  for (std::size_t i = 0; i < table.prompt_count(); ++i) {
    std::uint32_t most = 0;
    for (const CellCount cell : table.row(i)) most = std::max(most, cell.successes);
    paired.push_back({30, most});
  }
  InlineExecutor executor;
  const auto intervals = noise_intervals(table, paired, bootstrap(200, 4), executor);
  EXPECT_GT(intervals.noise_share->low, 0.2);
  EXPECT_LT(intervals.noise_share_paired->high, 0.15);
}

}  // namespace
}  // namespace gapwatch::stats
