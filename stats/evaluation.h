// Evaluation: everything measured on one pool's table, as plain structs that outputs render.
//
// An absent optional is an undefined number (a JSON null, an absent metric). Ratios lie in 0..1.
// Shapes: vectors "by policy" follow `policies`, "by threshold" follow `thresholds`.
// Sources: statistics.md; field names are those of interfaces.md, "Report JSON".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/executor.h"
#include "config/settings.h"
#include "stats/count_table.h"
#include "stats/draw_set.h"
#include "stats/running.h"

namespace gapwatch::stats {


struct Interval {
  double low = 0, high = 0;
};

// One statistic held against one null law.
struct NullComparison {
  double observed = 0;
  double mean = 0, p05 = 0, p95 = 0;
  double p_upper = 1, p_lower = 1;                // (1 + #) / (1 + B); exact or Gaussian where `method` says so
  double fraction_upper = 1, fraction_lower = 1;  // # / B
  double excess = 0;                              // observed - mean
  std::optional<Interval> excess_interval;        // bootstrap over prompts
  std::uint64_t samples = 0;                      // null samples; 0 where exact
  std::string method;                             // "monte-carlo", "exact", "gaussian"
};

struct BothNulls {
  std::optional<NullComparison> redeal, margin;
};

struct SplitHalf {
  Number matched, scoring_half;
};

struct ThresholdNulls {
  double tau = 0;
  BothNulls gap;           // L
  BothNulls disagreement;  // D
  std::optional<NullComparison> oracle_minus_mixture;  // re-deal only
  Number mixture_matched;  // budget-matched mixture coverage
  SplitHalf split_half;
};

struct Check {
  std::string name;
  Number value;
  bool ok = true;
  std::string meaning;  // one plain sentence: what a failure means
};

// What needs the whole table and is computed on a snapshot, on a schedule.
struct Evaluation {
  config::Prior prior;               // as used: kind and the fitted numbers
  bool prior_identified = true;
  std::vector<std::optional<Interval>> pass_at_1_intervals;  // by policy
  std::optional<Interval> noise_share_interval;
  Number effective_pool_size;
  std::vector<ThresholdNulls> thresholds;
  BothNulls pass_at_1_gap;
  std::vector<Check> checks;
};

}  // namespace gapwatch::stats
