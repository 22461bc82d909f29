// RowSampler: a whole prompt drawn at once from the re-deal law, or from its tilted form.
//
// Given a prompt's trials n_m and its total S, P(c) is proportional to the product of C(n_m, c_m) w_m^c_m;
// all w_m = 1 is the re-deal (multivariate hypergeometric). Policies are dealt one after the other, each from
// an alias table for (policy, successes left): M - 1 look-ups a prompt, each within 2^-32 times its number of
// outcomes of the exact probability. Where tables would be too large (RowSampler::fits), hypergeometric
// numbers are drawn by inversion from the mode, and a tilt is not offered.
//
// Threads: const access is safe to share. Cost: 2 ns a policy looked up, about 0.2 us + its standard
// deviation in ns inverted. Memory: at most kTableBytes a pattern. Source: statistics.md section 5;
// sequential.md A (the generating function), G.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "stats/byte_scores.h"
#include "stats/null_alias.h"
#include "stats/null_classes.h"

namespace gapwatch::stats {

// log(n!), to 1e-15 relative.
double log_factorial(std::uint64_t n);

// Successes among `draws` taken without replacement from `total` outcomes with `successes` successes.
std::uint64_t hypergeometric_draw(FastRandom& random, std::uint64_t total, std::uint64_t successes,
                                  std::uint64_t draws);

class RowSampler {
 public:
  static constexpr std::size_t kTableBytes = 4u << 20;
  static bool fits(const TrialPattern& pattern, std::uint64_t max_successes) {
    return table_bytes(pattern, max_successes) <= kTableBytes;
  }
  // What tables would take at most; far above kTableBytes where a policy has 2^16 trials or more.
  static std::uint64_t table_bytes(const TrialPattern& pattern, std::uint64_t max_successes);

  // For totals in [min_successes, max_successes]. `log_weights` by policy; empty: none. A tilt needs fits().
  RowSampler(const TrialPattern& pattern, std::uint64_t min_successes, std::uint64_t max_successes,
             std::span<const double> log_weights = {});

  // Writes the counts by policy; `successes` within the range given above. Counts of policies without trials
  // are left alone.
  void draw(FastRandom& random, std::uint64_t successes, std::uint32_t* counts) const {
    if (!tables_built_) return draw_by_inversion(random, successes, counts);
    auto left = static_cast<std::uint32_t>(successes);
    std::uint64_t bits = 0;
    bool spare = false;
    for (const Stage& stage : stages_) {
      bits = spare ? bits << 32 : random();
      spare = !spare;
      const AliasEntry* row =
          entries_.data() + stage.first + (static_cast<std::size_t>(left - stage.least) << stage.bits);
      const std::uint32_t count = alias_pick(row, stage.bits, bits >> 32);
      counts[stage.policy] = count;
      left -= count;
    }
    counts[last_] = left;
  }

  // The same for the next row of `tables` tables at once, where it can: few trials.
  bool in_bytes() const { return in_bytes_; }
  void draw(FastRandom& random, std::uint64_t successes, std::size_t tables, ByteScores& to) const;

 private:
  struct Stage {
    std::size_t policy = 0, first = 0;
    std::uint32_t least = 0;  // the fewest successes that can be left here
    std::uint32_t bits = 0;
  };
  void build(std::uint64_t min_successes, std::uint64_t max_successes, std::span<const double> log_weights);
  static void build_stage_row(const std::vector<long double>& mass, const std::vector<long double>& later,
                              std::uint64_t left, std::uint64_t after, std::uint32_t bits, AliasEntry* row);
  void draw_by_inversion(FastRandom& random, std::uint64_t successes, std::uint32_t* counts) const;

  const TrialPattern* pattern_;
  std::vector<std::size_t> order_;  // policies with trials
  std::size_t last_ = 0;
  bool tables_built_ = false, in_bytes_ = false;
  std::vector<Stage> stages_;
  std::vector<AliasEntry> entries_;
  PackedAlias packed_;  // the same, where in_bytes
};

}  // namespace gapwatch::stats
