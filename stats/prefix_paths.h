// Finite-k paths: union, ceiling and premium on the first k aligned draws of every prompt.
//
// Shows how much of a gap is bought by drawing more: with k = 1 union and ceiling are the same by construction,
// and the premium grows towards its limit. A prompt counts at k when it has at least k draws judged for every policy; draws
// are taken in order of their index, or in the order that a permutation of 0..k_max-1 says. What it does not
// say: the value at k = infinity.
//
// No prompt with k draws: `prompts` = 0 and no numbers. Threads: pure. Cost: prompts x M x (draws of k_max) per path.
// Source: statistics.md section 4; [RG], [RO].
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stats/draw_table.h"
#include "stats/running.h"

namespace gapwatch::stats {

struct PrefixPoint {
  std::uint32_t k = 0;
  std::int64_t prompts = 0;
  Number ceiling, union_product, union_paired, premium;  // premium: product
  Number best_single;                                    // the highest mean rate of a policy on these draws
  Number noise_share_product, noise_share_paired;        // against that policy
};

// `order` empty: ascending draw index; else a permutation applied to positions among the aligned draws.
std::vector<PrefixPoint> prefix_path(const DrawTable& draws, std::span<const std::uint32_t> ks,
                                     std::span<const std::uint32_t> order = {});

// How the path depends on which draws come first: the same under `permutations` fixed permutations of the draws that
// every prompt has, made from the seed. A k beyond those draws is left out.
struct PrefixRange {
  std::uint32_t k = 0, permutations = 0;
  Number premium_mean, premium_min, premium_max;                    // product; over permutations
  Number share_paired_mean, share_paired_min, share_paired_max;     // absent where no permutation has a share
};
std::vector<PrefixRange> prefix_ranges(const DrawTable& draws, std::span<const std::uint32_t> ks,
                                       std::uint32_t permutations, std::uint64_t seed);

}  // namespace gapwatch::stats
