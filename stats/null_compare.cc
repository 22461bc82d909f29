#include "stats/null_compare.h"

#include <algorithm>
#include <cmath>

namespace gapwatch::stats {
namespace {

constexpr double kLow = 0.05, kHigh = 0.95;

// The index of the smallest of `count` ascending values below or at which a share `level` lies.
std::size_t quantile_index(std::size_t count, double level) {
  const double place = std::ceil(level * static_cast<double>(count) - 1e-9);
  return static_cast<std::size_t>(std::max(1.0, place)) - 1;
}

// The values that nth_element would put at two places of the ascending order, low <= high. Statistics are whole numbers of
// few values, so mostly they are counted.
std::pair<std::int64_t, std::int64_t> two_of_ordered(std::span<const std::int64_t> samples, std::size_t low, std::size_t high) {
  const auto [least, most] = std::ranges::minmax(samples);
  const auto range = static_cast<std::uint64_t>(most) - static_cast<std::uint64_t>(least);
  if (range > 2 * samples.size()) {
    std::vector<std::int64_t> ordered(samples.begin(), samples.end());
    const auto first = ordered.begin() + static_cast<std::ptrdiff_t>(low), second = ordered.begin() + static_cast<std::ptrdiff_t>(high);
    std::nth_element(ordered.begin(), second, ordered.end());
    const auto at_high = *second;
    std::nth_element(ordered.begin(), first, second);
    return {*first, at_high};
  }
  std::vector<std::uint32_t> counts(range + 1, 0);
  for (const auto x : samples) ++counts[static_cast<std::size_t>(x - least)];
  std::size_t below = 0, value = 0;
  const auto walk_to = [&](std::size_t place) {
    while (below + counts[value] <= place) below += counts[value++];
    return least + static_cast<std::int64_t>(value);
  };
  const auto at_low = walk_to(low);
  return {at_low, walk_to(high)};
}

// 1 + of both counts and of the total: a Monte Carlo p-value is never zero.
double tail(std::size_t hits, std::size_t of) {
  return (1 + static_cast<double>(hits)) / (1 + static_cast<double>(of));
}

}  // namespace

NullComparison compare_with_point(double observed) {
  NullComparison out;
  out.observed = out.mean = out.p05 = out.p95 = observed;
  out.excess_interval = Interval{0, 0};
  out.method = "exact";
  return out;
}

NullComparison compare_with_samples(std::int64_t observed, std::span<const std::int64_t> samples,
                                    double scale, std::int64_t tolerance) {
  NullComparison out;
  out.method = "monte-carlo";
  out.samples = samples.size();
  out.observed = static_cast<double>(observed) / scale;
  long double sum = 0;
  std::size_t upper = 0, lower = 0;
  for (const auto x : samples) {
    sum += static_cast<long double>(x);
    upper += x >= observed - tolerance;
    lower += x <= observed + tolerance;
  }
  out.mean = static_cast<double>(sum / static_cast<long double>(samples.size())) / scale;
  const auto [low, high] =
      two_of_ordered(samples, quantile_index(samples.size(), kLow), quantile_index(samples.size(), kHigh));
  out.p05 = static_cast<double>(low) / scale;
  out.p95 = static_cast<double>(high) / scale;
  out.p_upper = tail(upper, samples.size());
  out.p_lower = tail(lower, samples.size());
  out.fraction_upper = static_cast<double>(upper) / static_cast<double>(samples.size());
  out.fraction_lower = static_cast<double>(lower) / static_cast<double>(samples.size());
  out.excess = out.observed - out.mean;
  return out;
}

NullComparison compare_with_indicators(std::int64_t observed, const PoissonBinomial& law, std::int64_t shift,
                                       double scale) {
  NullComparison out;
  out.method = "exact";
  out.observed = static_cast<double>(observed) / scale;
  out.mean = (law.mean() - static_cast<double>(shift)) / scale;
  out.p05 = static_cast<double>(law.quantile(kLow) - shift) / scale;
  out.p95 = static_cast<double>(law.quantile(kHigh) - shift) / scale;
  out.p_upper = out.fraction_upper = law.upper(observed + shift);
  out.p_lower = out.fraction_lower = law.lower(observed + shift);
  out.excess = out.observed - out.mean;
  return out;
}

NullComparison compare_with_draws(double observed, std::span<const double> draws, double scale,
                                  bool lattice) {
  NullComparison out;
  out.method = "gaussian";
  out.observed = observed / scale;
  double sum = 0;
  for (const double x : draws) sum += x;
  const auto value = [&](double x) { return std::max(0.0, lattice ? std::round(x) : x) / scale; };
  out.mean = std::max(0.0, sum / static_cast<double>(draws.size())) / scale;
  out.p05 = value(draws[quantile_index(draws.size(), kLow)]);
  out.p95 = value(draws[quantile_index(draws.size(), kHigh)]);
  const double half = lattice ? 0.5 : 0;
  const auto upper =
      static_cast<std::size_t>(draws.end() - std::lower_bound(draws.begin(), draws.end(), observed - half));
  const auto lower =
      static_cast<std::size_t>(std::upper_bound(draws.begin(), draws.end(), observed + half) - draws.begin());
  out.p_upper = out.fraction_upper = observed <= 0 ? 1 : tail(upper, draws.size());
  out.p_lower = out.fraction_lower = tail(lower, draws.size());
  out.excess = out.observed - out.mean;
  return out;
}

NullComparison compare_with_normal(double observed, double mean, double variance, double scale) {
  NullComparison out;
  out.method = "gaussian";
  out.observed = observed / scale;
  out.mean = std::clamp(mean, 0.0, scale) / scale;
  out.excess = out.observed - out.mean;
  const double sd = std::sqrt(std::max(0.0, variance));
  constexpr double kNormal95 = 1.6448536269514722;
  out.p05 = std::clamp(std::round(mean - kNormal95 * sd), 0.0, scale) / scale;
  out.p95 = std::clamp(std::round(mean + kNormal95 * sd), 0.0, scale) / scale;
  const auto upper_tail = [&](double x) {
    if (sd == 0) return x <= mean ? 1.0 : 0.0;
    return 0.5 * std::erfc((x - mean) / (sd * std::sqrt(2.0)));
  };
  out.p_upper = out.fraction_upper = upper_tail(observed - 0.5);
  out.p_lower = out.fraction_lower =
      sd == 0 ? (mean <= observed + 0.5 ? 1.0 : 0.0) : 1 - upper_tail(observed + 0.5);
  return out;
}

}  // namespace gapwatch::stats
