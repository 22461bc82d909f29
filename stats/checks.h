// Assumption checks: what the statistics take for granted, tested on the table itself.
//
//   runs                share of cells, 0 < p < 1, whose number of runs lies within 1.96 standard deviations of its mean
//   lag_one             mean over those cells of (agreement of neighbouring draws - its expectation), standardised
//   halves              the same for first-half minus second-half rate
//   matched_indices     agreement of policies at the same draw index against all pairs of indices
//   same_trials         smallest over largest number of trials
// The first four need identified draws and are absent without them. A failed check does not stop anything; it
// says what to distrust.
//
// Threads: pure. Cost: one pass over the draws; matched_indices N x M^2.
// Source: statistics.md section 7.
#pragma once

#include <string>
#include <vector>

#include "stats/draw_table.h"
#include "stats/running.h"

namespace gapwatch::stats {

struct Check {
  std::string name;
  Number value;
  bool ok = true;
  std::string meaning;  // one plain sentence: what a failure means
};

struct RunsTest {
  std::int64_t cells = 0;      // with 0 < p < 1
  Number inside;               // share of |z| < 1.96
  Number mean_z, dispersion;   // mean of z, mean of z^2
};
RunsTest runs_test(const DrawTable& draws);

// z of the sum over cells: about standard normal when draws are exchangeable.
Number lag_one_agreement(const DrawTable& draws);
Number half_against_half(const DrawTable& draws);
// Variance of block means over its expectation, for cells cut in `blocks` equal runs of draws; 1 for exchangeable draws.
struct BlockDispersion {
  std::int64_t cells = 0;
  Number ratio;
};
BlockDispersion block_dispersion(const DrawTable& draws, std::size_t blocks);
// z of policies' agreement at matched draw indices, against indices shuffled within cells.
Number matched_index_agreement(const DrawTable& draws);

// All of the above, in a fixed order, with their meanings.
std::vector<Check> assumption_checks(const CountTable& table, const DrawTable& draws);

}  // namespace gapwatch::stats
