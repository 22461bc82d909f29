// Exact moments of one prompt under either null law, by generating functions.
//
// F_m(z) = sum_c C(n_m, c) w_m^c z^c; a probability or expectation given the prompt's total S is the
// coefficient of z^S in the product of all F, with one or two of them replaced, over that of the product as
// it is. All w = 1 is the re-deal. Products start from binomial masses at a rate near the prompts' own, so
// nothing overflows.
//
// X_m below is 1{some policy covers, m does not} for L, and max_l p_l - p_m for the Pass@1 gap.
//
// Threads: pure. Cost: M^2 (log M * T * n + thresholds * totals * n) multiplications a pattern, T = M n.
// Source: sequential.md F and G.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stats/null_classes.h"

namespace gapwatch::stats {

// Symmetric M x M and general M x M matrices, row by row.
using Matrix = std::vector<double>;

// Moments of one prompt, or their sums over prompts. E is expectation, X as above, c the counts.
struct VectorMoments {
  std::vector<double> mean;  // E X_m
  Matrix covariance;         // Cov(X_m, X_l)
  Matrix with_counts;        // Cov(X_m, c_l)
};

struct PromptMoments {
  std::vector<double> count_mean;  // E c_m
  Matrix count_covariance;         // Cov(c_m, c_l)
  std::vector<VectorMoments> gap;  // by threshold
  std::vector<double> oracle;      // P(some policy covers), by threshold
  // D = 1{some policy covers} - 1{all cover}, by threshold.
  std::vector<double> disagreement, disagreement_variance;
  std::vector<std::vector<double>> disagreement_with_counts;  // Cov(D, c_l)
  VectorMoments pass_at_1;
};

enum class MomentSet { kCountsOnly, kAll };

// By total: out[k] for successes[k]. `log_weights` by policy, empty for the re-deal.
std::vector<PromptMoments> prompt_moments(const TrialPattern& pattern,
                                          std::span<const std::uint64_t> successes,
                                          std::span<const double> thresholds,
                                          std::span<const double> log_weights, MomentSet set);

}  // namespace gapwatch::stats
