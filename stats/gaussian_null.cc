#include "stats/gaussian_null.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"
#include "stats/null_linear.h"

namespace gapwatch::stats {
namespace {

constexpr double kFeasibleCost = 4e9;

double pattern_cost(const TrialPattern& pattern, std::size_t totals, std::size_t thresholds) {
  const double pool = static_cast<double>(pattern.trials.size()), total = static_cast<double>(pattern.total);
  const double trials = total / pool + 1, depth = std::log2(pool) + 1;
  const double product = total * trials / 2, taus = static_cast<double>(thresholds);
  std::vector<std::uint32_t> kinds = pattern.trials;
  std::sort(kinds.begin(), kinds.end());
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  const double levels = std::accumulate(kinds.begin(), kinds.end(), 2.0);
  return pool * pool / 2 * depth * product +
         pool * pool * (1.5 * taus + 0.5) * static_cast<double>(totals) * 2 * trials +
         (levels + 2 * taus) * pool * (depth * product + static_cast<double>(totals) * 2 * trials) +
         pool * pool * static_cast<double>(totals) * (taus + 3) * 8;
}

}  // namespace

double moments_cost(const PromptClasses& classes, std::size_t thresholds) {
  const auto first = first_classes(classes);
  double cost = 0;
  for (std::size_t p = 0; p < classes.patterns.size(); ++p) {
    cost += pattern_cost(classes.patterns[p], first[p + 1] - first[p], thresholds);
  }
  return cost;
}

bool moments_feasible(const PromptClasses& classes, std::size_t thresholds) {
  constexpr double kMostBytes = 512e6;
  const double pool = static_cast<double>(classes.pool_size);
  const double bytes = static_cast<double>(classes.classes.size()) * pool * pool * 8 *
                       (2 * static_cast<double>(thresholds) + 3);
  return bytes <= kMostBytes && moments_cost(classes, thresholds) <= kFeasibleCost;
}

std::vector<PromptMoments> class_moments(const PromptClasses& classes, std::span<const double> thresholds,
                                         std::span<const double> log_weights, MomentSet set,
                                         Executor& executor) {
  std::vector<PromptMoments> out(classes.classes.size());
  const auto first = first_classes(classes);
  executor.run(classes.patterns.size(), [&](std::size_t p) {
    std::vector<std::uint64_t> totals;
    std::vector<std::size_t> where;
    for (auto k = first[p]; k < first[p + 1]; ++k) {
      if (classes.degenerate(classes.classes[k])) continue;
      totals.push_back(classes.classes[k].successes);
      where.push_back(k);
    }
    auto found = prompt_moments(classes.patterns[p], totals, thresholds, log_weights, set);
    for (std::size_t k = 0; k < where.size(); ++k) out[where[k]] = std::move(found[k]);
  });
  return out;
}

namespace {

// A policy's least and largest possible total over the informative prompts.
std::pair<std::uint64_t, std::uint64_t> possible_total(const PromptClasses& classes, std::size_t policy) {
  std::uint64_t low = 0, high = 0;
  for (const auto& c : classes.classes) {
    if (classes.degenerate(c)) continue;
    const std::uint64_t n = classes.pattern_of(c).trials[policy], rest = classes.pattern_of(c).total - n;
    low += c.prompts * (c.successes > rest ? c.successes - rest : 0);
    high += c.prompts * std::min(n, c.successes);
  }
  return {low, high};
}

}  // namespace

std::optional<MarginTilt> fit_margin_tilt(const PromptClasses& classes, std::span<const std::uint64_t> totals,
                                          Executor& executor) {
  const std::size_t pool = classes.pool_size;
  MarginTilt tilt{std::vector<double>(pool, 0.0), 0};
  std::vector<char> free(pool, 1);
  for (std::size_t m = 0; m < pool; ++m) {
    const auto [low, high] = possible_total(classes, m);
    if (low == high) continue;
    const double share = (static_cast<double>(totals[m] - low) + 0.5) / (static_cast<double>(high - low) + 1);
    tilt.log_weights[m] = std::log(share / (1 - share));
    if (totals[m] == low || totals[m] == high) {
      tilt.log_weights[m] = totals[m] == low ? -kTiltBoundary : kTiltBoundary;
      free[m] = 0;
    }
  }
  constexpr int kMostSteps = 60;
  for (; tilt.steps < kMostSteps; ++tilt.steps) {
    const auto moments = class_moments(classes, {}, tilt.log_weights, MomentSet::kCountsOnly, executor);
    std::vector<double> residual(totals.begin(), totals.end());
    Matrix covariance(pool * pool, 0.0);
    for (std::size_t k = 0; k < moments.size(); ++k) {
      if (moments[k].count_mean.empty()) continue;
      const double prompts = static_cast<double>(classes.classes[k].prompts);
      for (std::size_t m = 0; m < pool; ++m) residual[m] -= prompts * moments[k].count_mean[m];
      for (std::size_t e = 0; e < covariance.size(); ++e)
        covariance[e] += prompts * moments[k].count_covariance[e];
    }
    double worst = 0;
    for (std::size_t m = 0; m < pool; ++m) {
      if (free[m]) worst = std::max(worst, std::abs(residual[m]) / (1 + std::sqrt(covariance[m * pool + m])));
      if (free[m]) continue;
      residual[m] = 0;
      for (std::size_t l = 0; l < pool; ++l) covariance[m * pool + l] = covariance[l * pool + m] = 0;
    }
    if (!std::isfinite(worst)) return std::nullopt;
    if (worst < 1e-7) return tilt;
    const std::vector<double> step = Cholesky(covariance, pool).solve(residual);
    for (std::size_t m = 0; m < pool; ++m) tilt.log_weights[m] += std::clamp(step[m], -2.0, 2.0);
  }
  return std::nullopt;
}

NormalVector condition_on_totals(const VectorMoments& sums, std::span<const double> count_mean,
                                 const Matrix& count_covariance, std::span<const double> totals) {
  const std::size_t pool = count_mean.size(), size = sums.mean.size();
  const Cholesky counts(count_covariance, pool);
  NormalVector out{sums.mean, sums.covariance};
  std::vector<double> distance(pool);
  for (std::size_t l = 0; l < pool; ++l) distance[l] = totals[l] - count_mean[l];
  for (std::size_t m = 0; m < size; ++m) {
    const std::span<const double> row(sums.with_counts.data() + m * pool, pool);
    const std::vector<double> weights = counts.solve(row);
    for (std::size_t l = 0; l < pool; ++l) out.mean[m] += weights[l] * distance[l];
    for (std::size_t j = 0; j < size; ++j) {
      for (std::size_t l = 0; l < pool; ++l) {
        out.covariance[m * size + j] -= weights[l] * sums.with_counts[j * pool + l];
      }
    }
  }
  return out;
}

std::vector<double> minimum_draws(const NormalVector& law, std::size_t draws) {
  constexpr std::uint64_t kSeed = 0x6761757373;
  const std::size_t size = law.mean.size();
  const Cholesky root(law.covariance, size);
  std::vector<double> out, normals(size), value(size);
  CounterRandom random(kSeed);
  for (std::size_t k = 0; k < draws; k += 2) {
    for (double& z : normals) z = normal(random);
    root.multiply(normals, value);
    double plus = 0, minus = 0;
    for (std::size_t m = 0; m < size; ++m) {
      plus = m == 0 ? law.mean[m] + value[m] : std::min(plus, law.mean[m] + value[m]);
      minus = m == 0 ? law.mean[m] - value[m] : std::min(minus, law.mean[m] - value[m]);
    }
    out.push_back(plus);
    out.push_back(minus);
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace gapwatch::stats
