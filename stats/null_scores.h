// Scores of simulated tables: the integer sums from which L, D, rise, oracle minus mixture and the Pass@1 gap
// of one replicate follow, for all thresholds from the same table.
//
// Rates are held as integers: value = successes * (scale / trials), with scale the least common multiple of
// all trials where it is below 2^31 (then ties are exact), else 2^40 (then a rate is rounded by 2^-41).
//
// Empty: no prompt, no policy or no threshold gives sums of 0. Threads: const access is safe to share; an accumulator
// belongs to one thread. Cost: a few ns a cell for four thresholds.
// Source: statistics.md sections 3 and 5.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stats/count_table.h"
#include "stats/null_classes.h"

namespace gapwatch::stats {

// What is scored: thresholds and the scale of rates, common to all patterns of a table.
struct ScoreSpec {
  std::size_t pool_size = 0;
  std::vector<double> thresholds;
  std::uint64_t scale = 1;
  bool exact_scale = true;
  std::size_t groups() const { return (thresholds.size() + 3) / 4; }  // four thresholds share a 64-bit word
};
ScoreSpec make_score_spec(const PromptClasses& classes, std::span<const double> thresholds);

// The sums of one table. All additive over prompts.
struct TableScore {
  std::vector<std::uint64_t> value;              // by policy: sum of rates * scale
  std::uint64_t best_value = 0;                  // sum over prompts of the largest
  std::vector<std::uint32_t> policy;             // [threshold][policy]: prompts it covers
  std::vector<std::uint32_t> any, all, mixture;  // by threshold
  std::vector<std::uint64_t> uncovered_pairs;    // by threshold: sum of C(policies that do not cover, 2)
};

// Scores that hold counts in bytes (byte_scores.h, margin_bytes.h) take so many policies: their pairs fit a byte.
inline constexpr std::size_t kMostPoliciesInBytes = 22;

// Sum over prompts of the pairs of policies that both do not cover: all pairs, without those of which one covers
// (`covered`: sum of covering policies), with those of which both do (`covering_pairs`) again.
inline std::uint64_t uncovered_pairs(std::uint64_t prompts, std::uint64_t pool, std::uint64_t covered,
                                     std::uint64_t covering_pairs) {
  return prompts * (pool * (pool - 1) / 2) - (pool - 1) * covered + covering_pairs;
}

// The statistics of one table, as integers: counts of prompts (rise: times C(M, 2)).
struct TableStatistics {
  std::vector<std::int64_t> gap, disagreement, oracle_minus_mixture, rise;  // by threshold
  std::vector<std::int64_t> oracle, best;                                   // by threshold
  std::int64_t pass_at_1_gap = 0;                                           // times scale * prompts
  std::vector<std::uint32_t> sorted;                                        // scratch
};
TableStatistics statistics_of(const TableScore& score, std::size_t pool_size, std::uint64_t prompts);
// The same into `out`, whose memory is used again.
void statistics_of(const TableScore& score, std::size_t pool_size, std::uint64_t prompts,
                   TableStatistics& out);

// How the cells of one pattern score. Cells of few trials are looked up, others compared.
class PatternScores {
 public:
  PatternScores(const ScoreSpec& spec, const TrialPattern& pattern, bool look_up = true);

  bool even() const {
    return even_;
  }  // equal trials where any: the mixture depends on the prompt's total only
  std::uint32_t need_of(std::size_t threshold, std::size_t policy) const {
    return needs_[threshold * spec_->pool_size + policy];
  }

