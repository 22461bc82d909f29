// Scores of up to 256 simulated tables at once, where all cells have the same trials, few of them: a count is
// a byte, and a row is added to all tables together. The sums are those of ScoreAccumulator (null_scores.h),
// bit for bit.
//
// Threads: an object belongs to one thread. Cost: a few vector instructions a policy and threshold for sixteen tables.
// Source: statistics.md sections 3 and 5.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "stats/null_scores.h"

namespace gapwatch::stats {

class ByteScores {
 public:
  static constexpr std::size_t kTables = 256;
  static constexpr std::uint32_t kMostTrials = 32;

  // Whether rows of this pattern can be scored so: equal trials, few of them, few policies, exact rates.
  static bool can(const ScoreSpec& spec, const TrialPattern& pattern);
  ByteScores(const ScoreSpec& spec, const TrialPattern& pattern);

  // The counts of the row to add, of one policy: by table.
  std::uint8_t* counts(std::size_t policy) { return counts_[policy].data(); }
  void add();
  // The sums of one table, added to `to`.
  void drain(std::size_t table, TableScore& to);

 private:
  // By table. Bytes and words hold kMostRows rows; then they are added to the sums.
  using Bytes = std::array<std::uint8_t, kTables>;
  using Words = std::array<std::uint16_t, kTables>;
  using Sums = std::array<std::uint32_t, kTables>;
  static constexpr std::size_t kMostRows = 255;
  struct Threshold {
    std::uint8_t need = 0;
    std::vector<Bytes> policy;
    Bytes any{}, all{};
    Words pairs{};  // of policies that cover
    std::vector<Sums> policy_sums;
    Sums any_sums{}, all_sums{}, pair_sums{};
  };
  void add(Threshold& threshold) const;
  void flush();

  std::size_t pool_, rows_ = 0;
  std::uint64_t all_rows_ = 0, rate_;
  std::vector<Bytes> counts_;
  std::vector<Threshold> thresholds_;
  std::vector<Words> value_;
  std::vector<Sums> value_sums_;
  Words best_{};
  Sums best_sums_{};
};

}  // namespace gapwatch::stats
