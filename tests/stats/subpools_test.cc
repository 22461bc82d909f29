#include "stats/subpools.h"

#include <algorithm>
#include <bit>

#include "base/executor.h"
#include "stats/rates.h"
#include "tests/support/golden.h"

namespace gapwatch::stats {
namespace {

using testing::Golden;
using testing::number;

void expect_sizes(const Subpools& pools, simdjson::dom::element want) {
  const auto sizes = want["by_size"].get_array().value();
  ASSERT_EQ(pools.sizes.size(), sizes.size());
  for (std::size_t s = 0; s < pools.sizes.size(); ++s) {
    const auto& at = pools.sizes[s];
    const auto expected = sizes.at(s).value();
    EXPECT_EQ(at.size, expected["size"].get_uint64().value());
    EXPECT_EQ(at.subsets, expected["count"].get_uint64().value());
    EXPECT_NEAR(at.premium.min, number(expected["min"]), testing::kExact);
    EXPECT_NEAR(at.premium.median, number(expected["median"]), testing::kExact);
    EXPECT_NEAR(at.premium.mean, number(expected["mean"]), testing::kExact);
    EXPECT_NEAR(at.premium.max, number(expected["max"]), testing::kExact);
    testing::expect_number(at.mean_share, expected["S_mean_over_subsets"], "mean share");
    testing::expect_number(at.share_of_means, expected["S_ratio_of_subset_means"], "share of means");
  }
  EXPECT_EQ(pools.largest_premium, want["argmax_mask"].get_uint64().value());
  EXPECT_NEAR(pools.largest_premium_value, number(want["max_premium"]), testing::kExact);
  EXPECT_NEAR(pools.full_premium, number(want["full_premium"]), testing::kExact);
}

TEST(Subpools, Golden) {
  InlineExecutor executor;
  for (const auto* file : testing::kTableFiles) {
    SCOPED_TRACE(file);
    const Golden golden(testing::golden_path(file));
    const auto rows = complete_rows(testing::table_of(golden), {});
    expect_sizes(all_subpools(rows, executor), golden.expected("subpools"));
  }
}

TEST(Subpools, EverySubsetAgainstANaiveLoop) {
  InlineExecutor one;
  const auto two = make_thread_executor(2);
  for (const std::size_t policies : {1u, 5u, 6u, 7u, 9u}) {
    SCOPED_TRACE(policies);
    const auto table = testing::random_table({.prompts = 17, .policies = policies}, policies);
    std::vector<std::vector<double>> premium(policies + 1);
    for (std::size_t mask = 1; mask < (std::size_t{1} << policies); ++mask) {
      double sum = 0;
      for (std::size_t i = 0; i < table.prompt_count(); ++i) {
        double miss = 1, best = 0;
        for (std::size_t m = 0; m < policies; ++m) {
          if ((mask >> m & 1) == 0) continue;
          miss *= 1 - raw_rate(table.row(i)[m]);
          best = std::max(best, raw_rate(table.row(i)[m]));
        }
        sum += 1 - miss - best;
      }
      premium[static_cast<std::size_t>(std::popcount(mask))].push_back(sum / 17);
    }
    const auto pools = all_subpools(table, one);
    for (std::size_t s = 1; s <= policies; ++s) {
      std::sort(premium[s].begin(), premium[s].end());
      const auto& at = pools.sizes[s - 1];
      const auto n = premium[s].size();
      EXPECT_NEAR(at.premium.min, premium[s].front(), 1e-12);
      EXPECT_NEAR(at.premium.max, premium[s].back(), 1e-12);
      EXPECT_NEAR(at.premium.median, (premium[s][(n - 1) / 2] + premium[s][n / 2]) / 2, 1e-12);
    }
    const auto threaded = all_subpools(table, *two);
    EXPECT_EQ(threaded.full_premium, pools.full_premium);
    EXPECT_EQ(threaded.sizes[policies / 2].premium.mean, pools.sizes[policies / 2].premium.mean);
    EXPECT_EQ(threaded.largest_premium, pools.largest_premium);
  }
}

TEST(Subpools, OnePolicyHasExactlyNoPremium) {
  InlineExecutor executor;
  const auto pools = all_subpools(testing::random_table({.prompts = 33, .policies = 4}, 2), executor);
  EXPECT_EQ(pools.sizes[0].premium.max, 0.0);
  EXPECT_EQ(pools.sizes[0].premium.min, 0.0);
}

TEST(Subpools, TooManyPoliciesOrNothing) {
  InlineExecutor executor;
  EXPECT_TRUE(all_subpools({}, executor).sizes.empty());
  EXPECT_TRUE(all_subpools(testing::random_table({.prompts = 2, .policies = 21}, 1), executor).sizes.empty());
}

TEST(Lineages, GoldenLeaveOneOut) {
  for (const auto* file : {"uneven_missing_80x5", "draws_60x11x30"}) {
    SCOPED_TRACE(file);
    const Golden golden(testing::golden_path(file));
    const auto rows = complete_rows(testing::table_of(golden), {});
    const auto cuts = leave_one_group_out(rows, testing::groups_of(golden, rows));
    const auto want = golden.expected("leave_one_group_out").get_object().value();
    EXPECT_EQ(cuts.size(), want.size());
    for (const auto& cut : cuts) {
      const auto expected = want[cut.name].value();
      EXPECT_EQ(cut.policies.size(), expected["M"].get_uint64().value());
      EXPECT_NEAR(cut.premium, number(expected["premium"]), testing::kExact);
      testing::expect_number(cut.noise_share, expected["share"], "share");
      EXPECT_NEAR(cut.union_product, number(expected["O_exp"]), testing::kExact);
      EXPECT_NEAR(cut.ceiling, number(expected["O_repro"]), testing::kExact);
    }
  }
}

TEST(Lineages, OnePerGroupTakesTheBestOfEach) {
  CountTable table;
  table.policies = {"a", "b", "c"};
  table.cells = {{4, 1}, {4, 3}, {4, 2}, {4, 1}, {4, 0}, {4, 1}};
  const auto cut = one_per_group(table, {{"a", "x"}, {"b", "x"}});
  EXPECT_EQ(cut.policies, (std::vector<std::string>{"b", "c"}));
  const auto all = leave_one_group_out(table, {{"a", "x"}, {"b", "x"}, {"c", "x"}});
  EXPECT_TRUE(all.empty()) << "nothing would be left";
}

}  // namespace
}  // namespace gapwatch::stats
