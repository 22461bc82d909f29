#include "stats/evidence_family.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gapwatch::stats {

namespace {

std::vector<std::size_t> ascending(std::span<const double> log_e) {
  std::vector<std::size_t> order(log_e.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return log_e[a] < log_e[b]; });
  return order;
}

double log_add(double a, double b) {
  const double most = std::max(a, b);
  return std::isinf(most) ? most : most + std::log(std::exp(a - most) + std::exp(b - most));
}

}  // namespace

std::vector<double> closed_average(std::span<const double> log_e) {
  const auto order = ascending(log_e);
  std::vector<double> adjusted(log_e.begin(), log_e.end());
  for (std::size_t i = 0; i < log_e.size(); ++i) {
    // The set with the smallest mean holds i and the smallest of the others.
    double sum = log_e[i];
    double size = 1;
    for (const auto other : order) {
      if (other == i) continue;
      sum = log_add(sum, log_e[other]);
      adjusted[i] = std::min(adjusted[i], sum - std::log(++size));
    }
  }
  return adjusted;
}

std::vector<double> e_benjamini_hochberg(std::span<const double> log_e) {
  const auto order = ascending(log_e);
  const double family = static_cast<double>(log_e.size());
  std::vector<double> adjusted(log_e.size());
  // With the k-th largest comes everything larger.
  double best = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < order.size(); ++i) {
    const double k = family - static_cast<double>(i);
    best = std::max(best, log_e[order[i]] + std::log(k / family));
    adjusted[order[i]] = best;
  }
  return adjusted;
}

}  // namespace gapwatch::stats
