#include "stats/margin_chain.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>

#include "base/random.h"
#include "stats/autocorrelation.h"
#include "stats/redeal_sampler.h"
#include "tests/support/tables.h"

namespace gapwatch::stats {
namespace {

using testing::policy_names;

CountTable table_of(std::size_t policies, std::vector<CellCount> cells) {
  CountTable table;
  table.policies = policy_names(policies);
  table.cells = std::move(cells);
  return table;
}

// Random counts of policies that differ, so that hardly two totals are the same. The first `missing` prompts, which are
// informative, lack the cell of one policy each: from three on 2 x 2 moves do not connect all tables.
CountTable random_counts(std::size_t prompts, const std::vector<std::uint32_t>& trials, std::size_t missing, std::uint64_t seed) {
  FastRandom random(seed);
  CountTable table = table_of(trials.size(), {});
  while (table.prompt_count() < prompts) {
    const std::size_t i = table.prompt_count();
    std::uint32_t total = 0, successes = 0;
    std::vector<CellCount> row;
    for (std::size_t m = 0; m < trials.size(); ++m) {
      const std::uint32_t n = i < missing && i == m ? 0 : trials[m];
      row.push_back({n, binomial_draw(random, n, 0.2 + 0.1 * static_cast<double>(m))});
      total += n;
      successes += row.back().successes;
    }
    if (i < missing && (successes == 0 || successes == total)) continue;
    table.cells.insert(table.cells.end(), row.begin(), row.end());
  }
  return table;
}

struct Sampled {
  PromptClasses classes;
  ScoreSpec spec;
  MarginChainResult chain;
};

Sampled sample(const CountTable& table, const std::vector<double>& taus, std::uint32_t samples) {
  auto classes = classify_prompts(table);
  auto spec = make_score_spec(classes, taus);
  InlineExecutor executor;
  MarginChainOptions how;
  how.samples = samples;
  auto chain = sample_margin(table, classes, spec, how, executor);
  return {std::move(classes), std::move(spec), std::move(chain)};
}

TableStatistics statistics(const Sampled& sampled, const CountTable& table) {
  return statistics_of(observed_score(sampled.spec, table, sampled.classes), table.pool_size(), table.prompt_count());
}

TEST(MarginChain, MissingCellsNeedLongCyclesOnlyInThreePromptsAndPolicies) {
  const CellCount none{0, 0}, half{2, 1};
  const auto needs = [](std::vector<CellCount> cells) { return needs_long_cycles(classify_prompts(table_of(3, std::move(cells)))); };
  EXPECT_TRUE(needs({none, half, half, half, none, half, half, half, none}));
  EXPECT_FALSE(needs({none, half, half, half, none, half, half, half, half}));
  EXPECT_FALSE(needs({none, half, half, none, half, half, none, half, half}));
}

TEST(MarginChain, ReportsItsMixing) {
  const auto chain = sample(random_counts(80, {10, 10, 10, 10, 10}, 0, 1), {0.05, 0.1, 0.2, 0.3}, 1'000).chain;
  EXPECT_EQ(chain.chains, 4u);
  EXPECT_GE(chain.rounds_per_sample, 1u);
  EXPECT_GT(chain.effective_samples, 400);
  EXPECT_FALSE(chain.long_cycles);
  EXPECT_TRUE(sample(random_counts(80, {10, 10, 10, 10, 10}, 3, 1), {0.1}, 100).chain.long_cycles);
}

// With one trial a cell, what a prompt adds to the oracle and to the pairs that cover it follows from its total, and what a
// policy covers is its total: no statistic may move at all.
TEST(MarginChain, OfSingleTrialsEveryStatisticFollowsFromTheMargins) {
  for (const std::size_t missing : {0, 3, 5}) {
    const auto table = random_counts(60, {1, 1, 1, 1, 1}, missing, 2);
    const auto sampled = sample(table, {0.5, 1}, 500);
    const auto observed = statistics(sampled, table);
    const auto& samples = sampled.chain.samples;
    EXPECT_EQ(sampled.chain.long_cycles, missing > 0);
    const auto all = [&](const std::vector<std::int64_t>& seen, std::int64_t value, const char* what) {
      EXPECT_EQ(std::count(seen.begin(), seen.end(), value), 500) << what << ", " << missing << " missing";
    };
    for (std::size_t t = 0; t < 2; ++t) {
      all(samples.oracle[t], observed.oracle[t], "oracle");
      all(samples.best[t], observed.best[t], "best");
      all(samples.disagreement[t], observed.disagreement[t], "disagreement");
      all(samples.rise[t], observed.rise[t], "rise");
      all(samples.oracle_minus_mixture[t], observed.oracle_minus_mixture[t], "oracle minus mixture");
    }
    all(samples.pass_at_1_gap, observed.pass_at_1_gap, "pass@1 gap");
  }
}

// A policy's total is the sum over k of the prompts on which it has k successes or more, and prompts of its own, that it
// always solves, make it the best at each of these thresholds.
TEST(MarginChain, KeepsThePoliciesTotals) {
  for (const auto& trials : {std::vector<std::uint32_t>{4, 4, 4, 4}, {4, 6, 4, 6}, {3, 40, 6, 9}}) {
    for (const std::size_t missing : {0, 3}) {
      for (std::size_t policy = 0; policy < trials.size(); ++policy) {
        auto table = random_counts(30, trials, missing, 3);
        std::int64_t total = 0;
        for (std::size_t i = 0; i < 30; ++i) total += table.row(i)[policy].successes;
        for (std::size_t i = 0; i < 30; ++i) {
          for (std::size_t m = 0; m < trials.size(); ++m) {
            table.cells.push_back(m == policy ? CellCount{trials[m], trials[m]} : CellCount{});
          }
        }
        std::vector<double> taus;
        for (std::uint32_t k = 1; k <= trials[policy]; ++k) taus.push_back(k / static_cast<double>(trials[policy]));
        const auto& best = sample(table, taus, 200).chain.samples.best;
        std::set<std::int64_t> totals;
        for (std::size_t s = 0; s < 200; ++s) {
          totals.insert(std::accumulate(best.begin(), best.end(), std::int64_t{0},
                                        [&](std::int64_t sum, const auto& at) { return sum + at[s]; }));
        }
        EXPECT_EQ(totals, std::set{total + 30 * std::int64_t{trials[policy]}}) << policy << ", " << missing << " missing";
        EXPECT_TRUE(std::any_of(best.begin(), best.end(), [](const auto& at) { return std::set(at.begin(), at.end()).size() > 1; }))
            << "its counts do not move";
      }
    }
  }
}

// Naive: every table with these trials and margins, with its weight, the product of C(trials, successes).
void enumerate(CountTable& table, std::size_t at, std::vector<std::int64_t>& rows, std::vector<std::int64_t>& columns, double weight,
               const std::function<void(double)>& visit) {
  const std::size_t pool = table.pool_size();
  if (at == table.cells.size()) {
    if (std::all_of(columns.begin(), columns.end(), [](auto left) { return left == 0; })) visit(weight);
    return;
  }
  auto &row = rows[at / pool], &column = columns[at % pool];
  auto& cell = table.cells[at];
  double choose = 1;
  for (cell.successes = 0; cell.successes <= cell.trials; ++cell.successes) {
    const std::int64_t c = cell.successes;
    if (c > row || c > column) break;
    row -= c, column -= c;
    if (at % pool + 1 < pool || row == 0) enumerate(table, at + 1, rows, columns, weight * choose, visit);
    row += c, column += c;
    choose = choose * static_cast<double>(cell.trials - cell.successes) / static_cast<double>(c + 1);
  }
}

using Value = std::vector<std::int64_t>;

std::map<Value, double> exact_law(const CountTable& table, const std::function<Value(const CountTable&)>& value) {
  std::vector<std::int64_t> rows(table.prompt_count(), 0), columns(table.pool_size(), 0);
  for (std::size_t at = 0; at < table.cells.size(); ++at) {
    rows[at / table.pool_size()] += table.cells[at].successes;
    columns[at % table.pool_size()] += table.cells[at].successes;
  }
  std::map<Value, double> law;
  double whole = 0;
  auto other = table;
  enumerate(other, 0, rows, columns, 1, [&](double weight) { law[value(other)] += weight, whole += weight; });
  for (auto& [at, weight] : law) weight /= whole;
  return law;
}

// Of all statistics together, against enumeration. A frequency's standard error is widened by its own autocorrelation.
void expect_law(const CountTable& table, bool long_cycles, std::size_t at_least) {
  constexpr std::uint32_t kSamples = 40'000;
  const auto sampled = sample(table, {0.4, 0.75}, kSamples);
  ASSERT_EQ(sampled.chain.long_cycles, long_cycles);
  const auto law = exact_law(table, [&](const CountTable& other) {
    const auto of = statistics(sampled, other);
    return Value{of.gap[0], of.gap[1], of.disagreement[0], of.disagreement[1], of.rise[1], of.pass_at_1_gap};
  });
  const auto& samples = sampled.chain.samples;
  std::vector<Value> seen;
  for (std::size_t s = 0; s < samples.pass_at_1_gap.size(); ++s) {
    seen.push_back({samples.gap[0][s], samples.gap[1][s], samples.disagreement[0][s], samples.disagreement[1][s],
                    samples.rise[1][s], samples.pass_at_1_gap[s]});
    ASSERT_TRUE(law.contains(seen.back())) << "no table with these margins has " << ::testing::PrintToString(seen.back());
  }
  std::size_t judged = 0;
  std::vector<std::int64_t> hits(seen.size());
  for (const auto& [value, p] : law) {
    const double count = static_cast<double>(seen.size());
    if (p * count < 100) continue;
    ++judged;
    std::transform(seen.begin(), seen.end(), hits.begin(), [&](const Value& one) { return one == value ? 1 : 0; });
    const double time = std::max(1.0, autocorrelation_time(hits, sampled.chain.chains));
    const double frequency = static_cast<double>(std::accumulate(hits.begin(), hits.end(), std::int64_t{0})) / count;
    EXPECT_NEAR(frequency, p, 4.5 * std::sqrt(p * (1 - p) * time / count)) << ::testing::PrintToString(value);
  }
  EXPECT_GE(judged, at_least);
}

TEST(MarginChain, ItsLawIsTheEnumeratedOneWhereTrialsAreEqual) {
  expect_law(table_of(3, {{4, 2}, {4, 0}, {4, 1}, {4, 1}, {4, 4}, {4, 0}, {4, 1}, {4, 1}, {4, 2}, {4, 0}, {4, 3}, {4, 1}}), false, 10);
}

TEST(MarginChain, ItsLawIsTheEnumeratedOneOfUnevenTrialsAndMissingCells) {
  expect_law(table_of(3, {{3, 2}, {1, 0}, {4, 1}, {2, 1}, {5, 3}, {2, 0}, {0, 0}, {3, 1}, {2, 2}, {4, 1}, {2, 1}, {3, 2}}), false, 10);
}

TEST(MarginChain, ItsLawIsTheEnumeratedOneAlongLongCycles) {
  expect_law(table_of(3, {{0, 0}, {3, 1}, {4, 2}, {5, 2}, {0, 0}, {2, 1}, {3, 2}, {4, 1}, {0, 0}}), true, 3);
  expect_law(table_of(4, {{0, 0}, {2, 1}, {3, 1}, {1, 1}, {2, 1}, {0, 0}, {1, 0}, {3, 2},
                          {1, 0}, {3, 1}, {0, 0}, {2, 1}, {2, 2}, {1, 0}, {2, 1}, {0, 0}}), true, 10);
}

}  // namespace
}  // namespace gapwatch::stats
