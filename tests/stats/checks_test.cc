#include "stats/checks.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "tests/support/draws.h"
#include "tests/support/golden.h"

namespace gapwatch::stats {
namespace {

using testing::Draws;
using testing::Golden;

TEST(Checks, GoldenRunsAndBlocks) {
  for (const auto* file : testing::kDrawFiles) {
    SCOPED_TRACE(file);
    const Golden golden(testing::golden_path(file));
    const Draws draws(testing::draws_of(golden));
    const auto want = golden.expected("overdispersion");
    const auto runs = runs_test(draws.table);
    EXPECT_EQ(runs.cells, want["runs_cells"].get_int64().value());
    testing::expect_number(runs.mean_z, want["runs_mean_z"], "mean z");
    testing::expect_number(runs.dispersion, want["runs_dispersion"], "dispersion");
    testing::expect_number(runs.inside, want["runs_inside_95"], "inside");
    const auto blocks = block_dispersion(draws.table, want["blocks"].get_uint64().value());
    EXPECT_EQ(blocks.cells, want["cells"].get_int64().value());
    testing::expect_number(blocks.ratio, want["phi"], "phi");
  }
}

// Random cells of `length` draws whose next draw repeats the last one with probability `sticky` beyond
// chance, and whose rate moves by `drift` from the first to the second half.
std::vector<std::vector<std::string>> streams(double sticky, double drift, bool shared_luck, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  std::vector<std::vector<std::string>> rows(40, std::vector<std::string>(3, std::string(40, '0')));
  for (auto& row : rows) {
    for (std::size_t j = 0; j < 40; ++j) {
      const double luck = uniform();
      for (auto& cell : row) {
        const double rate = 0.5 + (j < 20 ? drift : -drift) / 2;
        const bool repeat = j > 0 && uniform() < sticky;
        const double u = shared_luck && uniform() < 0.5 ? luck : uniform();
        cell[j] = repeat ? cell[j - 1] : (u < rate ? '1' : '0');
      }
    }
  }
  return rows;
}

Check find(const std::vector<Check>& checks, const std::string& name) {
  for (const auto& check : checks) {
    if (check.name == name) return check;
  }
  ADD_FAILURE() << "no check " << name;
  return {};
}

std::vector<Check> checks_of(const std::vector<std::vector<std::string>>& rows) {
  const Draws draws(rows);
  return assumption_checks(testing::counts_of(draws.table, {"a", "b", "c"}), draws.table);
}

TEST(Checks, ExchangeableIndependentDrawsPass) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    for (const auto& check : checks_of(streams(0, 0, false, seed))) {
      EXPECT_TRUE(check.value) << check.name;
      EXPECT_TRUE(check.ok) << check.name << " " << *check.value << " seed " << seed;
      EXPECT_FALSE(check.meaning.empty());
    }
  }
}

TEST(Checks, EachFindsItsOwnTrouble) {
  const auto sticky = checks_of(streams(0.4, 0, false, 1));
  EXPECT_FALSE(find(sticky, "runs").ok);
  EXPECT_FALSE(find(sticky, "lag_one").ok);
  EXPECT_GT(*find(sticky, "lag_one").value, 3);
  const auto drifting = checks_of(streams(0, 0.3, false, 1));
  EXPECT_FALSE(find(drifting, "halves").ok);
  EXPECT_GT(*find(drifting, "halves").value, 3) << "the first half is better";
  const auto shared = checks_of(streams(0, 0, true, 1));
  EXPECT_FALSE(find(shared, "matched_indices").ok);
  EXPECT_GT(*find(shared, "matched_indices").value, 3);
  EXPECT_TRUE(find(shared, "runs").ok);
}

// Joint successes at matched indices, against all permutations of one cell.
TEST(Checks, MatchedAgreementHasTheShuffledMeanAndVariance) {
  const std::string first = "11010";
  std::string second = "00011";
  std::vector<double> joint;
  do {
    double count = 0;
    for (std::size_t j = 0; j < first.size(); ++j) count += first[j] == '1' && second[j] == '1';
    joint.push_back(count);
  } while (std::next_permutation(second.begin(), second.end()));
  double mean = 0, squares = 0;
  for (const double x : joint) mean += x / static_cast<double>(joint.size());
  for (const double x : joint) squares += (x - mean) * (x - mean) / static_cast<double>(joint.size());
  const Draws draws({{first, "00011"}});
  EXPECT_NEAR(*matched_index_agreement(draws.table), (1 - mean) / std::sqrt(squares), 1e-12);
}

TEST(Checks, WithoutDrawsOnlyTheTrialsAreChecked) {
  CountTable table;
  table.policies = {"a", "b"};
  table.cells = {{4, 1}, {8, 1}};
  const auto checks = assumption_checks(table, {});
  EXPECT_EQ(checks.size(), 5u);
  EXPECT_FALSE(find(checks, "runs").value || find(checks, "halves").value);
  EXPECT_EQ(find(checks, "same_trials").value, 0.5);
  EXPECT_FALSE(find(checks, "same_trials").ok);
  table.cells = {{960, 1}, {961, 1}};
  EXPECT_TRUE(find(assumption_checks(table, {}), "same_trials").ok);
  EXPECT_FALSE(find(assumption_checks({}, {}), "same_trials").value);
}

}  // namespace
}  // namespace gapwatch::stats
