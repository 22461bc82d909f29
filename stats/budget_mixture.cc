#include "stats/budget_mixture.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include "stats/trial_histogram.h"

namespace gapwatch::stats {
namespace {

// Laws wider than that are taken for normal with their own skewness.
constexpr double kWideDeviation = 300;

// Successes among draws without replacement.
struct Hypergeometric {
  double trials, successes, draws, mean, deviation, skewness;

  Hypergeometric(std::uint64_t t, std::uint64_t s, std::uint64_t k)
      : trials(static_cast<double>(t)), successes(static_cast<double>(s)), draws(static_cast<double>(k)) {
    const double p = successes / trials;
    mean = draws * p;
    deviation = trials > 1 ? std::sqrt(draws * p * (1 - p) * (trials - draws) / (trials - 1)) : 0;
    skewness = deviation > 0 && trials > 2 ? (1 - 2 * p) * (1 - 2 * draws / trials) / deviation : 0;
  }

  // P(x + 1) / P(x).
  double ratio(double x) const {
    return (successes - x) * (draws - x) / ((x + 1) * (trials - successes - draws + x + 1));
  }
};

// f(x, probability) over the successes that matter, outwards from the mode to 1e-18 of its weight.
template <typename F>
void for_hypergeometric(const Hypergeometric& law, F&& f) {
  const double low = std::max(0.0, law.draws + law.successes - law.trials), high = std::min(law.draws, law.successes);
  const double mode = std::clamp(std::floor((law.draws + 1) * (law.successes + 1) / (law.trials + 2)), low, high);
  constexpr double kNegligible = 1e-18;
  double sum = 1, weight = 1;
  for (double x = mode; x < high && (weight *= law.ratio(x)) > kNegligible; ++x) sum += weight;
  weight = 1;
  for (double x = mode; x > low && (weight /= law.ratio(x - 1)) > kNegligible; --x) sum += weight;
  f(mode, 1 / sum);
  weight = 1;
  for (double x = mode; x < high && (weight *= law.ratio(x)) > kNegligible; ++x) f(x + 1, weight / sum);
  weight = 1;
  for (double x = mode; x > low && (weight /= law.ratio(x - 1)) > kNegligible; --x) f(x - 1, weight / sum);
}

double upper_normal(double z) { return 0.5 * std::erfc(z / std::numbers::sqrt2); }
double normal_density(double z) { return std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi); }

// P(X >= needed), with the first Edgeworth term.
double wide_tail(const Hypergeometric& law, double needed) {
  const double z = (needed - 0.5 - law.mean) / law.deviation;
  return std::clamp(upper_normal(z) + law.skewness / 6 * (z * z - 1) * normal_density(z), 0.0, 1.0);
}

// E[(X - at)+], of the normal law.
double wide_excess(const Hypergeometric& law, double at) {
  const double z = (at - law.mean) / law.deviation;
  return law.deviation * normal_density(z) - (at - law.mean) * upper_normal(z);
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
    std::vector<std::uint32_t> needs;
    for (const double tau : thresholds) needs.push_back(need(tau, draws));
    const double share = count, lift = prior ? prior->alpha : 0, whole = draws + (prior ? prior->alpha + prior->beta : 0);
    const Hypergeometric law(trials, successes, draws);
    if (law.deviation > kWideDeviation) {
      const double from = band_low * whole - lift, to = band_high * whole - lift;
      out.area += share * (wide_excess(law, from) - wide_excess(law, to)) / (to - from);
      for (std::size_t t = 0; t < needs.size(); ++t) out.coverage[t] += share * wide_tail(law, needs[t]);
      continue;
    }
    for_hypergeometric(law, [&](double x, double probability) {
      const double rate = (x + lift) / whole;
      out.area += share * probability * std::clamp((rate - band_low) / (band_high - band_low), 0.0, 1.0);
      for (std::size_t t = 0; t < needs.size(); ++t) {
        if (x >= needs[t]) out.coverage[t] += share * probability;
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
