// Best-of-r: r draws of every policy against r draws of the best one.
//
// union(r) = mean[1 - prod (1-p)^r], every policy drawn r times and a perfect selector;
// committed(r) = mean[1 - (1-R)^r], r draws of the prompt's best policy alone. `share` is their relative
// difference, a ratio of means: non-increasing in r for one prompt, not always over many. With r = M,
// committed(r) is what as many draws as the union's give when spent on one policy per prompt.
// What it does not say: that a selector which knows the best policy exists.
//
// No row: prompts = 0. r >= 1. Threads: pure. Cost: one pass per r.
// Source: statistics.md section 4; [RG].
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stats/running.h"

namespace gapwatch::stats {

struct BestOfR {
  std::uint32_t r = 1;
  double union_product = 0, committed = 0;
  double premium = 0;  // union - committed
  Number share;        // premium / union
  Number mean_share;   // mean over prompts of their own shares, 0 where a prompt has no union
};
std::vector<BestOfR> best_of_r(const CountTable& table, std::span<const std::uint32_t> rs);

}  // namespace gapwatch::stats
