// Intervals by nested bootstrap: of the noise share and of each policy's Pass@1.
//
// A replicate draws N prompts with replacement and, in each drawn cell, a rate from its Beta posterior; the
// statistic is computed on those rates with the comparator chosen anew (the best single policy). For the paired
// coupling a drawn prompt keeps how far its paired union lies from its product union. Rates drawn again around
// noisy rates are noisier still, which lifts every maximum: replicates of the noise share and the premium lie to one
// side of the estimate. Their spread is what is wanted of them, so the (1-level)/2 and (1+level)/2 quantiles are
// taken by their distance from the replicates' mean and laid around the estimate, within [0, 1]. The bias of the
// estimate itself (the ceiling is too high, the share too low, while draws are few) is not in the interval.
// An interval of Pass@1 is between the quantiles themselves. Replicates where the share is undefined are left out;
// with fewer than half of them left, or no share in the table, there is no interval. Give the pool's own fitted
// prior: a flat one lifts every dead cell.
//
// On tables of more than kMostBootstrapCells cells a replicate draws only as many prompts as that allows, and
// distances from the replicates' mean shrink by the square root of the share drawn.
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
