// How much the samples of chains depend on those before.
//
// Threads: pure. Cost: a pass over the samples for each lag asked for.
// Source: statistics.md section 5 (burn-in and thinning by measured autocorrelation).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gapwatch::stats {

// Of the samples of `chains` chains, one after the other and of one length, about their common mean.
class Autocorrelation {
 public:
  Autocorrelation(std::span<const std::int64_t> samples, std::size_t chains);
  // Every chain stood still: there is none.
  bool constant() const { return parts_.empty(); }
  std::size_t max_lag() const { return max_lag_; }  // at most 32
  double at(std::size_t lag) const;                 // the mean over the chains that moved

 private:
  struct Part {
    std::span<const std::int64_t> samples;
    double variance;
  };
  double covariance(std::span<const std::int64_t> samples, std::size_t lag) const;
  double mean_ = 0;
  std::size_t max_lag_ = 0;
  std::vector<Part> parts_;
};

// 1 + 2 sum of autocorrelations, up to the first pair that is not positive.
double autocorrelation_time(std::span<const std::int64_t> samples, std::size_t chains);

}  // namespace gapwatch::stats
