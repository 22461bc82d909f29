// A table held against both null laws: what of the gaps chance alone gives.
//
// Re-deal: given each prompt's successes, the policies' counts are multivariate hypergeometric (all policies
// share the prompt's rate). Margin-preserving: given every prompt's and every policy's successes,
// P(counts) is proportional to the product of C(trials, successes) (rates differ by prompt and by policy, and
// only so, on the logit scale). For each law and threshold: L, D, rise; for each law the Pass@1 oracle gap;
// for the re-deal the oracle minus the mixture.
//
// How a number was reached is in NullComparison::method:
//   "exact"        Poisson-binomial or constant: no samples
//   "monte-carlo"  samples of the law itself; p = (1 + #) / (1 + B), ties by integer counts
//   "gaussian"     normal law with exact moments of the prompt sums (large tables)
// The size decides, or Options; docs/NULLS.md has the errors of each.
//
// Empty: with no prompt or no policy every comparison is absent. With one policy, or with nothing but
// degenerate prompts, the law is a single point: observed = mean, p = 1, "exact".
// Threads: pure; the work is split over `executor` and the result does not depend on its threads.
// Cost: sampled, about N * M * B * 5 ns (re-deal) and three times that (margin); else a few passes over the
// table. Replicates are reduced where even that would take more than some seconds (samples says how many
// were made). Memory: O(N * M + B * M * thresholds).
// Source: statistics.md section 5; sequential.md F, G.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/executor.h"
#include "stats/count_table.h"
#include "stats/evaluation.h"

namespace gapwatch::stats {

enum class NullRoute {
  kAuto,      // by size
  kSampled,   // Monte Carlo of the law itself, at any size
  kGaussian,  // exact moments where they can be had, at any size
};

struct NullOptions {
  std::uint32_t replicates = 2'000;  // null samples B, at least 1
  std::uint32_t bootstrap = 400;     // bootstrap replicates of the excess interval; 0: none
  double interval_level = 0.95;
  std::uint64_t seed = 1;
  NullRoute redeal = NullRoute::kAuto;
  NullRoute margin = NullRoute::kAuto;
};

struct ThresholdComparison {
  double tau = 0;
  BothNulls gap;                                       // L
  BothNulls disagreement;                              // D
  std::optional<NullComparison> oracle_minus_mixture;  // re-deal only
  BothNulls rise;  // L of the pool minus the mean L over pairs; only where sampled and M >= 2
};

struct NullResults {
  std::vector<ThresholdComparison> thresholds;  // as given
  BothNulls pass_at_1_gap;
  ChainReport chain;
};

// `table` holds the rows that count (see complete_rows): a cell without trials never covers. Thresholds lie
// in (0, 1].
NullResults compare_with_nulls(const CountTable& table, std::span<const double> thresholds,
                               const NullOptions& options, Executor& executor);

}  // namespace gapwatch::stats
