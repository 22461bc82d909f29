// The tests whose power is asked for, on one table: upper tails of
//   L at one threshold, and the Pass@1 oracle gap, each under the re-deal and under the margin-preserving law;
//   X2 = sum over cells of (s - n S/T)^2 / (v n (T - n)), v = S (T - S) / (T^2 (T - 1)), under the re-deal: no
//   threshold, every difference between policies counts, of quality as well.
// Tests under the re-deal also find differences of quality alone; only the margin law looks past those.
//
// L and Pass@1 are compare_with_nulls() as reports have it, without bootstrap: sampled while the table is small,
// by exact moments where N >= 2,000 and trials are equal. X2 is sampled. A sampled p is (1 + #)/(1 + B), so that
// with alpha (1 + B) whole the test of independent samples has level alpha at most. Samples that tie with the observed
// count against it in full; L counts prompts and ties often, so its size stays below alpha. The mid-p value counts
// them by half: no level is guaranteed, and what it lacks to alpha is not for ties.
//
// Empty: without a prompt that could turn out otherwise every p is 1. Threads: pure. Cost: N * M * B * 10 ns
// (X2 and re-deal) and 10 to 150 ns a margin move; see power_cost. Source: statistics.md 5; sequential.md C (X2).
#pragma once

#include <array>
#include <cstdint>

#include "stats/count_table.h"

namespace gapwatch::stats {

enum class PowerTest { kGapRedeal, kGapMargin, kPassAt1Redeal, kPassAt1Margin, kHeterogeneity };
inline constexpr std::size_t kPowerTests = 5;
// "gap under re-deal", ...
const char* power_test_name(PowerTest test);

struct PowerPValue {
  double p = 1, mid = 1;
};
using PowerPValues = std::array<PowerPValue, kPowerTests>;  // by PowerTest

// `table` holds complete rows; tau in (0, 1]; replicates at least 1.
PowerPValues power_p_values(const CountTable& table, double tau, std::uint32_t replicates, std::uint64_t seed);

// The last of them alone.
PowerPValue heterogeneity_p_value(const CountTable& table, std::uint32_t replicates, std::uint64_t seed);

}  // namespace gapwatch::stats
