// Prompt-bootstrap intervals of excesses: how far "observed minus null mean" moves with the prompts asked.
//
// Every bootstrap table has its own observed value and its own null mean: the minimum over policies of sums
// that are resampled together with their exact null expectations, the latter averaged over the normal
// fluctuation of the null (whose size is resampled too). For the margin law the expectations are moved to the
// resampled policy totals by regression on them, the first step of a new fit. The interval is that of
// percentiles of the bootstrap excesses.
//
// Up to kBatches prompts are resampled one by one; beyond, prompts are put into kBatches batches at random
// and batches are resampled, which costs O(N) once.
//
// Threads: pure. Cost: N * M + replicates * kBatches * M a statistic. Source: statistics.md section 5.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/executor.h"
#include "stats/count_table.h"
#include "stats/evaluation.h"
#include "stats/gaussian_null.h"
#include "stats/null_classes.h"

namespace gapwatch::stats {

struct BootstrapOptions {
  std::uint32_t replicates = 400;
  double level = 0.95;
  std::uint64_t seed = 1;
};

// By threshold, and the Pass@1 gap. Absent without replicates. `oracle` is of C_orac (re-deal only).
struct ExcessIntervals {
  std::vector<std::optional<Interval>> gap, disagreement, oracle;
  std::optional<Interval> pass_at_1_gap;
};

// Sums of class moments over all informative prompts.
PromptMoments sum_moments(const PromptClasses& classes, std::span<const PromptMoments> moments);

// `moments` by class, of the law with `log_weights` fitted (margin) or without (re-deal); `totals` are the
// policy totals over informative prompts where the law is conditioned on them, else empty.
ExcessIntervals bootstrap_excess(const CountTable& table, const PromptClasses& classes,
                                 std::span<const double> thresholds, std::span<const PromptMoments> moments,
                                 std::span<const double> totals, const BootstrapOptions& options,
                                 Executor& executor);

}  // namespace gapwatch::stats
