// Split-half: choose the policy on one half of the trials, score it on the other.
//
// Per cell the choosing half is floor(n/2) of the n trials, at random: its successes are hypergeometric in the
// counts, so no draws are needed. Per prompt the policy with the highest rate on the choosing half is chosen,
// ties averaged over, and it covers when its scoring half has at least need(tau, n - floor(n/2)) successes.
// `honest` is the exact expectation of that coverage (on tables where that would cost more than some 10^10 operations, its mean over
// the splits: `honest_exact`). The comparator is one policy for all prompts: the best
// on the choosing half (matched) or the best on the scoring half, both scored on the scoring half; a maximum
// over policies has no short exact form, so its expectation is over `replicates` seeded splits.
//
//   matched      = honest - E[scoring-half coverage of the best policy of the choosing half]
//   scoring_half = honest - E[best scoring-half coverage]
//
// Near or below 0: the oracle's lead does not survive fresh draws. What it does not say: that policies are
// equal (half the trials choose worse than all of them would).
// A cell with one trial cannot be split: such prompts are left out, and `prompts` says how many remain.
// No prompt: all absent. Threads: pure, the same for any number of them.
// Cost: honest: prompts x (distinct rates) x M^2 / 2; comparators: prompts x M x replicates x 5 ns.
// Source: statistics.md section 5.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/executor.h"
#include "stats/running.h"

namespace gapwatch::stats {

struct SplitHalfOptions {
  std::uint32_t replicates = 400;  // at least 1; fewer are made where cells x replicates would pass 10^8, at least 20
  std::uint64_t seed = 1;
};

struct SplitHalfResult {
  double tau = 0;
  std::int64_t prompts = 0;
  Number honest, matched, scoring_half;
  bool honest_exact = true;
  Number matched_error, scoring_half_error;  // standard errors over the splits; absent for one replicate
};

// By threshold.
std::vector<SplitHalfResult> split_half(const CountTable& table, std::span<const double> thresholds,
                                        const SplitHalfOptions& options, Executor& executor);

// The exact part alone. `first`: ties go to the first policy by name, as the papers have it, instead of being averaged.
Number split_half_honest(const CountTable& table, double tau, bool first = false);

}  // namespace gapwatch::stats
