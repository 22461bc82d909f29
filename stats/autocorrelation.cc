#include "stats/autocorrelation.h"

#include <algorithm>

namespace gapwatch::stats {

Autocorrelation::Autocorrelation(std::span<const std::int64_t> samples, std::size_t chains) {
  constexpr std::size_t kMaxLag = 32;
  const std::size_t length = samples.size() / chains;
  if (length < 2) return;
  max_lag_ = std::min(kMaxLag, length - 2);
  for (const auto x : samples) mean_ += static_cast<double>(x);
  mean_ /= static_cast<double>(samples.size());
  for (std::size_t k = 0; k < chains; ++k) {
    const auto part = samples.subspan(k * length, length);
    if (const double variance = covariance(part, 0); variance > 0) parts_.push_back({part, variance});
  }
}

double Autocorrelation::at(std::size_t lag) const {
  double sum = 0;
  for (const auto& part : parts_) sum += covariance(part.samples, lag) / part.variance;
  return sum / static_cast<double>(parts_.size());
}

double Autocorrelation::covariance(std::span<const std::int64_t> samples, std::size_t lag) const {
  double sum = 0;
  for (std::size_t k = 0; k + lag < samples.size(); ++k) {
    sum += (static_cast<double>(samples[k]) - mean_) * (static_cast<double>(samples[k + lag]) - mean_);
  }
  return sum;
}

double autocorrelation_time(std::span<const std::int64_t> samples, std::size_t chains) {
  const Autocorrelation correlation(samples, chains);
  double time = 1;
  for (std::size_t lag = 1; !correlation.constant() && lag + 1 <= correlation.max_lag(); lag += 2) {
    const double pair = correlation.at(lag) + correlation.at(lag + 1);
    if (pair <= 0) break;
    time += 2 * pair;
  }
  return time;
}

}  // namespace gapwatch::stats
