#include "stats/policy_levels.h"

#include <algorithm>

namespace gapwatch::stats {

std::vector<double> policy_levels(const CountTable& table) {
  const std::size_t policies = table.pool_size();
  std::vector<double> score(policies, 0), information(policies, 0);
  for (std::size_t i = 0; i < table.prompt_count(); ++i) {
    double trials = 0, successes = 0;
    for (const auto cell : table.row(i)) trials += cell.trials, successes += cell.successes;
    if (trials < 2 || successes <= 0 || successes >= trials) continue;
    const double variance = successes * (trials - successes) / (trials * trials * (trials - 1));
    for (std::size_t m = 0; m < policies; ++m) {
      const double n = table.row(i)[m].trials;
      score[m] += table.row(i)[m].successes - n * successes / trials;
      information[m] += variance * n * (trials - n);
    }
  }
  std::vector<double> levels(policies, 0);
  double spread = 0, error = 0, counted = 0;
  for (std::size_t m = 0; m < policies; ++m) {
    if (information[m] <= 0) continue;
    levels[m] = score[m] / information[m];
    spread += levels[m] * levels[m];
    error += 1 / information[m];
    ++counted;
  }
  if (counted < 2 || spread <= 0) return std::vector<double>(policies, 0);
  // A policy's step holds it against the others, which it is one of: M / (M - 1) times its level against all.
  const double own = (counted - 1) / counted;
  const double keep = std::max(0.0, 1 - error / spread) * own;
  double mean = 0;
  for (double& level : levels) mean += (level *= keep) / static_cast<double>(policies);
  for (double& level : levels) level = std::clamp(level - mean, -3.0, 3.0);
  return levels;
}

}  // namespace gapwatch::stats