 private:
  friend class ScoreAccumulator;
  static constexpr std::uint32_t kLookup = 1023;
  const ScoreSpec* spec_;
  bool even_ = true, looked_up_ = true;
  std::vector<std::uint64_t> rate_;  // by policy: scale / trials (exact scale), or 0
  std::vector<std::uint32_t> trials_;
  std::vector<std::uint32_t> needs_;         // [threshold][policy]; above trials where a cell never covers
  std::vector<std::uint64_t> mixture_need_;  // by threshold
  std::vector<std::uint64_t> cells_;         // looked up: per policy and count, value then one word a group
  std::vector<std::size_t> first_;           // by policy: where its cells begin
  std::uint64_t value_of(std::size_t policy, std::uint32_t successes) const;
};

// Adds rows into `replicates` accumulators at once. Sums of at most kMaxRows rows between two drains.
class ScoreAccumulator {
 public:
  static constexpr std::size_t kMaxRows = 32'768;
  ScoreAccumulator(const ScoreSpec& spec, std::size_t replicates);

  // `counts` by policy.
  void add(std::size_t replicate, const PatternScores& scores, const std::uint32_t* counts) {
    std::uint64_t* sums = sums_.data() + replicate * stride_;
    if (scores.looked_up_ && groups_ == 1) {
      add_looked_up(sums, scores, counts);
    } else {
      add_general(sums, scores, counts);
    }
  }
  // The replicate's sums, added to `to`; resets nothing.
  void drain(std::size_t replicate, TableScore& to) const;
  void clear();

 private:
  void add_looked_up(std::uint64_t* sums, const PatternScores& scores, const std::uint32_t* counts);
  void add_general(std::uint64_t* sums, const PatternScores& scores, const std::uint32_t* counts);
  void finish(std::uint64_t* sums, std::size_t group, std::uint64_t covering, std::uint64_t all);
  void add_mixture(std::uint64_t* sums, const PatternScores& scores, std::uint64_t value_sum);

  const ScoreSpec* spec_;
  std::size_t pool_, groups_, stride_;
  std::size_t any_at_, all_at_, mixture_at_, pairs_at_, best_at_;
  std::vector<std::uint32_t> pairs_of_;  // by number of covering policies: C(M - k, 2)
  std::vector<std::uint64_t> sums_;
};

TableScore empty_score(const ScoreSpec& spec);
// The score of the whole table as it is.
TableScore observed_score(const ScoreSpec& spec, const CountTable& table, const PromptClasses& classes);
// What no re-deal changes: the rows of degenerate classes, and the mixture of prompts with equal trials.
TableScore constant_score(const ScoreSpec& spec, const PromptClasses& classes);
void add_score(TableScore& to, const TableScore& from, std::uint32_t times = 1);

// One policy's word of lanes for `add`: used by the inner loops.
inline void ScoreAccumulator::finish(std::uint64_t* sums, std::size_t group, std::uint64_t covering,
                                     std::uint64_t all) {
  constexpr std::uint64_t kOnes = 0x0001000100010001;
  sums[any_at_ + group] += ((covering + 0x7FFF7FFF7FFF7FFF) >> 15) & kOnes;
  sums[all_at_ + group] += all;
  std::uint64_t* pairs = sums + pairs_at_ + group * 4;
  for (int lane = 0; lane < 4; ++lane) pairs[lane] += pairs_of_[(covering >> (16 * lane)) & 0xFFFF];
}

inline void ScoreAccumulator::add_looked_up(std::uint64_t* sums, const PatternScores& scores,
                                            const std::uint32_t* counts) {
  std::uint64_t covering = 0, all = ~0ull, best = 0, total = 0;
  const std::uint64_t* cells = scores.cells_.data();
  const std::size_t* first = scores.first_.data();
  for (std::size_t m = 0; m < pool_; ++m) {
    const std::uint64_t* cell = cells + first[m] + counts[m] * 2;
    const std::uint64_t value = cell[0], lanes = cell[1];
    sums[2 * m] += value;
    sums[2 * m + 1] += lanes;
    covering += lanes;
    all &= lanes;
    total += value;
    best = value > best ? value : best;
  }
  sums[best_at_] += best;
  finish(sums, 0, covering, all);
  if (!scores.even_) add_mixture(sums, scores, total);
}

}  // namespace gapwatch::stats
