#include "stats/checks.h"

#include <algorithm>
#include <cmath>

namespace gapwatch::stats {
namespace {

// The judged outcomes of a cell, in order of their index.
std::vector<bool> outcomes_of(const DrawSet* draws) {
  std::vector<bool> outcomes;
  if (draws == nullptr) return outcomes;
  draws->for_each([&](std::uint64_t, DrawOutcome outcome) {
    if (is_judged(outcome)) outcomes.push_back(outcome == DrawOutcome::kSuccess);
  });
  return outcomes;
}

// f(outcomes, successes) for every cell with a success and a failure.
template <typename F>
void for_each_mixed_cell(const DrawTable& draws, F&& f) {
  for (const DrawSet* cell : draws.cells) {
    const auto outcomes = outcomes_of(cell);
    const auto successes = static_cast<std::size_t>(std::count(outcomes.begin(), outcomes.end(), true));
    if (successes > 0 && successes < outcomes.size()) f(outcomes, successes);
  }
}

// A sum of centred terms with known variances.
struct Standardised {
  double sum = 0, variance = 0;
  void add(double deviation, double its_variance) {
    sum += deviation;
    variance += its_variance;
  }
  Number z() const { return variance > 0 ? Number(sum / std::sqrt(variance)) : std::nullopt; }
};

struct Runs {
  double runs = 1, mean = 0, variance = 0;
};

// Wald-Wolfowitz, given the number of successes.
Runs runs_of(const std::vector<bool>& outcomes, std::size_t successes) {
  Runs out;
  for (std::size_t j = 1; j < outcomes.size(); ++j) out.runs += outcomes[j] != outcomes[j - 1];
  const auto n = static_cast<double>(outcomes.size()), s = static_cast<double>(successes);
  const double pairs = 2 * s * (n - s) / n;
  out.mean = 1 + pairs;
  out.variance = pairs * (pairs - 1) / (n - 1);
  return out;
}

Check z_check(std::string name, Number z, std::string meaning) {
  Check check{std::move(name), z, true, std::move(meaning)};
  if (z) check.ok = std::abs(*z) < 3;
  return check;
}

Check runs_check(const RunsTest& runs) {
  Check check{"runs", runs.inside, true,
              "Draws of one cell come in streaks or alternate: they are not exchangeable, and every interval and "
              "null law here is too narrow or too wide."};
  if (runs.inside) {
    // Small cells have few values of the run count, so the share is not quite 0.95 there.
    const double noise = 3 * std::sqrt(0.95 * 0.05 / static_cast<double>(runs.cells));
    check.ok = *runs.inside >= 0.93 - noise;
  }
  return check;
}

Check trials_check(const CountTable& table) {
  Check check{"same_trials", std::nullopt, true,
              "Policies were not drawn equally often: the re-deal keeps each prompt's pooled rate, not the uniform "
              "mixture, and thresholds bind cells of different sizes differently."};
  std::uint32_t least = 0, most = 0;
  for (const CellCount cell : table.cells) {
    if (cell.trials == 0) continue;
    least = least == 0 ? cell.trials : std::min(least, cell.trials);
    most = std::max(most, cell.trials);
  }
  if (most == 0) return check;
  check.value = static_cast<double>(least) / static_cast<double>(most);
  check.ok = std::uint64_t{least} * 10 >= std::uint64_t{most} * 9;  // a stream that runs is never quite even
  return check;
}

}  // namespace

RunsTest runs_test(const DrawTable& draws) {
  RunsTest out;
  double inside = 0, sum = 0, squares = 0;
  for_each_mixed_cell(draws, [&](const std::vector<bool>& outcomes, std::size_t successes) {
    const auto runs = runs_of(outcomes, successes);
    if (runs.variance <= 0) return;
    const double z = (runs.runs - runs.mean) / std::sqrt(runs.variance);
    ++out.cells;
    inside += std::abs(z) < 1.96;
    sum += z;
    squares += z * z;
  });
  if (out.cells == 0) return out;
  const auto cells = static_cast<double>(out.cells);
  out.inside = inside / cells;
  out.mean_z = sum / cells;
  out.dispersion = squares / cells;
  return out;
}

Number lag_one_agreement(const DrawTable& draws) {
  Standardised total;
  for_each_mixed_cell(draws, [&](const std::vector<bool>& outcomes, std::size_t successes) {
    const auto runs = runs_of(outcomes, successes);
    total.add(runs.mean - runs.runs, runs.variance);  // every agreement is a run less
  });
  return total.z();
}

Number half_against_half(const DrawTable& draws) {
  Standardised total;
  for_each_mixed_cell(draws, [&](const std::vector<bool>& outcomes, std::size_t successes) {
    const auto half = outcomes.size() / 2;
    const auto early = std::count(outcomes.begin(), outcomes.begin() + static_cast<std::ptrdiff_t>(half), true);
    const auto n = static_cast<double>(outcomes.size()), h = static_cast<double>(half);
    const double p = static_cast<double>(successes) / n;
    total.add(static_cast<double>(early) - h * p, h * p * (1 - p) * (n - h) / (n - 1));
  });
  return total.z();
}

BlockDispersion block_dispersion(const DrawTable& draws, std::size_t blocks) {
  BlockDispersion out;
  double sum = 0;
  for_each_mixed_cell(draws, [&](const std::vector<bool>& outcomes, std::size_t successes) {
    const auto length = blocks < 2 ? 0 : outcomes.size() / blocks;
    if (length == 0) return;
    double mean = 0, squares = 0;
    for (std::size_t b = 0; b < blocks; ++b) {
      const auto from = outcomes.begin() + static_cast<std::ptrdiff_t>(b * length);
      const double rate = static_cast<double>(std::count(from, from + static_cast<std::ptrdiff_t>(length), true)) /
                          static_cast<double>(length);
      mean += rate;
      squares += rate * rate;
    }
    const auto count = static_cast<double>(blocks), n = static_cast<double>(outcomes.size());
    mean /= count;
    const double p = static_cast<double>(successes) / n;
    const double expected = p * (1 - p) / static_cast<double>(length) * n / (n - 1);
    sum += std::max(0.0, squares - count * mean * mean) / (count - 1) / expected;
    ++out.cells;
  });
  if (out.cells > 0) out.ratio = sum / static_cast<double>(out.cells);
  return out;
}

Number matched_index_agreement(const DrawTable& draws) {
  Standardised total;
  for (std::size_t i = 0; i < draws.prompt_count(); ++i) {
    std::vector<double> successes(draws.pool_size);
    double n = 0, joint = 0;
    for_each_aligned(draws.row(i), [&](std::uint64_t, const std::vector<bool>& row) {
      double here = 0;
      for (std::size_t m = 0; m < row.size(); ++m) {
        successes[m] += row[m];
        here += row[m];
      }
      joint += here * (here - 1) / 2;  // pairs of policies that succeed together
      n += 1;
    });
    if (n < 2) continue;
    double sum = 0, squares = 0, spread = 0, spread_squares = 0;
    for (const double s : successes) {
      sum += s;
      squares += s * s;
      spread += s * (n - s);
      spread_squares += s * (n - s) * s * (n - s);
    }
    // Shuffled within cells, joint successes of a pair are hypergeometric, and pairs are uncorrelated.
    total.add(joint - (sum * sum - squares) / (2 * n),
              (spread * spread - spread_squares) / (2 * n * n * (n - 1)));
  }
  return total.z();
}

std::vector<Check> assumption_checks(const CountTable& table, const DrawTable& draws) {
  return {
      runs_check(runs_test(draws)),
      z_check("lag_one", lag_one_agreement(draws),
              "Neighbouring draws agree more or less often than chance allows: a cache, a shared seed or a changing "
              "policy makes them dependent."),
      z_check("halves", half_against_half(draws),
              "The first half of the draws has another rate than the second: the policy, the scorer or the sampling "
              "changed on the way."),
      z_check("matched_indices", matched_index_agreement(draws),
              "Policies agree more or less at the same draw index than at shuffled ones: they are not independent "
              "given the prompt, so read the paired union, not the product."),
      trials_check(table),
  };
}

}  // namespace gapwatch::stats
