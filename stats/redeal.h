// The re-deal law: all policies share each prompt's rate.
//
// Given every prompt's total S_i and the trials n_im, the counts are multivariate hypergeometric,
// independently over prompts. Exact: the probability that a policy, some policy or every policy covers a
// prompt, by dynamic programming over its policies; so the null means of C_m, C_orac and D, and the whole
// laws of D and C_orac, which are sums of independent indicators. Everything else from samples, of which one
// set serves every statistic and threshold.
//
// Empty: no prompt gives zero means. Thresholds in (0, 1].
// Threads: pure. Cost: exact, O(M * trials * S) a pattern and threshold; samples, 2-4 ns a cell and
// replicate. Memory: O(B * thresholds) for samples; tables at most kTableBytes a pattern. Source:
// statistics.md section 5.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/executor.h"
#include "stats/null_classes.h"
#include "stats/null_scores.h"
#include "stats/poisson_binomial.h"

namespace gapwatch::stats {

// Of one prompt: probabilities that it is covered.
struct CoverProbabilities {
  std::vector<double> policy;  // by policy
  double any = 0, all = 0;
};

// Cost estimate of the exact probabilities of a pattern (multiplications a threshold).
double redeal_exact_cost(const TrialPattern& pattern);

// By total: out[k] for successes[k], each at most pattern.total.
std::vector<CoverProbabilities> redeal_cover_probabilities(const TrialPattern& pattern,
                                                           std::span<const std::uint64_t> successes,
                                                           double tau);

struct RedealExact {
  double mean_oracle = 0, mean_disagreement = 0;
  std::vector<double> mean_policy;       // C_m
  PoissonBinomial oracle, disagreement;  // of prompt counts
};

RedealExact redeal_exact(const PromptClasses& classes, double tau, Executor& executor);

// Statistics of B simulated tables: [threshold][replicate].
struct NullSamples {
  std::vector<std::vector<std::int64_t>> gap, disagreement, oracle_minus_mixture, rise, oracle, best;
  std::vector<std::int64_t> pass_at_1_gap;  // [replicate]

  NullSamples(std::size_t thresholds, std::size_t replicates);
  void put(std::size_t replicate, const TableStatistics& statistics);
};

NullSamples sample_redeal(const PromptClasses& classes, const ScoreSpec& spec, std::uint32_t replicates,
                          std::uint64_t seed, Executor& executor);

}  // namespace gapwatch::stats
