// Running sums: every additive pool statistic, kept exact under additions and removals.
//
// A pool statistic is a mean over complete prompts of a term of one prompt's counts. RunningSums
// holds the sums as integers (fixed point where a term is a fraction), so after any sequence of
// add() and remove() it is bit for bit what one pass over the table gives, and merge() of parts is
// the whole. An event costs replace(old row, new row): O(pool x thresholds), whatever N is.
// `summarize` turns sums into numbers; it is the only place where they are divided.
//
// Empty: a pool of no policies counts no prompt; numbers of 0 complete prompts are absent or meaningless (PoolSummary
// says which). Threads: as a plain value; const access is safe to share.
// Source: statistics.md sections 1, 3, 4, 8.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/fixed_point.h"
#include "stats/count_table.h"
#include "stats/draw_set.h"
#include "stats/trial_histogram.h"

namespace gapwatch::stats {

using Number = std::optional<double>;  // absent: undefined

// What is summed. Two sums can be merged when their specs are equal.
struct SumsSpec {
  std::size_t pool_size = 0;
  std::vector<double> thresholds;  // each in (0, 1]
  double band_low = 0.05, band_high = 0.30;
  Completeness completeness;
  friend bool operator==(const SumsSpec&, const SumsSpec&) = default;
};

// One prompt, as the sums see it. `cells` follow the pool's order (by name).
struct PromptView {
  std::span<const CellCount> cells;
  PairedCount paired;  // aligned = 0: no draws in common, or none kept
};

// A router's choice for one prompt: weight of each pool policy (by pool order), summing to 1; a
// named router has one weight 1. Empty: no decision, and the prompt is left out.
using RouterWeights = std::span<const double>;

class PromptTerms;  // what a spec fixes for every prompt: need by (threshold, trials), the band

// Sums over the prompts that were added and are complete (statistics.md section 1). A copy shares
// what the spec fixes. Changing them allocates nothing (but see TrialHistogram) and costs some
// 10 ns a policy. A view's cells must be spec.pool_size many.
class PoolSums {
 public:
  PoolSums() = default;
  explicit PoolSums(const SumsSpec& spec);

  void add(const PromptView& prompt);
  void remove(const PromptView& prompt);
  // What remove(before) and add(after) come to, for less where few cells differ.
  void replace(const PromptView& before, const PromptView& after);
  // Both have the same spec, or one is default-made.
  void merge(const PoolSums& other);
  friend bool operator==(const PoolSums& a, const PoolSums& b) { return a.same_sums(b); }

  struct AtThreshold {
    std::int64_t oracle = 0;   // prompts some policy covers
    std::int64_t all = 0;      // prompts every policy covers
    std::int64_t mixture = 0;  // prompts whose mean rate, over cells with a trial, reaches tau
    friend bool operator==(const AtThreshold&, const AtThreshold&) = default;
  };

  // Plain sums, read by summarize() and by tests.
  std::int64_t complete = 0;
  std::int64_t partial = 0;          // some trial, not complete
  std::int64_t all_fail = 0, all_pass = 0;  // degenerate, among complete
  std::int64_t trials = 0;           // of complete prompts
  TrialHistogram cells_by_trials;    // complete prompts' cells by n
  std::int64_t certain = 0, dead = 0, lone = 0, positive = 0;  // the premium's zero cases, and the rest
  std::int64_t paired_prompts = 0;   // complete prompts with an aligned draw
  FixedSum ceiling, union_product, union_paired, frechet_upper;
  std::vector<FixedSum> rate;        // by policy; a missing cell's rate is 0
  std::vector<FixedSum> rauc;        // by policy
  FixedSum rauc_oracle, rauc_mixture;
  std::vector<AtThreshold> at;       // by threshold
  std::int64_t covered(std::size_t threshold, std::size_t policy) const;  // prompts that the policy covers

 private:
  using Lanes = std::array<std::int32_t, 4>;
  struct RowTotals;
  struct RowRates;
  static RowTotals totals(std::span<const CellCount> cells, const Completeness& rule);
  void apply(const PromptView& prompt, const RowTotals& row, int sign);
  void add_row(const PromptView& prompt, const RowTotals& row, int sign);
  void add_row_rates(const RowRates& row, int sign);
  void add_rates(std::span<const CellCount> cells, int sign);
  void add_coverage(std::span<const CellCount> cells, int sign);
  void add_covering(std::size_t group, const Lanes& covering, std::size_t cells, int sign);
  void replace_rates(std::span<const CellCount> before, std::span<const CellCount> after);
  void replace_coverage(std::span<const CellCount> before, std::span<const CellCount> after);
  bool same_sums(const PoolSums& other) const;

