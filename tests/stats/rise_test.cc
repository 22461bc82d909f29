#include "stats/rise.h"

#include <bit>

#include "tests/support/golden.h"

namespace gapwatch::stats {
namespace {

using testing::Golden;
using testing::number;

TEST(Rise, GoldenBySize) {
  for (const auto* file : testing::kTableFiles) {
    SCOPED_TRACE(file);
    const Golden golden(testing::golden_path(file));
    const auto rows = complete_rows(testing::table_of(golden), {});
    for (const auto field : golden.expected("rise_L_2_to_M").get_object()) {
      const auto result = rise(rows, std::stod(std::string(field.key)));
      testing::expect_number(result.rise, field.value, "rise");
      EXPECT_FALSE(result.sizes[1].sampled);
    }
    if (!golden.expects("L_by_size")) continue;
    for (const auto tau : golden.expected("L_by_size").get_object()) {
      const auto result = rise(rows, std::stod(std::string(tau.key)));
      for (const auto size : tau.value.get_object()) {
        const auto& at = result.sizes[std::stoul(std::string(size.key)) - 1];
        EXPECT_NEAR(at.gap, number(size.value["L"]), testing::kExact);
        testing::expect_number(at.oracle_minus_mixture, size.value["gap"], "oracle minus mixture");
        EXPECT_EQ(at.subsets, size.value["subsets"].get_uint64().value());
      }
    }
  }
}

CountTable columns(const CountTable& table, std::size_t mask) {
  CountTable out;
  for (std::size_t m = 0; m < table.pool_size(); ++m) {
    if (mask >> m & 1) out.policies.push_back(table.policies[m]);
  }
  for (std::size_t c = 0; c < table.cells.size(); ++c) {
    if (mask >> (c % table.pool_size()) & 1) out.cells.push_back(table.cells[c]);
  }
  return out;
}

TEST(Rise, EverySubsetAgainstANaiveLoop) {
  const auto table = testing::random_table({.prompts = 15, .policies = 5}, 8);
  const double tau = 0.45;
  const auto result = rise(table, tau);
  std::vector<double> sum(6), count(6);
  for (std::size_t mask = 1; mask < 32; ++mask) {
    const auto size = static_cast<std::size_t>(std::popcount(mask));
    SumsSpec spec;
    spec.pool_size = size;
    spec.thresholds = {tau};
    spec.completeness.missing_as_fail = true;
    const auto sums = sum_table(columns(table, mask), spec);
    // A prompt none of the subset has tried is still a prompt of the pool.
    sum[size] += summarize(sums, spec).coverage[0].gap * static_cast<double>(sums.complete) / 15;
    count[size] += 1;
  }
  for (std::size_t s = 1; s <= 5; ++s) EXPECT_NEAR(result.sizes[s - 1].gap, sum[s] / count[s], 1e-12) << s;
}

TEST(Rise, SampledAboveTwelveSaysSoAndIsNearTheTruth) {
  const auto table = testing::random_table({.prompts = 60, .policies = 13, .trials_from = 4, .trials_to = 4}, 21);
  const auto result = rise(table, 0.5, {.seed = 3, .samples = 400});
  ASSERT_EQ(result.sizes.size(), 13u);
  EXPECT_FALSE(result.sizes[0].sampled);
  EXPECT_TRUE(result.sizes[1].sampled);
  EXPECT_FALSE(result.sizes[12].sampled);
  EXPECT_EQ(result.sizes[5].subsets, 400u);
  double sum = 0, count = 0;
  for (std::size_t a = 0; a < 13; ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      SumsSpec spec;
      spec.pool_size = 2;
      spec.thresholds = {0.5};
      sum += summarize(sum_table(columns(table, std::size_t{1} << a | std::size_t{1} << b), spec), spec).coverage[0].gap;
      count += 1;
    }
  }
  EXPECT_NEAR(result.sizes[1].gap, sum / count, 0.03);
  const auto again = rise(table, 0.5, {.seed = 3, .samples = 400});
  EXPECT_EQ(again.sizes[5].gap, result.sizes[5].gap);
  EXPECT_NE(rise(table, 0.5, {.seed = 4, .samples = 400}).sizes[5].gap, result.sizes[5].gap);
}

TEST(Rise, Degenerate) {
  CountTable empty;
  EXPECT_TRUE(rise(empty, 0.5).sizes.empty());
  const auto one = testing::random_table({.prompts = 5, .policies = 1}, 1);
  EXPECT_FALSE(rise(one, 0.5).rise);
  const auto many = testing::random_table({.prompts = 3, .policies = 200}, 1);
  EXPECT_EQ(rise(many, 0.5).sizes.size(), 200u);
}

}  // namespace
}  // namespace gapwatch::stats
