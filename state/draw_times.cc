#include "state/draw_times.h"

#include <algorithm>
#include <limits>

namespace gapwatch::state {
namespace {

constexpr std::uint64_t kNearDraws = 4'096, kStep = 8;
constexpr TimeMs kHalfSpan = TimeMs{1} << 31;

bool before(const std::pair<std::uint64_t, TimeMs>& entry, std::uint64_t draw) { return entry.first < draw; }

}  // namespace

std::optional<TimeMs> DrawTimes::get(std::uint64_t draw) const {
  if (draw < near_.size() && near_[draw] != 0) return base_ + near_[draw];
  const auto at = std::lower_bound(far_.begin(), far_.end(), draw, before);
  return at != far_.end() && at->first == draw ? std::optional(at->second) : std::nullopt;
}

void DrawTimes::set(std::uint64_t draw, TimeMs time) {
  if (near_.empty()) base_ = time - kHalfSpan;
  const TimeMs offset = time - base_;
  const bool fits = draw < kNearDraws && draw < 4 * near_.size() + 64 && offset > 0 && offset < 2 * kHalfSpan;
  const auto at = std::lower_bound(far_.begin(), far_.end(), draw, before);
  const bool is_far = at != far_.end() && at->first == draw;
  if (fits) {
    if (draw >= near_.size()) {
      const auto size = (draw / kStep + 1) * kStep;
      near_.reserve(size);
      near_.resize(size);
    }
    near_[draw] = static_cast<std::uint32_t>(offset);
    if (is_far) far_.erase(at);
    return;
  }
  if (draw < near_.size()) near_[draw] = 0;
  if (is_far) {
    at->second = time;
  } else {
    far_.insert(at, {draw, time});
  }
}

TimeMs DrawTimes::latest() const {
  TimeMs latest = std::numeric_limits<TimeMs>::min();
  if (!near_.empty()) {
    if (const auto most = *std::max_element(near_.begin(), near_.end()); most != 0) latest = base_ + most;
  }
  for (const auto& [draw, time] : far_) latest = std::max(latest, time);
  return latest;
}

std::vector<std::pair<std::uint64_t, TimeMs>> DrawTimes::all() const {
  auto out = far_;
  for (std::uint64_t draw = 0; draw < near_.size(); ++draw) {
    if (near_[draw] != 0) out.emplace_back(draw, base_ + near_[draw]);
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace gapwatch::state