  friend class RouterSums;
  SumsSpec spec_;
  std::shared_ptr<const PromptTerms> terms_;
  std::vector<Lanes> covered_;  // by four thresholds, then by policy
};

// What a router adds, over the complete prompts it has a decision for.
class RouterSums {
 public:
  RouterSums() = default;
  explicit RouterSums(const SumsSpec& spec);
  void add(const PromptView& prompt, RouterWeights weights) { apply(prompt, weights, 1); }
  void remove(const PromptView& prompt, RouterWeights weights) { apply(prompt, weights, -1); }
  void merge(const RouterSums& other);
  friend bool operator==(const RouterSums& a, const RouterSums& b) {
    return a.routed == b.routed && a.rate == b.rate && a.misrouted == b.misrouted;
  }

  PoolSums routed;                   // the pool, on these prompts only
  FixedSum rate;                     // of the weighted mean rate
  std::vector<FixedSum> misrouted;   // by threshold: on disagreement prompts, weight on policies that do not cover

 private:
  void apply(const PromptView& prompt, RouterWeights weights, int sign);
  SumsSpec spec_;
};

// ---- The numbers (names of interfaces.md, "Report JSON") ----

struct GapSplit {
  std::string coupling;    // "product" or "paired"
  std::string comparator;  // a policy's or a router's name
  Number total, recoverable, noise, noise_share;
};

struct CoverageSummary {
  double tau = 0;
  double oracle = 0, best = 0, mixture = 0, gap = 0, disagreement = 0;
  std::size_t best_policy = 0;   // index into the pool; ties go to the first by name
  Number break_even_error;       // L / D
  double oracle_minus_mixture = 0;
  std::vector<double> policy;    // coverage of each
};

struct PoolSummary {
  std::int64_t complete = 0, partial = 0, degenerate = 0;
  std::uint32_t trials_min = 0, trials_median = 0, trials_max = 0;  // over cells of complete prompts; lower median
  std::int64_t trials_total = 0;
  bool identifiable = false;     // false while every complete prompt has one trial a cell
  // Everything below is meaningful only when complete > 0.
  std::vector<double> pass_at_1, rauc;  // by policy
  std::size_t best_single = 0;
  double ceiling = 0, union_product = 0, frechet_upper = 0;
  Number union_paired;           // absent unless every complete prompt has an aligned draw
  double premium_product = 0, frechet_width = 0;
  Number premium_paired;
  double oracle_pass_at_1_gap = 0;  // mean max p-hat - max mean p-hat
  double positive_fraction = 0;
  Number conditional_premium;    // mean product premium among prompts with a positive one
  std::int64_t certain = 0, dead = 0, lone = 0;
  Number oracle_noise_share_product, oracle_noise_share_paired;  // premium / union
  double rauc_best = 0, rauc_oracle = 0, rauc_mixture = 0;
  std::vector<CoverageSummary> coverage;  // by threshold
};

// `spec` is the one the sums were made with.
PoolSummary summarize(const PoolSums& sums, const SumsSpec& spec);

// One pass over a table, in order: what the running sums must equal. `paired` is empty or has one
// entry a prompt.
PoolSums sum_table(const CountTable& table, const SumsSpec& spec, std::span<const PairedCount> paired = {});

// The gap to the union of `coupling` for a comparator whose mean rate is `comparator_rate`. Every number is
// absent when nothing is complete, or when the coupling is "paired" and draws do not align; the
// share also when the gap is not positive.
GapSplit split_gap(const PoolSummary& summary, const std::string& coupling, const std::string& comparator,
                   double comparator_rate);

struct RouterSummary {
  std::int64_t prompts = 0;      // complete prompts with a decision
  Number pass_at_1;
  PoolSummary routed;            // the pool on the same prompts
  std::vector<Number> disagreement_error;  // by threshold: e_D
  std::vector<Number> gain;                // by threshold: L - D e_D over the best single policy on these prompts
};

RouterSummary summarize(const RouterSums& sums, const SumsSpec& spec);

}  // namespace gapwatch::stats
