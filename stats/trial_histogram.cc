#include "stats/trial_histogram.h"

#include <algorithm>

namespace gapwatch::stats {

void TrialHistogram::add_beyond(std::uint32_t trials, std::int64_t cells) {
  if (cells == 0) return;
  if (trials < kSmall) {
    small_.resize(trials + 1);
    small_[trials] += cells;
    return;
  }
  const auto at = large_.try_emplace(trials, 0).first;
  at->second += cells;
  if (at->second == 0) large_.erase(at);
}

void TrialHistogram::merge(const TrialHistogram& other) {
  other.for_each([this](std::uint32_t trials, std::int64_t cells) { add(trials, cells); });
}

std::int64_t TrialHistogram::total() const {
  std::int64_t sum = 0;
  for_each([&](std::uint32_t, std::int64_t cells) { sum += cells; });
  return sum;
}

std::uint32_t TrialHistogram::at_rank(std::int64_t rank) const {
  std::uint32_t found = 0;
  std::int64_t below = 0;
  for_each([&](std::uint32_t trials, std::int64_t cells) {
    if (below <= rank) found = trials;
    below += cells;
  });
  return found;
}

bool operator==(const TrialHistogram& a, const TrialHistogram& b) {
  const auto& longer = a.small_.size() >= b.small_.size() ? a.small_ : b.small_;
  const auto& shorter = a.small_.size() >= b.small_.size() ? b.small_ : a.small_;
  const auto rest = longer.begin() + static_cast<std::ptrdiff_t>(shorter.size());
  return std::equal(shorter.begin(), shorter.end(), longer.begin()) &&
         std::all_of(rest, longer.end(), [](std::int64_t cells) { return cells == 0; }) && a.large_ == b.large_;
}

}  // namespace gapwatch::stats
