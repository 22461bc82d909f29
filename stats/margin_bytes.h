// The margin chain's table where all its prompts have the same trials, few of them: a count is a byte, and
// many prompts are looked at as one vector.
//
// Threads: an object belongs to one thread; a copy goes its own way. Cost: margin_chain.h.
// Source: statistics.md section 5.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/random.h"
#include "stats/margin_moves.h"
#include "stats/null_scores.h"

namespace gapwatch::stats {

class ByteTable {
 public:
  // `counts` by policy, then prompt; `trials` by policy, at most HeatBath::kCachedTrials.
  ByteTable(std::span<const std::vector<std::uint32_t>> counts, std::vector<std::uint32_t> trials);

  // Draws the counts of two policies anew, for the prompts in pairs: the matching that `turn` gives, below
  // prompts - 1 + prompts % 2 (see Matching).
  void update(FastRandom& random, std::size_t turn, std::size_t a, std::size_t b);
  std::uint32_t count(std::size_t policy, std::size_t prompt) const {
    return columns_[policy].bytes[prompt];
  }

  // Whether add_score() can: equal trials, few policies, exact rates.
  static bool can_score(const ScoreSpec& spec, const PatternScores& scores);
  void add_score(const ScoreSpec& spec, const PatternScores& scores, TableScore& to) const;

 private:
  struct Column {
    std::vector<std::uint8_t> bytes;  // filled up with zeros to whole vectors
  };
  std::uint64_t sum_of_best() const;
  void add_threshold(std::uint64_t need, std::span<std::uint32_t> policy, std::uint32_t& any,
                     std::uint32_t& all, std::uint64_t& uncovered) const;

  std::size_t prompts_;
  std::vector<std::uint32_t> trials_;
  std::vector<Column> columns_;
  std::vector<std::uint64_t> successes_;  // by policy: no move changes them
  HeatBath bath_;
};

// A round-robin matching of `count` things with a random turn: all but at most one, in pairs.
class Matching {
 public:
  Matching(std::size_t count, std::size_t turn)
      : odd_(turns(count)),
        left_(odd_ / 2 + 1 - count % 2),
        up_(turn),
        down_(turn),
        with_last_(count % 2 == 0) {}
  static std::size_t turns(std::size_t count) { return count - 1 + count % 2; }
  // False: there are no more.
  bool next(std::size_t& i, std::size_t& j) {
    if (left_ == 0) return false;
    --left_;
    if (with_last_) {
      with_last_ = false;
      i = up_;
      j = odd_;
      return true;
    }
    i = up_ = up_ + 1 == odd_ ? 0 : up_ + 1;
    j = down_ = down_ == 0 ? odd_ - 1 : down_ - 1;
    return true;
  }

 private:
  std::size_t odd_, left_, up_, down_;
  bool with_last_;
};

}  // namespace gapwatch::stats
