#include "state/history.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "state/bytes.h"
#include "state/keys.h"

namespace gapwatch::state {
namespace {

using std::chrono::duration_cast;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;

constexpr std::uint8_t kSampleVersion = 1;
constexpr const char* kStates[] = {"collecting", "insufficient", "quiet", "evidence", "acknowledged", "stale"};
constexpr std::uint8_t kUnknownState = 7;
constexpr std::uint8_t kRedealAlarm = 8, kMarginAlarm = 16, kPaired = 32;
constexpr std::uint8_t kLook = 31;  // state and alarms

// Up to this age, one sample a step. Each step is a multiple of the one before.
struct Tier {
  milliseconds age, step;
};
constexpr Tier kTiers[] = {{hours(1), milliseconds(1)},
                           {hours(24), minutes(1)},
                           {hours(24 * 14), minutes(10)},
                           {hours(24 * 366), hours(3)}};

Error damaged() { return refuse("a sample of the history is damaged or of a later version"); }

std::uint8_t flags_of(const HistorySample& sample) {
  const auto at = std::find(std::begin(kStates), std::end(kStates), sample.state);
  auto flags = at == std::end(kStates) ? kUnknownState : static_cast<std::uint8_t>(at - std::begin(kStates));
  if (sample.redeal.alarm) flags |= kRedealAlarm;
  if (sample.margin.alarm) flags |= kMarginAlarm;
  if (sample.paired) flags |= kPaired;
  return flags;
}

void put(ByteWriter& out, const std::optional<double>& number) {
  out.real(number.value_or(std::numeric_limits<double>::quiet_NaN()));
}

void put(ByteWriter& out, const HistoryNull& null) {
  for (const auto* number : {&null.mean, &null.p05, &null.p95, &null.excess}) put(out, *number);
}

std::optional<double> number(ByteReader& in) {
  const double value = in.real();
  return value == value ? std::optional<double>(value) : std::nullopt;
}

HistoryNull null_law(ByteReader& in) {
  HistoryNull out;
  for (auto* into : {&out.mean, &out.p05, &out.p95, &out.excess}) *into = number(in);
  return out;
}

std::string monitor_prefix(std::string_view monitor) {
  ByteWriter out;
  out.u8(static_cast<std::uint8_t>(KeyKind::kHistory));
  out.string(monitor);
  return out.take();
}

std::string sample_key(std::string_view monitor, TimeMs at) {
  ByteWriter out;
  out.rest(monitor_prefix(monitor));
  out.be32(static_cast<std::uint32_t>(static_cast<std::uint64_t>(at) >> 32));
  out.be32(static_cast<std::uint32_t>(at));
  return out.take();
}

TimeMs time_of(ByteReader& in) {
  const auto high = std::uint64_t{in.be32()};
  return static_cast<TimeMs>(high << 32 | in.be32());
}

Result<HistoryMark> mark_of(std::string_view bytes, TimeMs at) {
  ByteReader in(bytes);
  const bool known = in.u8() == kSampleVersion;
  const auto flags = in.u8();
  if (!known || !in.ok()) return damaged();
  return HistoryMark{at, static_cast<std::uint8_t>(flags & kLook)};
}

void insert(std::vector<HistoryMark>& marks, HistoryMark mark) {
  const auto before = [](const HistoryMark& a, TimeMs at) { return a.at < at; };
  const auto place = std::lower_bound(marks.begin(), marks.end(), mark.at, before);
  if (place != marks.end() && place->at == mark.at) {
    *place = mark;
  } else {
    marks.insert(place, mark);
  }
}

// The last mark of each step, and with `changes` every one that looks unlike the one before.
std::vector<HistoryMark> stepped(std::span<const HistoryMark> marks, TimeMs step, bool changes) {
  std::vector<HistoryMark> out;
  for (std::size_t i = 0; i < marks.size(); ++i) {
    const bool last = i + 1 == marks.size() || marks[i].at / step != marks[i + 1].at / step;
    const bool change = changes && (i == 0 || marks[i].look != marks[i - 1].look);
    if (last || change) out.push_back(marks[i]);
  }
  return out;
}

}  // namespace

std::string encode_sample(const HistorySample& sample) {
  ByteWriter out;
  out.u8(kSampleVersion);
  out.u8(flags_of(sample));
  for (const auto count : {sample.complete, sample.prompts, sample.trials}) out.varint(count);
  for (const auto* value : {&sample.comparator, &sample.ceiling, &sample.union_rate, &sample.union_upper,
                            &sample.noise_share, &sample.redeal.log10_e, &sample.margin.log10_e}) {
    put(out, *value);
  }
  out.varint(sample.thresholds.size());
  for (const auto& at : sample.thresholds) {
    out.real(at.tau);
    put(out, at.gap);
    put(out, at.redeal);
    put(out, at.margin);
  }
  return out.take();
}

Result<HistorySample> decode_sample(std::string_view bytes, TimeMs at) {
  ByteReader in(bytes);
  if (in.u8() != kSampleVersion) return damaged();
  const auto flags = in.u8();
  const auto state = static_cast<std::size_t>(flags & kUnknownState);
  HistorySample out;
  out.at = at;
  out.state = state < std::size(kStates) ? kStates[state] : "unknown";
  out.redeal.alarm = (flags & kRedealAlarm) != 0;
  out.margin.alarm = (flags & kMarginAlarm) != 0;
  out.paired = (flags & kPaired) != 0;
  for (auto* count : {&out.complete, &out.prompts, &out.trials}) *count = in.varint();
  for (auto* value : {&out.comparator, &out.ceiling, &out.union_rate, &out.union_upper, &out.noise_share,
                      &out.redeal.log10_e, &out.margin.log10_e}) {
    *value = number(in);
  }
  const auto thresholds = in.varint();
  if (thresholds > in.left()) return damaged();
  for (std::uint64_t t = 0; t < thresholds; ++t) {
    HistoryThreshold threshold;
    threshold.tau = in.real();
    threshold.gap = number(in);
    threshold.redeal = null_law(in);
    threshold.margin = null_law(in);
    out.thresholds.push_back(threshold);
  }
  if (!in.done()) return damaged();
  return out;
}

std::vector<HistoryMark> thinned(std::span<const HistoryMark> marks, TimeMs now) {
  std::vector<HistoryMark> out;
  for (std::size_t i = 0; i < marks.size(); ++i) {
    const auto age = milliseconds(now - marks[i].at);
    const auto* tier = std::find_if(std::begin(kTiers), std::end(kTiers), [&](const Tier& t) { return age <= t.age; });
    if (tier == std::end(kTiers)) continue;
    const auto step = tier->step.count();
    const bool last = i + 1 == marks.size() || marks[i].at / step != marks[i + 1].at / step;
    const bool change = i == 0 || marks[i].look != marks[i - 1].look;
    if (last || change) out.push_back(marks[i]);
  }
  return out;
}

Status History::open() {
  const std::lock_guard lock(mutex_);
  const std::string kind(1, static_cast<char>(KeyKind::kHistory));
  return store_->scan(kind, [&](std::string_view key, std::string_view value) -> Status {
    ByteReader in(key.substr(1));
    const auto monitor = in.string();
    const auto at = time_of(in);
    if (!in.done()) return damaged();
    const auto mark = mark_of(value, at);
    if (!mark) return mark.error();
    marks_[std::string(monitor)].push_back(*mark);
    return {};
  });
}

Status History::append(const std::string& monitor, const HistorySample& sample) {
  waiting_.push_back({monitor, encode_sample(sample), {sample.at, static_cast<std::uint8_t>(flags_of(sample) & kLook)}});
  if (waiting_.size() > kMostWaiting) waiting_.pop_front();
  return write_waiting();
}

// What thinning at the newest time takes away is erased in the same batch.
Status History::write_waiting() {
  WriteBatch batch;
  Marks changed;
  for (const auto& waiting : waiting_) {
    batch.put(sample_key(waiting.monitor, waiting.mark.at), waiting.bytes);
    auto [at, fresh] = changed.try_emplace(waiting.monitor);
    if (fresh) at->second = marks_of(waiting.monitor);
    insert(at->second, waiting.mark);
  }
  for (auto& [monitor, marks] : changed) {
    auto kept = thinned(marks, marks.back().at);
    if (kept.size() > kMostSamples) kept.erase(kept.begin(), kept.end() - kMostSamples);
    std::vector<HistoryMark> gone;
    std::set_difference(marks.begin(), marks.end(), kept.begin(), kept.end(), std::back_inserter(gone),
                        [](const HistoryMark& a, const HistoryMark& b) { return a.at < b.at; });
    for (const auto& mark : gone) batch.erase(sample_key(monitor, mark.at));
    marks = std::move(kept);
  }
  if (auto status = store_->write(batch); !status) return status;
  waiting_.clear();
  const std::lock_guard lock(mutex_);
  for (auto& [monitor, marks] : changed) marks_[monitor] = std::move(marks);
  return {};
}

std::vector<HistoryMark> History::marks_of(const std::string& monitor) const {
  const std::lock_guard lock(mutex_);
  const auto known = marks_.find(monitor);
  return known == marks_.end() ? std::vector<HistoryMark>() : known->second;
}

HistoryChoice chosen(std::span<const HistoryMark> marks, TimeMs step, std::size_t most) {
  HistoryChoice out{step, {marks.begin(), marks.end()}};
  if (step > 0) out.marks = stepped(marks, step, true);
  while (out.marks.size() > most) {
    const auto even = (marks.back().at - marks.front().at) / static_cast<TimeMs>(most) + 1;
    out.step = std::max(even, 2 * out.step);
    out.marks = stepped(marks, out.step, true);
    // Where it is the changes that are too many, they cannot all be shown.
    if (out.marks.size() > most) out.marks = stepped(marks, out.step, false);
  }
  return out;
}

Result<HistorySlice> History::read(const std::string& monitor, TimeMs from, TimeMs to, TimeMs step) const {
  auto marks = marks_of(monitor);
  std::erase_if(marks, [&](const HistoryMark& mark) { return mark.at < from || mark.at > to; });
  const auto choice = chosen(marks, step, kMostAnswered);
  HistorySlice out{choice.step, {}};
  auto next = choice.marks.begin();
  const auto prefix = monitor_prefix(monitor);
  auto status = store_->scan(prefix, [&](std::string_view key, std::string_view value) -> Status {
    ByteReader in(key.substr(prefix.size()));
    const auto at = time_of(in);
    while (next != choice.marks.end() && next->at < at) ++next;
    if (next == choice.marks.end() || next->at != at) return {};
    auto sample = decode_sample(value, at);
    if (!sample) return sample.error();
    out.samples.push_back(std::move(*sample));
    return {};
  });
  if (!status) return status.error();
  return out;
}

std::size_t History::size(const std::string& monitor) const { return marks_of(monitor).size(); }

}  // namespace gapwatch::state
