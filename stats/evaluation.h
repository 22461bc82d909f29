// Evaluation: everything measured on one pool's table, as plain structs that outputs render.
//
// An absent optional is an undefined number (a JSON null, an absent metric). Ratios lie in 0..1.
// Shapes: vectors "by policy" follow `policies`, "by threshold" follow `thresholds`.
// Threads: plain values; const access is safe to share. Cost: memory by policies and thresholds, and by prompts where a
// field says so. Sources: statistics.md; field names are those of interfaces.md, "Report JSON".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/executor.h"
#include "config/settings.h"
#include "stats/best_of_r.h"
#include "stats/bounds.h"
#include "stats/checks.h"
#include "stats/correlation.h"
#include "stats/count_table.h"
#include "stats/coverage.h"
#include "stats/cross_fit.h"
#include "stats/draw_set.h"
#include "stats/member_spread.h"
#include "stats/population_gap.h"
#include "stats/prefix_paths.h"
#include "stats/prior.h"
#include "stats/rates.h"
#include "stats/rise.h"
#include "stats/running.h"
#include "stats/strata.h"
#include "stats/subpools.h"

namespace gapwatch::stats {

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

// As in split_half.h.
struct SplitHalf {
  Number matched, scoring_half;
  Number honest = {};  // coverage of the policy chosen on the other half
  bool honest_exact = true;
  Number matched_error = {}, scoring_half_error = {};  // standard errors over the splits
};

// How the margin chain ran; zero or absent where there was none.
struct ChainReport {
  std::uint32_t chains = 0;
  std::uint64_t burn_in_sweeps = 0;  // of each chain
  double sweeps_per_sample = 0;
  double autocorrelation_time = 1;  // of L, in samples, the largest over thresholds
  double effective_samples = 0;     // samples / autocorrelation_time
  bool needs_long_cycles = false;   // missing cells could cut the 2x2 chain apart: longer cycles were mixed in
};

struct ThresholdNulls {
  double tau = 0;
  BothNulls gap;           // L
  BothNulls disagreement;  // D
  std::optional<NullComparison> oracle_minus_mixture;  // re-deal only
  BothNulls rise;          // L of the pool minus the mean L over pairs
  Number mixture_matched;  // budget-matched mixture coverage
  SplitHalf split_half;
  std::optional<MixingFloor> mixing_floor;
  std::optional<MemberSpread> member_spread;
  std::vector<SizeGap> gap_by_size;                // mean L over subsets, by size
  std::optional<CoverageSummary> posterior;        // coverage by posterior means, where rates: posterior is set
};

// One p-value of the family that was looked at together.
struct FamilyTest {
  std::string statistic, null;  // "gap", "redeal"
  double tau = 0;               // 0: has no threshold
  double p = 1, adjusted = 1;   // upper tail; Benjamini-Hochberg over all of `family`
};

// Strata by the number of policies that succeed.
struct SupportStrata {
  std::string by;    // "any success", "expected successes", "first draw"
  double limit = 3;  // thin: at most so many policies
  Strata strata;
};

// Draws of a cell looked at more closely than the checks do.
struct DrawDetail {
  RunsTest runs;
  std::size_t blocks = 0;  // that block_dispersion cut cells into
  BlockDispersion block_dispersion;
};

// What needs the whole table and is computed on a snapshot, on a schedule.
struct Evaluation {
  config::Prior prior;               // as used: kind and the fitted numbers
  bool prior_identified = true;
  std::vector<std::optional<Interval>> pass_at_1_intervals;  // by policy
  std::optional<Interval> noise_share_interval;  // of the paired share where every prompt's draws align, else the product's
  Number effective_pool_size;
  std::vector<ThresholdNulls> thresholds;
  BothNulls pass_at_1_gap;
  std::vector<Check> checks;

  // Beyond the report's core; each absent or empty where it is undefined.
  std::vector<FamilyTest> family;
  ChainReport chain;
  FittedPrior moments_prior;                       // fitted to the complete rows, whichever is used
  std::optional<FittedPrior> likelihood_prior;     // likewise; absent with more than 20,000 distinct cells
  std::optional<Interval> noise_share_product_interval, noise_share_paired_interval;
  std::optional<Interval> premium_interval;        // product
  std::optional<CrossFit> cross_fit;               // the comparator chosen on other prompts
  Number mixture_matched_rauc, mixture_matched_pass_at_1;
  std::uint32_t mixture_budget = 0;                // outcomes a prompt of the budget-matched mixture, on the median
  std::optional<BandArea> posterior_area;          // where rates: posterior is set
  Correlation rate_correlation, draw_correlation;
  std::vector<SupportStrata> strata;               // by first draws only where they are kept
  std::vector<BestOfR> best_of_r;                  // r = 1, 2, 3, 5, 10 and the pool's size
  std::vector<PrefixPoint> prefix_path;            // k = 1, 2, 5, 10, 20, ... on aligned draws
  std::vector<PrefixRange> prefix_ranges;          // the same ks under fixed permutations
  std::optional<Subpools> subpools;                // up to 20 policies
  std::vector<PoolCut> leave_one_group_out;        // where groups are declared
  std::optional<PoolCut> one_per_group;
  Number conservative_premium_floor;
  std::optional<PopulationGap> population_gap;     // at the alarm's threshold; as if its evidence had alarmed
  std::uint32_t curse_trials = 0;                  // the median, for which the bounds are
  std::optional<CurseBounds> curse_at_half;        // for rates of 1/2
  std::optional<CurseBounds> curse_at_rates;       // for policies whose rates are their pass@1
  std::optional<DrawDetail> draw_detail;           // where draws are kept
};

}  // namespace gapwatch::stats
