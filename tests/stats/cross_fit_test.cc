#include "stats/cross_fit.h"

#include "tests/support/tables.h"

namespace gapwatch::stats {
namespace {

// Three prompts, two policies, each prompt its own part. Choosing without prompt 1 (rates 0.5, 1 and 0.5, 0):
// sums 1 and 1, the first by name; without 2: a 1 + .5, b 0 + 0; without 3: a 1 + .5, b 0 + 1. By hand:
// a is chosen every time: (1 + 0.5 + 0.5)/3.
TEST(CrossFit, ByHand) {
  CountTable table;
  table.policies = {"a", "b"};
  table.cells = {{4, 4}, {4, 0}, {4, 2}, {4, 4}, {4, 2}, {4, 0}};
  const auto fit = cross_fit(table, {}, 5, 1);
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->folds, 3u);
  EXPECT_EQ(fit->chosen, (std::vector<std::size_t>{0, 0, 0}));
  EXPECT_NEAR(fit->rate, 2.0 / 3, 1e-12);
  // Unions 1, 1, 0.5; ceilings 1, 1, 0.5.
  EXPECT_NEAR(*fit->product.total, 2.5 / 3 - 2.0 / 3, 1e-12);
  EXPECT_NEAR(*fit->product.noise, 0, 1e-12);
  EXPECT_EQ(fit->product.comparator, "chosen on other prompts");
  EXPECT_FALSE(fit->paired.total);
}

// Two policies with a mirrored success each: whoever is best elsewhere fails here.
TEST(CrossFit, AChoiceOnItsOwnDataFlatters) {
  CountTable table;
  table.policies = {"a", "b"};
  table.cells = {{1, 1}, {1, 0}, {1, 0}, {1, 1}};
  const auto fit = cross_fit(table, {}, 2, 3);
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->same_data_rate, 0.5);
  EXPECT_EQ(fit->rate, 0);
}

// On identical policies the same-data rate is too high and the honest one is not: over many tables their means
// straddle the true rate as theory says. Beta-free: all rates 1/2, one draw a cell.
TEST(CrossFit, HasNoSelectionBiasOnIdenticalPolicies) {
  double honest = 0, same = 0;
  constexpr int kTables = 300;
  for (int k = 0; k < kTables; ++k) {
    auto table = testing::random_table({.prompts = 40, .policies = 6, .trials_from = 2, .trials_to = 2, .certain = 0}, 100 + k);
    const auto fit = cross_fit(table, {}, 5, 1);
    double mean = 0;
    for (const auto cell : table.cells) mean += cell.successes / (2.0 * static_cast<double>(table.cells.size()));
    honest += (fit->rate - mean) / kTables;
    same += (fit->same_data_rate - mean) / kTables;
  }
  EXPECT_NEAR(honest, 0, 0.013) << "about four standard errors";
  EXPECT_GT(same, 0.05);
}

TEST(CrossFit, NothingToChooseFrom) {
  EXPECT_FALSE(cross_fit({}, {}, 5, 1));
  CountTable one;
  one.policies = {"a"};
  one.cells = {{3, 1}};
  EXPECT_FALSE(cross_fit(one, {}, 5, 1));
}

}  // namespace
}  // namespace gapwatch::stats
