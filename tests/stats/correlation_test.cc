#include "stats/correlation.h"

#include "tests/support/draws.h"
#include "tests/support/golden.h"

namespace gapwatch::stats {
namespace {

using testing::Golden;

void expect_correlation(const Correlation& found, simdjson::dom::element want) {
  testing::expect_number(found.effective_pool_size, want["effective_pool_size"], "effective pool size");
  testing::expect_number(found.mean_between, want["mean_offdiag"], "mean correlation");
  simdjson::dom::element grouped;
  if (want["mean_within_group"].get(grouped) == simdjson::SUCCESS) {
    testing::expect_number(found.mean_within_group, grouped, "within lineages");
    testing::expect_number(found.mean_across_groups, want["mean_across_groups"], "across lineages");
  }
}

TEST(CorrelationTest, Golden) {
  for (const auto* file : testing::kTableFiles) {
    SCOPED_TRACE(file);
    const Golden golden(testing::golden_path(file));
    const auto rows = complete_rows(testing::table_of(golden), {});
    const auto groups = golden.has_input("groups") ? testing::groups_of(golden, rows) : std::map<std::string, std::string>();
    const auto want = golden.expected("correlation");
    expect_correlation(rate_correlation(rows, groups), want["rates"]);
    simdjson::dom::element by_draw;
    if (want["draws"].get(by_draw) != simdjson::SUCCESS) continue;
    const testing::Draws draws(testing::draws_of(golden));
    expect_correlation(draw_correlation(draws.table, rows.policies, groups), by_draw);
  }
}

TEST(CorrelationTest, CopiesAreOnePolicyAndConstantsAreLeftOut) {
  CountTable table;
  table.policies = {"a", "b", "c"};
  table.cells = {{4, 1}, {4, 1}, {4, 2}, {4, 3}, {4, 3}, {4, 2}, {4, 0}, {4, 0}, {4, 2}};
  const auto found = rate_correlation(table);
  EXPECT_EQ(found.policies, 2u);
  EXPECT_NEAR(*found.effective_pool_size, 1, 1e-12);
  EXPECT_NEAR(*found.mean_between, 1, 1e-12);
  EXPECT_FALSE(found.mean_within_group);
}

TEST(CorrelationTest, Undefined) {
  EXPECT_FALSE(rate_correlation({}).effective_pool_size);
  CountTable one;
  one.policies = {"a", "b"};
  one.cells = {{4, 1}, {4, 2}};
  EXPECT_FALSE(rate_correlation(one).effective_pool_size) << "one prompt";
  one.cells = {{4, 1}, {4, 2}, {4, 1}, {4, 2}};
  EXPECT_FALSE(rate_correlation(one).effective_pool_size) << "no variance";
}

}  // namespace
}  // namespace gapwatch::stats
