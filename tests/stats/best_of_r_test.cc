#include "stats/best_of_r.h"

#include "tests/support/golden.h"

namespace gapwatch::stats {
namespace {

using testing::Golden;
using testing::number;

void expect_row(const BestOfR& at, simdjson::dom::element want, const char* mean_key) {
  EXPECT_EQ(at.r, want["r"].get_uint64().value());
  EXPECT_NEAR(at.union_product, number(want["O"]), testing::kExact);
  EXPECT_NEAR(at.committed, number(want["O_repro"]), testing::kExact);
  EXPECT_NEAR(at.premium, number(want["delta"]), testing::kExact);
  testing::expect_number(at.share, want["S_agg"], "share");
  testing::expect_number(at.mean_share, want[mean_key], "mean share");
}

TEST(BestOfR, Golden) {
  for (const auto* file : testing::kTableFiles) {
    SCOPED_TRACE(file);
    const Golden golden(testing::golden_path(file));
    const auto rows = complete_rows(testing::table_of(golden), {});
    for (const auto want : golden.expected("best_of_r").get_array()) {
      const auto r = static_cast<std::uint32_t>(want["r"].get_uint64().value());
      expect_row(best_of_r(rows, {&r, 1})[0], want, "S_mean");
    }
    const auto pool = static_cast<std::uint32_t>(rows.pool_size());
    const auto at = best_of_r(rows, {&pool, 1})[0];
    EXPECT_NEAR(at.committed, number(golden.expected("union")["best_of_M_on_ceiling"]), testing::kExact);
    const std::uint32_t once = 1;
    testing::expect_number(best_of_r(rows, {&once, 1})[0].mean_share, golden.expected("union")["S_mean_of_ratios"],
                           "mean of ratios");
  }
}

TEST(GoldenWorkedExamples, AggregateShareFirstRises) {
  const Golden golden(testing::golden_path("worked_examples"));
  const auto input = golden.input("best_of_r_not_monotone");
  CountTable table;
  for (const auto row : input["rates"].get_array()) {
    table.policies = testing::policy_names(testing::numbers(row).size());
    for (const double rate : testing::numbers(row)) table.cells.push_back({100, static_cast<std::uint32_t>(rate * 100 + 0.5)});
  }
  const auto expected = golden.expected("best_of_r_not_monotone").get_array().value();
  std::size_t at = 0;
  for (const double r : testing::numbers(input["rs"])) {
    const auto draws = static_cast<std::uint32_t>(r);
    expect_row(best_of_r(table, {&draws, 1})[0], expected.at(at++), "S_mean");
  }
}

TEST(GoldenWorkedExamples, HomogeneousShare) {
  const Golden golden(testing::golden_path("worked_examples"));
  const auto expected = testing::numbers(golden.expected("homogeneous_share"));
  std::size_t at = 0;
  for (const auto row : golden.input("homogeneous_share").get_array()) {
    const auto input = testing::numbers(row);  // rate, policies, r
    CountTable table;
    table.policies = testing::policy_names(static_cast<std::size_t>(input[1]));
    table.cells.assign(table.policies.size(), {100, static_cast<std::uint32_t>(input[0] * 100 + 0.5)});
    const auto r = static_cast<std::uint32_t>(input[2]);
    EXPECT_NEAR(*best_of_r(table, {&r, 1})[0].share, expected[at++], testing::kExact);
  }
}

TEST(BestOfR, NothingToUnite) {
  const std::uint32_t r = 3;
  EXPECT_TRUE(best_of_r({}, {&r, 1}).empty());
  CountTable dead;
  dead.policies = {"a", "b"};
  dead.cells = {{5, 0}, {5, 0}};
  const auto at = best_of_r(dead, {&r, 1})[0];
  EXPECT_FALSE(at.share);
  EXPECT_EQ(at.mean_share, 0.0);
}

}  // namespace
}  // namespace gapwatch::stats
