// The pools a power analysis is about, and tables simulated from them.
//
// A pool is stated, or taken from data: the trials of every cell as they are, prompt difficulties Beta(alpha,
// beta) fitted to the prompts' pooled rates, and each policy's quality, on the logit scale, from the tilt of the
// margin law. A planted effect comes on top: a logit effect (diffuse noise) is added on the logit scale, a
// difference of rates (specialist, transfer) to the rate, kept within [0, 1].
//
// Common random numbers: with one seed, a prompt's difficulty, its specialist and a cell's stream of uniforms are
// the same whatever the size of the effect, and the first k draws of a cell the same whatever its trials.
//
// Empty: pool_of a table without rows or policies gives 0 prompts; drawing from that gives an empty table.
// Threads: pure. Cost: about 0.15 us + 2 ns a trial for every cell. Source: statistics.md section 5, planted power.
#pragma once

#include <cstdint>
#include <vector>

#include "base/executor.h"
#include "base/result.h"
#include "stats/count_table.h"
#include "stats/simulate.h"

namespace gapwatch::stats {

struct PowerPool {
  std::uint64_t prompts = 240;
  std::uint32_t policies = 5;
  std::uint32_t trials = 16;               // of every cell, where cell_trials is empty
  std::vector<std::uint32_t> cell_trials;  // prompts x policies, row by row; 0: missing
  double alpha = 0.347, beta = 0.601;      // difficulty
  std::vector<double> quality;             // by policy, added on the logit scale; empty: all the same
  bool difficulty_identified = true;       // false: the data's spread is no more than chance, Beta(1/2, 1/2)
};

// Refuses what cannot be simulated or tested, saying what is wrong.
Status check_power_pool(const PowerPool& pool);

// `table` holds the rows that count (see complete_rows).
PowerPool power_pool_of(const CountTable& table, Executor& executor);

// Every cell with `trials` trials; all else as it is.
PowerPool with_trials(PowerPool pool, std::uint32_t trials);

struct PowerTable {
  CountTable table;         // prompts without names
  double population_gap = 0;  // L(tau) of the true rates
};

// The pool passes check_power_pool and the effects those of Simulation::make. tau in (0, 1].
PowerTable draw_power_table(const PowerPool& pool, const SimulatedEffects& effects, double tau,
                            std::uint64_t seed);

}  // namespace gapwatch::stats
