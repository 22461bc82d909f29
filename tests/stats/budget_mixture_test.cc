#include "stats/budget_mixture.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "stats/prior.h"
#include "tests/support/golden.h"

namespace gapwatch::stats {
namespace {

using testing::Golden;
using testing::number;

class GoldenBudget : public ::testing::TestWithParam<const char*> {};

TEST_P(GoldenBudget, ExactExpectations) {
  const Golden golden(testing::golden_path(GetParam()));
  const auto table = testing::table_of(golden);
  const auto rows = complete_rows(table, {});
  const auto want = golden.expected("budget_matched_mixture");
  const auto band = testing::numbers(golden.input("band"));
  // The reference takes the smallest cell of an uneven table, so its budget is given here.
  const auto budget = static_cast<std::uint32_t>(want["budget"].get_uint64().value());
  std::vector<double> taus, expected;
  for (const auto field : want["coverage"].get_object()) {
    taus.push_back(std::stod(std::string(field.key)));
    expected.push_back(number(field.value));
  }
  const auto raw = budget_mixture(rows, taus, band[0], band[1], std::nullopt, budget);
  for (std::size_t t = 0; t < taus.size(); ++t) EXPECT_NEAR(raw.coverage[t], expected[t], testing::kExact);
  EXPECT_NEAR(raw.area, number(want["rauc_raw"]), testing::kExact);
  EXPECT_NEAR(raw.pass_at_1, number(want["pass1"]), testing::kExact);
  const auto posterior = budget_mixture(rows, taus, band[0], band[1], fit_moments(table).prior, budget);
  EXPECT_NEAR(posterior.area, number(want["rauc_posterior"]), testing::kExact);
  if (golden.expected("shape")["even_trials"].get_bool().value()) {
    EXPECT_EQ(budget_mixture(rows, taus, band[0], band[1]).budget, budget) << "the median";
  }
}
INSTANTIATE_TEST_SUITE_P(Files, GoldenBudget, ::testing::ValuesIn(testing::kTableFiles));

TEST(BudgetMixture, AgreesWithDrawing) {
  const auto table = testing::random_table({.prompts = 6, .policies = 3, .trials_from = 2, .trials_to = 9}, 3);
  const double tau = 0.4;
  const auto exact = budget_mixture(table, {&tau, 1}, 0.1, 0.9);
  std::mt19937_64 random(1);
  double covered = 0;
  constexpr int kDraws = 20'000;
  for (int draw = 0; draw < kDraws; ++draw) {
    for (std::size_t i = 0; i < table.prompt_count(); ++i) {
      std::vector<int> outcomes;
      for (const auto cell : table.row(i)) {
        for (std::uint32_t j = 0; j < cell.trials; ++j) outcomes.push_back(j < cell.successes);
      }
      std::shuffle(outcomes.begin(), outcomes.end(), random);
      const auto drawn = std::accumulate(outcomes.begin(), outcomes.begin() + exact.budget, 0);
      covered += drawn >= static_cast<int>(need(tau, exact.budget));
    }
  }
  EXPECT_NEAR(exact.coverage[0], covered / kDraws / 6, 5 * 0.5 / std::sqrt(6.0 * kDraws));
}

TEST(BudgetMixture, NothingAndExtremes) {
  CountTable empty;
  empty.policies = {"a"};
  const double tau = 0.5;
  EXPECT_EQ(budget_mixture(empty, {&tau, 1}, 0.1, 0.9).prompts, 0u);
  CountTable wide;
  wide.policies = {"a", "b", "c"};
  wide.cells = {{1, 1}, {100'000, 30'000}, {100'000, 90'000}};
  const auto mixture = budget_mixture(wide, {&tau, 1}, 0.1, 0.9);
  EXPECT_EQ(mixture.budget, 100'000u);
  EXPECT_NEAR(mixture.coverage[0], 1, 1e-9);
}

}  // namespace
}  // namespace gapwatch::stats
