// A real pool of sixteen models with one missing cell (LiveCodeBench, public leaderboard data).
#include <cmath>

#include "base/executor.h"
#include "stats/best_of_r.h"
#include "stats/bounds.h"
#include "stats/budget_mixture.h"
#include "stats/correlation.h"
#include "stats/coverage.h"
#include "stats/multiple_testing.h"
#include "stats/prior.h"
#include "stats/rise.h"
#include "stats/split_half.h"
#include "stats/strata.h"
#include "stats/subpools.h"
#include "tests/support/golden.h"

namespace gapwatch::stats {
namespace {

using testing::expect_number;
using testing::Golden;
using testing::kExact;
using testing::number;
using testing::numbers;

class Lcb : public ::testing::Test {
 protected:
  Lcb() : golden(GAPWATCH_SHARED_DIR "/golden/lcb_generation_349x16.json"), table(testing::table_of(golden)), rows(complete_rows(table, {})) {}
  Golden golden;
  CountTable table, rows;
};

void expect_coverage(const CountTable& rows, simdjson::dom::element block) {
  for (const auto field : block.get_object()) {
    const double tau = std::stod(std::string(field.key));
    const auto at = coverage_at(rows, tau);
    EXPECT_NEAR(at->oracle, number(field.value["C_orac"]), kExact);
    EXPECT_NEAR(at->best, number(field.value["C_best"]), kExact);
    EXPECT_EQ(at->best_policy, field.value["best_member"].get_uint64().value());
    EXPECT_NEAR(at->gap, number(field.value["L"]), kExact);
    EXPECT_NEAR(at->disagreement, number(field.value["D"]), kExact);
    EXPECT_NEAR(at->mixture, number(field.value["C_mix"]), kExact);
    expect_number(at->break_even_error, field.value["L_over_D"], "L/D");
    EXPECT_NEAR(mixing_floor(rows, tau)->floor, number(field.value["floor_C_orac_Mtau"]), kExact);
    const auto members = numbers(field.value["C_m"]);
    for (std::size_t m = 0; m < members.size(); ++m) EXPECT_NEAR(at->policy[m], members[m], kExact);
  }
}

PoolSummary summary_of(const CountTable& rows) {
  SumsSpec spec;
  spec.pool_size = rows.pool_size();
  return summarize(sum_table(rows, spec), spec);
}

void expect_union(const CountTable& rows, simdjson::dom::element want) {
  const auto summary = summary_of(rows);
  EXPECT_NEAR(summary.ceiling, number(want["O_repro"]), kExact);
  EXPECT_NEAR(summary.union_product, number(want["O_exp_product"]), kExact);
  EXPECT_NEAR(summary.premium_product, number(want["premium_product"]), kExact);
  EXPECT_NEAR(summary.frechet_upper, number(want["frechet_upper"]), kExact);
  EXPECT_NEAR(summary.positive_fraction, number(want["positive_fraction"]), kExact);
  expect_number(summary.conditional_premium, want["conditional_mean_premium"], "conditional premium");
  EXPECT_EQ(summary.certain, want["zero_cases"]["saturated"].get_int64().value());
  EXPECT_EQ(summary.dead, want["zero_cases"]["all_zero"].get_int64().value());
  EXPECT_EQ(summary.lone, want["zero_cases"]["single_positive"].get_int64().value());
}

TEST_F(Lcb, CoverageUnionPriors) {
  EXPECT_EQ(rows.prompt_count(), golden.expected("shape")["complete_prompts"].get_uint64().value());
  expect_coverage(rows, golden.expected("coverage"));
  expect_coverage(complete_rows(table, {.min_trials = 1, .missing_as_fail = true}), golden.expected("coverage_missing_as_fail"));
  expect_union(rows, golden.expected("union"));
  const auto summary = summary_of(rows);
  EXPECT_EQ(summary.degenerate, golden.expected("degenerate")["total"].get_int64().value());
  EXPECT_NEAR(summary.oracle_pass_at_1_gap, number(golden.expected("pass1")["gap"]), kExact);
  const auto best = golden.expected("decomposition")["best_single"]["product"].value();
  expect_number(split_gap(summary, "product", "", summary.pass_at_1[summary.best_single]).noise_share, best["share"], "share");
  const auto moments = fit_moments(table), likelihood = fit_likelihood(table);
  EXPECT_NEAR(moments.prior.alpha, number(golden.expected("prior_moments")["alpha"]), kExact);
  EXPECT_NEAR(moments.prior.beta, number(golden.expected("prior_moments")["beta"]), kExact);
  EXPECT_NEAR(likelihood.prior.alpha, number(golden.expected("prior_mle")["alpha"]), 1e-6 * likelihood.prior.alpha);
  EXPECT_NEAR(likelihood.prior.beta, number(golden.expected("prior_mle")["beta"]), 1e-6 * likelihood.prior.beta);
}

TEST_F(Lcb, SlicesAreTheirOwnTables) {
  for (const auto slice : golden.expected("by_slice").get_object()) {
    CountTable part;
    part.policies = table.policies;
    std::size_t i = 0;
    for (const auto name : golden.input("slices").get_array()) {
      const auto row = table.row(i++);
      if (name.get_string().value() == slice.key) part.cells.insert(part.cells.end(), row.begin(), row.end());
    }
    const auto complete = complete_rows(part, {});
    EXPECT_EQ(complete.prompt_count(), slice.value["prompts"].get_uint64().value());
    expect_coverage(complete, slice.value["coverage"]);
    expect_union(complete, slice.value["union"]);
  }
}

TEST_F(Lcb, AreasAndBudget) {
  const auto band = numbers(golden.input("band"));
  const auto prior = fit_moments(table).prior;
  EXPECT_NEAR(band_area(rows, band[0], band[1]).oracle, number(golden.expected("rauc_raw")["oracle"]), kExact);
  EXPECT_NEAR(band_area(rows, band[0], band[1], prior).mixture, number(golden.expected("rauc_posterior_moments")["mixture"]), kExact);
  const auto want = golden.expected("budget_matched_mixture");
  for (const auto field : want["coverage"].get_object()) {
    const double tau = std::stod(std::string(field.key));
    const auto mixture = budget_mixture(rows, {&tau, 1}, band[0], band[1]);
    EXPECT_EQ(mixture.budget, want["budget"].get_uint64().value());
    EXPECT_NEAR(mixture.coverage[0], number(field.value), kExact);
    EXPECT_NEAR(mixture.area, number(want["rauc_raw"]), kExact);
  }
}

TEST_F(Lcb, RiseIsSampledAndNear) {
  for (const auto field : golden.expected("rise_L_2_to_M").get_object()) {
    const auto result = rise(rows, std::stod(std::string(field.key)), {.seed = 2, .samples = 500});
    EXPECT_TRUE(result.sizes[1].sampled);
    // L of a pair has a standard deviation near 0.03 over pairs.
    EXPECT_NEAR(*result.rise, number(field.value), 5 * 0.03 / std::sqrt(500.0));
  }
}

TEST_F(Lcb, SplitHalf) {
  for (const auto field : golden.expected("split_half_hon_exact").get_object()) {
    if (field.key == "policies") continue;
    expect_number(split_half_honest(rows, std::stod(std::string(field.key))), field.value["uniform"], "honest");
  }
}

TEST_F(Lcb, PoolsAndCorrelation) {
  InlineExecutor executor;
  const auto pools = all_subpools(rows, executor);
  const auto want = golden.expected("subpools");
  std::size_t s = 0;
  for (const auto size : want["by_size"].get_array()) {
    EXPECT_NEAR(pools.sizes[s].premium.median, number(size["median"]), kExact);
    EXPECT_NEAR(pools.sizes[s].premium.mean, number(size["mean"]), kExact);
    EXPECT_NEAR(pools.sizes[s].premium.max, number(size["max"]), kExact);
    expect_number(pools.sizes[s].mean_share, size["S_mean_over_subsets"], "mean share");
    ++s;
  }
  EXPECT_EQ(pools.largest_premium, want["argmax_mask"].get_uint64().value());
  const auto groups = testing::groups_of(golden, table);
  for (const auto& cut : leave_one_group_out(rows, groups)) {
    const auto expected = golden.expected("leave_one_group_out")[cut.name].value();
    EXPECT_NEAR(cut.premium, number(expected["premium"]), kExact);
    expect_number(cut.noise_share, expected["share"], cut.name);
  }
  const auto correlation = rate_correlation(rows, groups);
  expect_number(correlation.effective_pool_size, golden.expected("correlation")["rates"]["effective_pool_size"], "effective");
  expect_number(correlation.mean_within_group, golden.expected("correlation")["rates"]["mean_within_group"], "within");
}

TEST_F(Lcb, StrataBestOfRBoundsFamily) {
  const auto thin = golden.expected("thin_support");
  const auto strata = thin_support(rows, number(thin["limit"]), Support::kExpected);
  EXPECT_EQ(strata.thin.prompts, thin["expected"]["prompts"].get_int64().value());
  expect_number(strata.thin.split.noise_share, thin["expected"]["thin"]["share"], "thin");
  expect_number(strata.dense.split.noise_share, thin["expected"]["dense"]["share"], "dense");
  for (const auto want : golden.expected("best_of_r").get_array()) {
    const auto r = static_cast<std::uint32_t>(want["r"].get_uint64().value());
    EXPECT_NEAR(best_of_r(rows, {&r, 1})[0].committed, number(want["O_repro"]), kExact);
    EXPECT_NEAR(best_of_r(rows, {&r, 1})[0].union_product, number(want["O"]), kExact);
  }
  for (const auto want : golden.expected("winners_curse").get_array()) {
    const auto bounds = winners_curse(numbers(want["p"]), static_cast<std::uint32_t>(want["k"].get_uint64().value()));
    EXPECT_NEAR(bounds.bernstein, number(want["bernstein"]), kExact);
    EXPECT_NEAR(bounds.exact_independent, number(want["exact_independent"]), kExact);
  }
  const auto adjusted = benjamini_hochberg(numbers(golden.expected("bh")["p"]));
  const auto expected = numbers(golden.expected("bh")["adjusted"]);
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(adjusted[i], expected[i], 1e-9);
}

}  // namespace
}  // namespace gapwatch::stats
