// The margin-preserving law, sampled by a chain of exact conditional ("heat-bath") moves.
//
// State: the counts of the informative prompts (0 < S_i < T_i; the others cannot move). A move takes two
// prompts and two policies and draws their 2 x 2 counts anew from their exact conditional law given its
// margins. A round pairs up the policies, and for each pair of policies pairs up all prompts, by a matching
// drawn independently of the state: about one move for every four cells. Where missing cells could cut the
// 2 x 2 moves apart (three of them in distinct prompts and policies), a round also makes moves along longer
// cycles of cells, which connect every table with these margins: every difference of two tables is a sum of
// cycles that stay within the counts.
//
// Several independent chains start from the ends of two pilot chains (large tables: of one), which started
// from the observed table. The spacing of samples is the first lag, in rounds, at which the pilots'
// autocorrelation of L, of D and of the Pass@1 gap (which forgets half as fast) is at most 0.25, 0.25 and 0.4
// at every threshold; the burn-in of each chain is ten spacings and at least 16 rounds. The autocorrelation
// time of the samples is measured again and reported. max_moves bounds the work: it shortens first the
// spacing, then the samples.
//
// Empty: no informative prompt, or fewer than two policies, gives the observed table again and again.
// Threads: pure. Cost: 10 ns a move between prompts with the same small trials, 0.1 us + the standard
// deviation of the cell in ns otherwise. Memory: the counts, for each chain.
// Source: statistics.md section 5; sequential.md, mixing.
#pragma once

#include <cstdint>

#include "base/executor.h"
#include "stats/count_table.h"
#include "stats/null_classes.h"
#include "stats/null_scores.h"
#include "stats/redeal.h"

namespace gapwatch::stats {

struct MarginChainOptions {
  std::uint32_t samples = 2'000;
  std::uint32_t chains = 4;
  std::uint64_t seed = 1;
  std::uint64_t max_moves = 400'000'000;  // bounds the spacing, then the samples
};

struct MarginChainResult {
  NullSamples samples;
  std::uint32_t chains = 0;
  std::uint64_t burn_in_rounds = 0;  // of each chain
  std::uint64_t rounds_per_sample = 1;
  double sweeps_per_sample = 0;     // a sweep is N * M moves
  double autocorrelation_time = 1;  // of L or D, in samples, the largest over thresholds
  double effective_samples = 0;     // samples / autocorrelation_time
  bool long_cycles = false;
};

// Whether missing cells could make the 2 x 2 chain reducible: three cells without trials in distinct
// informative prompts and distinct policies.
bool needs_long_cycles(const PromptClasses& classes);

MarginChainResult sample_margin(const CountTable& table, const PromptClasses& classes, const ScoreSpec& spec,
                                const MarginChainOptions& options, Executor& executor);

}  // namespace gapwatch::stats
