// Member spread: the range of the policies' coverage, max C_m - min C_m, against shuffled labels.
//
// The test shuffles the cells of every prompt among the policies: if labels mean nothing, the observed spread is
// one of many alike. Exact in distribution with equal trials; with uneven ones the policies are not exchangeable
// and the test is approximate (`approximate`). What it does not say: that a wide spread is specialisation; a
// policy that is better everywhere spreads as well.
//
// No row: absent. Threads: pure, the same for any number of them. Cost: N x M x replicates x 2 ns per threshold.
// Source: statistics.md section 5; [OG].
#pragma once

#include <cstdint>
#include <optional>

#include "base/executor.h"
#include "stats/running.h"

namespace gapwatch::stats {

struct MemberSpread {
  double tau = 0;
  double observed = 0, mean = 0, p05 = 0, p95 = 0;
  double p_upper = 1, p_lower = 1;                // (1 + #) / (1 + B)
  double fraction_upper = 1, fraction_lower = 1;  // # / B
  std::uint64_t samples = 0;
  bool approximate = false;
};

struct SpreadOptions {
  std::uint32_t replicates = 1'000;
  std::uint64_t seed = 1;
};
std::optional<MemberSpread> member_spread(const CountTable& table, double tau, const SpreadOptions& options,
                                          Executor& executor);

}  // namespace gapwatch::stats
