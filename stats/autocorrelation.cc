#include "stats/autocorrelation.h"

#include <algorithm>

namespace gapwatch::stats {
namespace {

constexpr std::size_t kMaxLag = 32;

}  // namespace

std::vector<double> autocorrelation(std::span<const std::int64_t> series, double mean) {
  std::vector<double> out;
  for (std::size_t lag = 0; lag <= kMaxLag && lag + 1 < series.size(); ++lag) {
    double sum = 0;
    for (std::size_t k = 0; k + lag < series.size(); ++k) {
      sum += (static_cast<double>(series[k]) - mean) * (static_cast<double>(series[k + lag]) - mean);
    }
    out.push_back(sum);
  }
  if (out.empty() || out[0] <= 0) return {};
  for (std::size_t lag = out.size(); lag-- > 0;) out[lag] /= out[0];
  return out;
}

double mean_of(std::span<const std::int64_t> series) {
  double sum = 0;
  for (const auto x : series) sum += static_cast<double>(x);
  return sum / static_cast<double>(series.size());
}

double autocorrelation_time(std::span<const std::int64_t> samples, std::size_t chains) {
  const double mean = mean_of(samples);
  const std::size_t length = samples.size() / chains;
  std::vector<double> sum;
  for (std::size_t k = 0; k < chains; ++k) {
    const auto one = autocorrelation(samples.subspan(k * length, length), mean);
    if (one.empty()) continue;
    sum.resize(std::max(sum.size(), one.size()), 0.0);
    for (std::size_t lag = 0; lag < one.size(); ++lag) sum[lag] += one[lag];
  }
  double time = 1;
  for (std::size_t lag = 1; lag + 1 < sum.size(); lag += 2) {
    const double pair = (sum[lag] + sum[lag + 1]) / sum[0];
    if (pair <= 0) break;
    time += 2 * pair;
  }
  return time;
}

}  // namespace gapwatch::stats
