// Population gap: the oracle gap L(tau) that the pool would show with endless draws, estimated from few.
//
// Two-level deconvolution. A cell's log-odds are a_i + b_m + u_im: difficulty a on a grid of 121 points with
// free weights, policy levels b from one conditional score step, shrunk, and the interaction u a mixture of
// ten kernels (exactly zero; four centred normals; five displaced ones, for specialists and gaps) whose
// weights may differ between hard, middling and easy prompts. The weights are fitted by EM. L is then
// averaged over draws of every prompt's difficulty and coverages given its counts.
//
// It is approximate, in three ways. The interval is not nominal: in simulation its 95% covers between 23% and
// 97% of the time, worst where specialists sit just above tau, which cannot be resolved from few draws. It
// shows a small positive gap where there is none: so its lower end is held at 0 until the margin evidence has
// alarmed. Cells of more than 400 trials count as 400, and a table of more than max_cells cells is
// represented by prompts drawn at random. Of more than 1,500 distinct cells, levels are rounded to .03 or more in log-odds.
//
// Empty: no prompt, no policy or tau outside (0, 1]: absent. One policy, or tau = 1: estimate 0.
// Threads: pure; bootstraps and tables are split over `executor`, with the same result for any number of
// threads. Cost: 0.8 s of one core for 240 x 5 x 16 with 40 bootstraps; grows with the number of distinct
// cells. Memory: 20 kB a distinct (level, trials, successes). Source: sequential.md, H.
#pragma once

#include <cstdint>
#include <optional>

#include "base/executor.h"
#include "stats/count_table.h"
#include "stats/rates.h"

namespace gapwatch::stats {

struct PopulationGapOptions {
  double tau = 0.1;
  std::uint32_t draws = 200;      // at least 1
  std::uint32_t bootstraps = 40;  // 0: no interval
  double interval_level = 0.95;
  bool margin_alarmed = false;  // else the interval begins at 0
  std::uint64_t max_cells = 12'000;
  std::uint64_t seed = 1;
};

struct PopulationGap {
  double tau = 0;
  double estimate = 0;  // in [0, 1]
  std::optional<Interval> interval;
  std::uint64_t prompts_used = 0;
  std::uint32_t em_steps = 0;
};

// `table` holds the rows that count (see complete_rows); a cell without trials says nothing.
std::optional<PopulationGap> population_gap(const CountTable& table, const PopulationGapOptions& options,
                                            Executor& executor);

}  // namespace gapwatch::stats
