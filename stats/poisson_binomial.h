// PoissonBinomial: the law of a sum of independent indicators, exactly.
//
// Built from groups of `count` indicators with one probability each. The mass function is kept where it
// exceeds 1e-300 for sums of up to kExactWidth indicators; for longer ones the ends with less than 1e-18 of
// mass are dropped at each merge, so tails below 1e-16 read as zero there.
//
// Empty: the point 0. Probabilities in [0, 1].
// Threads: const access is safe to share. Cost: convolutions of a balanced tree, O(n * s) with s the standard
// deviation of the sum for long ones.
// Source: statistics.md section 5 (D and C_orac under the re-deal).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace gapwatch::stats {

class PoissonBinomial {
 public:
  struct Group {
    double probability = 0;
    std::uint64_t count = 0;
  };
  static constexpr std::uint64_t kExactWidth = 4096;

  PoissonBinomial() : PoissonBinomial(std::span<const Group>{}) {}
  explicit PoissonBinomial(std::span<const Group> groups);

  double mean() const { return mean_; }
  double variance() const { return variance_; }
  double probability(std::int64_t sum) const;
  double upper(std::int64_t sum) const;  // P(X >= sum)
  double lower(std::int64_t sum) const;  // P(X <= sum)
  // The smallest value whose lower tail is at least `level` in (0, 1).
  std::int64_t quantile(double level) const;

 private:
  std::int64_t first_ = 0;  // the sum of mass_[0]
  std::vector<double> mass_;
  double mean_ = 0, variance_ = 0;
};

}  // namespace gapwatch::stats
