#include "stats/strata.h"

#include "tests/support/draws.h"
#include "tests/support/golden.h"

namespace gapwatch::stats {
namespace {

using testing::Golden;
using testing::number;

void expect_stratum(const Stratum& stratum, simdjson::dom::element want) {
  testing::expect_number(stratum.comparator_rate, want["q"], "q");
  testing::expect_number(stratum.split.total, want["G"], "G");
  testing::expect_number(stratum.split.recoverable, want["G_rec"], "G_rec");
  testing::expect_number(stratum.split.noise, want["G_noise"], "G_noise");
  testing::expect_number(stratum.split.noise_share, want["share"], "share");
}

void expect_strata(const Strata& strata, simdjson::dom::element want) {
  EXPECT_EQ(strata.thin.prompts, want["prompts"].get_int64().value());
  testing::expect_number(strata.thin.fraction, want["fraction"], "fraction");
  expect_stratum(strata.thin, want["thin"]);
  expect_stratum(strata.dense, want["dense"]);
}

TEST(ThinSupport, Golden) {
  for (const auto* file : testing::kTableFiles) {
    SCOPED_TRACE(file);
    const Golden golden(testing::golden_path(file));
    const auto table = testing::table_of(golden);
    const auto want = golden.expected("thin_support");
    const double limit = number(want["limit"]);
    expect_strata(thin_support(complete_rows(table, {}), limit, Support::kExpected), want["expected"]);
    simdjson::dom::element by_draw;
    if (want["draw"].get(by_draw) != simdjson::SUCCESS) continue;
    const testing::Draws draws(testing::draws_of(golden));
    expect_strata(thin_support(table, limit, Support::kFirstDraw, draws.table), by_draw);
  }
}

TEST(ThinSupport, ByAnySuccess) {
  CountTable table;
  table.policies = {"a", "b", "c"};
  table.cells = {{4, 1}, {4, 0}, {4, 0}, {4, 1}, {4, 1}, {4, 4}, {4, 0}, {4, 0}, {4, 0}};
  const auto strata = thin_support(table, 1, Support::kAnySuccess);
  EXPECT_EQ(strata.thin.prompts, 2);
  EXPECT_EQ(strata.dense.prompts, 1);
  EXPECT_EQ(strata.thin.split.comparator, "c") << "the whole table's best policy";
  EXPECT_EQ(*strata.thin.comparator_rate, 0);
}

TEST(ThinSupport, EmptyStrataHaveNoNumbers) {
  EXPECT_EQ(thin_support({}, 3, Support::kAnySuccess).thin.prompts, 0);
  CountTable table;
  table.policies = {"a"};
  table.cells = {{4, 1}};
  const auto strata = thin_support(table, 3, Support::kAnySuccess);
  EXPECT_EQ(strata.dense.prompts, 0);
  EXPECT_FALSE(strata.dense.premium || strata.dense.split.total || strata.dense.fraction);
  EXPECT_EQ(thin_support(table, 3, Support::kFirstDraw).thin.prompts, 0) << "no draws to look at";
}

}  // namespace
}  // namespace gapwatch::stats
