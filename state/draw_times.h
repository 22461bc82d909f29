// DrawTimes: when each draw of one cell was said, for those whose event told it.
//
// Of two events on one draw the one with the later time holds, whichever comes first; a draw that was
// taken back keeps the time of that, too. Draws with small indices and times within 24 days of the
// first cost four bytes, others sixteen.
//
// Threads: as a plain value. Cost: O(1) for the former, O(log n) for the latter.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/prefetch.h"

namespace gapwatch::state {

class DrawTimes {
 public:
  std::optional<TimeMs> get(std::uint64_t draw) const;
  void set(std::uint64_t draw, TimeMs time);
  // Every draw with a time, ascending.
  std::vector<std::pair<std::uint64_t, TimeMs>> all() const;
  // The largest time; only where there is one.
  TimeMs latest() const;
  // Asks for the memory of the draw's time, which will be read soon.
  void prefetch(std::uint64_t draw) const {
    if (draw < near_.size()) gapwatch::prefetch(&near_[draw]);
  }
  bool empty() const { return near_.empty() && far_.empty(); }
  std::size_t heap_bytes() const { return near_.capacity() * sizeof near_[0] + far_.capacity() * sizeof far_[0]; }

 private:
  std::uint64_t near_limit() const;
  bool fits(TimeMs time) const;
  void set_near(std::uint64_t draw, TimeMs time);
  void take_near();

  std::uint64_t near_count_ = 0;                         // times in near_
  TimeMs base_ = 0;                                      // a time is base_ + its number in near_
  std::vector<std::uint32_t> near_;                      // by draw; 0: none
  std::vector<std::pair<std::uint64_t, TimeMs>> far_;    // ascending
};

}  // namespace gapwatch::state
