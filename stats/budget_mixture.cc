#include "stats/budget_mixture.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "stats/trial_histogram.h"

namespace gapwatch::stats {
namespace {

double log_choose(double n, double k) { return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1); }

// f(x, probability) over the successes x in `draws` of `trials` outcomes, `successes` of them good.
template <typename F>
void for_hypergeometric(std::uint64_t trials, std::uint64_t successes, std::uint64_t draws, F&& f) {
  const auto failures = trials - successes;
  const auto from = draws > failures ? draws - failures : 0;
  const auto to = std::min(successes, draws);
  const auto n = static_cast<double>(trials), s = static_cast<double>(successes), k = static_cast<double>(draws);
  const double whole = log_choose(n, k);
  for (auto x = from; x <= to; ++x) {
    const auto at = static_cast<double>(x);
    f(x, std::exp(log_choose(s, at) + log_choose(n - s, k - at) - whole));
  }
}

std::uint32_t median_trials(const CountTable& table) {
  TrialHistogram cells;
  for (const CellCount cell : table.cells) {
    if (cell.trials > 0) cells.add(cell.trials, 1);
  }
  const auto total = cells.total();
  if (total == 0) return 0;
  const auto low = cells.at_rank((total - 1) / 2), high = cells.at_rank(total / 2);
  return low + (high - low) / 2;
}

}  // namespace

BudgetMixture budget_mixture(const CountTable& table, std::span<const double> thresholds, double band_low,
                             double band_high, std::optional<BetaPrior> prior, std::uint32_t budget) {
  BudgetMixture out;
  out.budget = budget > 0 ? budget : median_trials(table);
  out.coverage.resize(thresholds.size());
  std::map<std::pair<std::uint64_t, std::uint64_t>, double> classes;  // prompts by (T, S)
  for (std::size_t i = 0; i < table.prompt_count(); ++i) {
    std::uint64_t trials = 0, successes = 0;
    for (const CellCount cell : table.row(i)) {
      trials += cell.trials;
      successes += cell.successes;
    }
    if (trials > 0) classes[{trials, successes}] += 1;
  }
  double prompts = 0;
  for (const auto& [totals, count] : classes) {
    const auto& [trials, successes] = totals;
    const auto draws = static_cast<std::uint32_t>(std::min<std::uint64_t>(out.budget, trials));
    prompts += count;
    out.pass_at_1 += count * static_cast<double>(successes) / static_cast<double>(trials);
    for_hypergeometric(trials, successes, draws, [&, share = count](std::uint64_t x, double probability) {
      const CellCount cell{draws, static_cast<std::uint32_t>(x)};
      const double rate = prior ? posterior_mean(cell, *prior) : raw_rate(cell);
      out.area += share * probability * std::clamp((rate - band_low) / (band_high - band_low), 0.0, 1.0);
      for (std::size_t t = 0; t < thresholds.size(); ++t) {
        if (covers(cell, need(thresholds[t], draws))) out.coverage[t] += share * probability;
      }
    });
  }
  out.prompts = static_cast<std::size_t>(prompts);
  if (out.prompts == 0) return out;
  out.pass_at_1 /= prompts;
  out.area /= prompts;
  for (double& sum : out.coverage) sum /= prompts;
  return out;
}

}  // namespace gapwatch::stats
