// TrialHistogram: how many cells have n trials, for every n.
//
// Counts may go up and down. Where the histogram is read every count is >= 0; order statistics
// are those of the multiset, exact. n is any uint32.
//
// Threads: as a plain value. Cost: an array up to the largest n seen (below 4,096), a map beyond;
// adding allocates only when n is the largest so far, or beyond the array.
// Source: statistics.md section 1 (trials of a cell).
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace gapwatch::stats {

class TrialHistogram {
 public:
  void add(std::uint32_t trials, std::int64_t cells) {
    if (trials < small_.size()) {
      small_[trials] += cells;
    } else {
      add_beyond(trials, cells);
    }
  }
  void merge(const TrialHistogram& other);

  std::int64_t total() const;
  // The smallest n that has more than `rank` cells at or below it; 0 <= rank < total().
  std::uint32_t at_rank(std::int64_t rank) const;
  // f(n, cells) for every n with cells, ascending.
  template <typename F>
  void for_each(F&& f) const {
    for (std::uint32_t n = 0; n < small_.size(); ++n) {
      if (small_[n] != 0) f(n, small_[n]);
    }
    for (const auto& [n, cells] : large_) f(n, cells);
  }
  friend bool operator==(const TrialHistogram& a, const TrialHistogram& b);

 private:
  static constexpr std::uint32_t kSmall = 4096;
  void add_beyond(std::uint32_t trials, std::int64_t cells);

  std::vector<std::int64_t> small_;
  std::map<std::uint32_t, std::int64_t> large_;  // no zero counts
};

}  // namespace gapwatch::stats
