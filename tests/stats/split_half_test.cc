#include "stats/split_half.h"

#include <cmath>
#include <algorithm>
#include <random>

#include "base/executor.h"
#include "tests/support/golden.h"

namespace gapwatch::stats {
namespace {

using testing::Golden;
using testing::number;

TEST(SplitHalf, GoldenHonestCoverageIsExact) {
  for (const auto* file : testing::kTableFiles) {
    SCOPED_TRACE(file);
    const Golden golden(testing::golden_path(file));
    const auto rows = complete_rows(testing::table_of(golden), {});
    for (const auto field : golden.expected("split_half_hon_exact").get_object()) {
      if (field.key == "policies") continue;
      const double tau = std::stod(std::string(field.key));
      testing::expect_number(split_half_honest(rows, tau, true), field.value["first"], "ties to the first");
      testing::expect_number(split_half_honest(rows, tau), field.value["uniform"], "ties averaged");
    }
  }
}

// Monte Carlo of the reference with its standard errors: within five of both.
TEST(SplitHalf, GoldenComparators) {
  InlineExecutor executor;
  for (const auto* file : testing::kTableFiles) {
    SCOPED_TRACE(file);
    const Golden golden(testing::golden_path(file));
    const auto rows = complete_rows(testing::table_of(golden), {});
    const auto taus = testing::numbers(golden.input("taus"));
    const auto results = split_half(rows, taus, {.replicates = 1'500, .seed = 5}, executor);
    for (std::size_t t = 0; t < taus.size(); ++t) {
      std::string key;
      for (const auto field : golden.expected("coverage").get_object()) {
        if (std::abs(std::stod(std::string(field.key)) - taus[t]) < 1e-12) key = field.key;
      }
      const auto near = [&](Number value, Number error, const std::string& name) {
        const auto want = golden.root["monte_carlo"][name].value();
        const double tolerance = 5 * std::hypot(*error, number(want["se"]));
        EXPECT_NEAR(*value, number(want["mean"]), tolerance + 1e-12) << name;
      };
      near(results[t].matched, results[t].matched_error, "split_half.matched.uniform@" + key + ".mean");
      near(results[t].scoring_half, results[t].scoring_half_error, "split_half.scoring.uniform@" + key + ".mean");
      near(results[t].honest, 0.0, "split_half.hon.uniform@" + key + ".mean");
    }
  }
}

// The definition, by shuffling trials.
double naive_honest(const CountTable& table, double tau, std::uint64_t seed, int splits) {
  std::mt19937_64 random(seed);
  double covered = 0;
  for (int split = 0; split < splits; ++split) {
    for (std::size_t i = 0; i < table.prompt_count(); ++i) {
      double best = -1, right = 0, tied = 0;
      for (const auto cell : table.row(i)) {
        std::vector<int> outcomes(cell.trials);
        std::fill_n(outcomes.begin(), cell.successes, 1);
        std::shuffle(outcomes.begin(), outcomes.end(), random);
        const auto half = cell.trials / 2;
        std::uint32_t chosen = 0, scored = 0;
        for (std::uint32_t j = 0; j < cell.trials; ++j) (j < half ? chosen : scored) += static_cast<std::uint32_t>(outcomes[j]);
        const double rate = static_cast<double>(chosen) / half;
        if (rate > best + 1e-12) best = rate, right = tied = 0;
        if (rate < best - 1e-12) continue;
        tied += 1;
        right += scored >= need(tau, cell.trials - half);
      }
      covered += right / tied;
    }
  }
  return covered / splits / static_cast<double>(table.prompt_count());
}

TEST(SplitHalf, UnevenTrialsAgainstShuffling) {
  const auto table = testing::random_table({.prompts = 5, .policies = 4, .trials_from = 2, .trials_to = 9}, 4);
  for (const double tau : {0.3, 0.6}) {
    EXPECT_NEAR(*split_half_honest(table, tau), naive_honest(table, tau, 9, 20'000), 5 * 0.5 / std::sqrt(5 * 20'000.0));
  }
}

TEST(SplitHalf, TheSameForAnyNumberOfThreads) {
  const auto table = testing::random_table({.prompts = 150, .policies = 3, .trials_from = 2}, 6);
  InlineExecutor one;
  const auto three = make_thread_executor(3);
  const double taus[] = {0.2, 0.7};
  const auto a = split_half(table, taus, {.replicates = 20, .seed = 2}, one);
  const auto b = split_half(table, taus, {.replicates = 20, .seed = 2}, *three);
  for (std::size_t t = 0; t < 2; ++t) {
    EXPECT_EQ(a[t].honest, b[t].honest);
    EXPECT_EQ(a[t].matched, b[t].matched);
    EXPECT_EQ(a[t].scoring_half, b[t].scoring_half);
  }
}

TEST(SplitHalf, CellsOfOneTrialAreLeftOut) {
  CountTable table;
  table.policies = {"a", "b"};
  table.cells = {{1, 1}, {4, 2}, {4, 4}, {4, 0}};
  InlineExecutor executor;
  const double tau = 0.5;
  const auto result = split_half(table, {&tau, 1}, {}, executor)[0];
  EXPECT_EQ(result.prompts, 1);
  EXPECT_DOUBLE_EQ(*result.honest, 1);
  table.cells = {{1, 1}, {1, 0}};
  EXPECT_FALSE(split_half(table, {&tau, 1}, {}, executor)[0].matched);
  EXPECT_FALSE(split_half_honest(table, tau));
}

TEST(SplitHalf, LargeCells) {
  CountTable table;
  table.policies = {"a", "b", "c"};
  table.cells = {{100'000, 50'000}, {100'000, 50'500}, {99'999, 50'000}};
  InlineExecutor executor;
  const double tau = 0.5;
  const auto result = split_half(table, {&tau, 1}, {.replicates = 50, .seed = 1}, executor)[0];
  EXPECT_TRUE(result.honest_exact);
  EXPECT_GT(*result.honest, 0);
  EXPECT_LT(*result.honest, 1);
}

}  // namespace
}  // namespace gapwatch::stats
