// Strata: the gap split among prompts that few policies solve ("thin support") and among the others.
//
// A prompt's support is the number of policies with any success, the expected number of policies with a
// success in one draw (the sum of the rates), or the number with a success in their first aligned draw. Thin: at most
// `limit`. The comparator is the best single policy of the whole table in both strata. What it does not say:
// that thin prompts are hard for a reason; one policy's luck makes a prompt thin as well.
//
// A stratum without prompts has no numbers. Threads: pure. Cost: one pass.
// Source: statistics.md section 4; [RG].
#pragma once

#include "stats/draw_table.h"
#include "stats/running.h"

namespace gapwatch::stats {

enum class Support { kAnySuccess, kExpected, kFirstDraw };

struct Stratum {
  std::int64_t prompts = 0;
  Number fraction, comparator_rate, premium;
  GapSplit split;         // product coupling against the best single policy
  GapSplit paired_split;  // the same for the paired coupling; no numbers unless every prompt has an aligned draw
};

struct Strata {
  Stratum thin, dense;
};

// The smallest draw index judged for every policy.
std::optional<std::uint64_t> first_aligned(std::span<const DrawSet* const> pool);

// The paired split and kFirstDraw need draws; prompts without an aligned draw are in neither stratum of kFirstDraw.
Strata thin_support(const CountTable& table, double limit, Support support, const DrawTable& draws = {});

}  // namespace gapwatch::stats
