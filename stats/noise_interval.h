// Intervals by nested bootstrap: of the noise share and of each policy's Pass@1.
//
// A replicate draws N prompts with replacement and, in each drawn cell, a rate from its Beta posterior; the
// statistic is computed on those rates with the comparator chosen anew (the best single policy). The interval is
// between the (1-level)/2 and (1+level)/2 quantiles of the replicates; replicates where the share is undefined
// are left out, and with fewer than half of them left there is no interval. For the paired coupling a drawn
// prompt keeps how far its paired union lies from its product union.
// The prior decides where the replicates lie: posterior rates are never 0 or 1, and a flat prior lifts every
// dead cell, so that its interval can exclude the estimate. Give the pool's own fitted prior.
//
// On tables of more than kMostBootstrapCells cells a replicate draws only as many prompts as that allows, and the
// interval's distances from the replicates' mean shrink by the square root of the share drawn.
//
// No row: absent. Threads: pure, the same for any number of them. Cost: cells x replicates x 60 ns.
// Source: statistics.md section 4; [RG].
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/executor.h"
#include "stats/draw_set.h"
#include "stats/rates.h"

namespace gapwatch::stats {

inline constexpr std::size_t kMostBootstrapCells = 20'000;

struct NestedBootstrap {
  BetaPrior prior{};
  std::uint32_t replicates = 400;
  double level = 0.95;
  std::uint64_t seed = 1;
};

struct NoiseIntervals {
  std::optional<Interval> noise_share;               // product coupling, best single policy
  std::optional<Interval> noise_share_paired;        // absent without `paired`
  std::optional<Interval> premium;
  std::vector<std::optional<Interval>> pass_at_1;    // by policy
};
// `paired` has every prompt's aligned draws, each with some; or is empty.
NoiseIntervals noise_intervals(const CountTable& table, std::span<const PairedCount> paired,
                               const NestedBootstrap& options, Executor& executor);

}  // namespace gapwatch::stats
