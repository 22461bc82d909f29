// DrawSet: the outcomes of one cell's identified draws.
//
// Every draw index is absent, a failure, a success, or unscored (it exists and was not judged).
// Draws below 64 live in the object itself, later ones in one block of two bits a draw; a draw
// whose index is far beyond the number of draws (a hashed or dated id) is in a sorted list, so
// memory is bounded by the number of draws, not by their indices. Indices are any uint64.
//
// Threads: as a plain value. Cost: 24 bytes; O(1) for dense draws, O(log n) to find a far one.
// Source: interfaces.md (draws); statistics.md section 1 (outcomes).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/prefetch.h"

namespace gapwatch::stats {

// The two bits of a draw: low is "judged", high is "success"; high alone is "unscored".
enum class DrawOutcome : std::uint8_t { kAbsent = 0, kFailure = 1, kUnscored = 2, kSuccess = 3 };

class DrawSet {
 public:
  DrawSet() = default;
  ~DrawSet();
  DrawSet(DrawSet&& other) noexcept;
  DrawSet& operator=(DrawSet&& other) noexcept;
  DrawSet(const DrawSet& other);
  DrawSet& operator=(const DrawSet& other);

  DrawOutcome get(std::uint64_t draw) const { return draw < 64 ? outcome_at(first_, draw) : get_beyond(draw); }
  // Sets the draw's outcome and returns what it was.
  DrawOutcome exchange(std::uint64_t draw, DrawOutcome outcome) {
    return draw < 64 ? exchange_at(first_, draw, outcome) : exchange_beyond(draw, outcome);
  }
  void clear();
  bool empty() const;

  struct FarDraw {
    std::uint64_t draw;
    DrawOutcome outcome;
    friend bool operator==(const FarDraw&, const FarDraw&) = default;
  };

  // The draws 64w .. 64w+63, a bit each; w < words().
  struct Word {
    std::uint64_t judged, success;
    std::uint64_t present() const { return judged | success; }
  };
  std::size_t words() const;
  Word word(std::size_t w) const;
  // Puts back what word() gave, growing as needed; for reading stored draws.
  void set_word(std::size_t w, Word planes);
  // The far draws, ascending; all beyond the last word.
  std::span<const FarDraw> far() const;
  // Asks for the memory of the draws beyond the first 64, which will be read soon.
  void prefetch() const { gapwatch::prefetch(block_, 128); }
  // Heap bytes held.
  std::size_t heap_bytes() const;

  // Every draw present, ascending, as f(draw, outcome).
  template <typename F>
  void for_each(F&& f) const {
    for (std::size_t w = 0; w < words(); ++w) {
      const Word planes = word(w);
      for (auto left = planes.present(); left != 0; left &= left - 1) {
        const auto bit = static_cast<unsigned>(__builtin_ctzll(left));
        f(w * 64 + bit, outcome_at(planes, bit));
      }
    }
    for (const auto& entry : far()) f(entry.draw, entry.outcome);
  }

 private:
  struct Block;
  static DrawOutcome outcome_at(const Word& word, std::uint64_t bit) {
    return static_cast<DrawOutcome>(((word.judged >> bit) & 1) | (((word.success >> bit) & 1) << 1));
  }
  static DrawOutcome exchange_at(Word& word, std::uint64_t bit, DrawOutcome outcome) {
    const auto before = outcome_at(word, bit);
    const auto code = static_cast<std::uint64_t>(outcome);
    const auto mask = std::uint64_t{1} << bit;
    word.judged = (word.judged & ~mask) | ((code & 1) << bit);
    word.success = (word.success & ~mask) | ((code >> 1) << bit);
    return before;
  }
  DrawOutcome get_beyond(std::uint64_t draw) const;
  DrawOutcome exchange_beyond(std::uint64_t draw, DrawOutcome outcome);
  void grow(std::size_t words);

  Word first_{0, 0};
  Block* block_ = nullptr;
};

// The seed-aligned ("paired") union of one prompt, over draw indices judged for every policy.
struct PairedCount {
  std::uint64_t aligned = 0;      // |J|: draw indices that every policy has judged
  std::uint64_t any_success = 0;  // of these, with a success of some policy
};

// `pool` holds the draws of every policy of the pool for one prompt; nullptr for a cell without draws.
// Zero aligned draws for an empty pool. Source: statistics.md section 4, P.
PairedCount paired_count(std::span<const DrawSet* const> pool);

}  // namespace gapwatch::stats
