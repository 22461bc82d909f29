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

// How far an index may be beyond the number of draws.
std::uint64_t DrawTimes::near_limit() const { return std::min(kNearDraws, 4 * (near_count_ + far_.size()) + 64); }

bool DrawTimes::fits(TimeMs time) const { return time - base_ > 0 && time - base_ < 2 * kHalfSpan; }

void DrawTimes::set_near(std::uint64_t draw, TimeMs time) {
  if (draw >= near_.size()) {
    const auto size = (draw / kStep + 1) * kStep;
    near_.reserve(size);
    near_.resize(size);
  }
  near_count_ += near_[draw] == 0;
  near_[draw] = static_cast<std::uint32_t>(time - base_);
}

// More draws let more of those be near that came when they were far.
void DrawTimes::take_near() {
  const auto end = std::lower_bound(far_.begin(), far_.end(), near_limit(), before);
  auto kept = far_.begin();
  for (auto at = far_.begin(); at != end; ++at) {
    if (fits(at->second)) {
      set_near(at->first, at->second);
    } else {
      *kept++ = *at;
    }
  }
  far_.erase(kept, end);
  if (far_.empty()) decltype(far_)().swap(far_);  // with its memory
}

void DrawTimes::set(std::uint64_t draw, TimeMs time) {
  if (near_count_ == 0) base_ = time - kHalfSpan;
  const auto at = std::lower_bound(far_.begin(), far_.end(), draw, before);
  const bool is_far = at != far_.end() && at->first == draw;
  if (draw < near_limit() && fits(time)) {
    if (is_far) far_.erase(at);
    const bool grows = draw >= near_.size();
    set_near(draw, time);
    if (grows && !far_.empty()) take_near();
    return;
  }
  if (draw < near_.size() && near_[draw] != 0) {
    near_[draw] = 0;
    --near_count_;
  }
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
  std::vector<std::pair<std::uint64_t, TimeMs>> out;
  out.reserve(near_.size() + far_.size());
  for (std::uint64_t draw = 0; draw < near_.size(); ++draw) {
    if (near_[draw] != 0) out.emplace_back(draw, base_ + near_[draw]);
  }
  const auto near = static_cast<std::ptrdiff_t>(out.size());
  out.insert(out.end(), far_.begin(), far_.end());
  std::inplace_merge(out.begin(), out.begin() + near, out.end());
  return out;
}

}  // namespace gapwatch::state
