// History: what each monitor showed at its evaluations, kept in the store and thinned with age.
//
// Every sample kept is one that was: nothing is averaged. Of the last hour all are kept; of older ones the
// last of each minute (to a day), of each ten minutes (to a fortnight), of each three hours (to a year), and
// none beyond. The first sample, and one whose state or alarm differs from the one before it, stays as long as its
// year lasts, so the moment of an alarm is never thinned away. At most kMostSamples are kept of a monitor, the newest.
//
// Threads: open() and append() are one thread's; read() is any thread's.
// Cost: append() is one synced write and one pass over the monitor's times; read() reads the monitor's samples.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "state/store.h"

namespace gapwatch::state {

// The oracle gap under one null law; absent numbers are undefined.
struct HistoryNull {
  std::optional<double> mean, p05, p95, excess;
  friend bool operator==(const HistoryNull&, const HistoryNull&) = default;
};

struct HistoryThreshold {
  double tau = 0;
  std::optional<double> gap;  // as compared with the nulls
  HistoryNull redeal, margin;
  friend bool operator==(const HistoryThreshold&, const HistoryThreshold&) = default;
};

struct HistoryEvidence {
  std::optional<double> log10_e;
  bool alarm = false;
  friend bool operator==(const HistoryEvidence&, const HistoryEvidence&) = default;
};

struct HistorySample {
  TimeMs at = 0;      // when the evaluated table was taken
  std::string state;  // of interfaces.md; any other is kept as "unknown"
  std::uint64_t complete = 0, prompts = 0, trials = 0;
  bool paired = false;  // the coupling of the union and the noise share
  std::optional<double> comparator, ceiling, union_rate, union_upper, noise_share;
  HistoryEvidence redeal, margin;
  std::vector<HistoryThreshold> thresholds;
  friend bool operator==(const HistorySample&, const HistorySample&) = default;
};

std::string encode_sample(const HistorySample& sample);
// The time is the key's, and is not in the bytes.
Result<HistorySample> decode_sample(std::string_view bytes, TimeMs at);

// What thinning looks at: when, and the state with the alarms as one number.
struct HistoryMark {
  TimeMs at = 0;
  std::uint8_t look = 0;
  friend bool operator==(const HistoryMark&, const HistoryMark&) = default;
};
// The marks, ascending, that are still kept at `now`. Thinning often or once gives the same.
std::vector<HistoryMark> thinned(std::span<const HistoryMark> marks, TimeMs now);

// The times of [from, to] that a slice of this step shows, and the step that it has (History::read).
struct HistoryChoice {
  TimeMs step = 0;
  std::vector<HistoryMark> marks;
};
HistoryChoice chosen(std::span<const HistoryMark> marks, TimeMs step, std::size_t most);

struct HistorySlice {
  TimeMs step = 0;  // the last sample of each so many milliseconds, and the changes; 0: all that are kept
  std::vector<HistorySample> samples;  // ascending
};

class History {
 public:
  static constexpr std::size_t kMostSamples = 12'000;  // of one monitor
  static constexpr std::size_t kMostAnswered = 2'000;  // in one slice

  // `store` outlives the history; null: kept in memory only.
  explicit History(Store* store) : store_(store != nullptr ? store : &own_store_) {}

  // Reads what there is; refuses bytes that it does not know. Call once, first.
  Status open();
  // kRetry: the sample waits (with at most kMostWaiting others) and is written with the next.
  Status append(const std::string& monitor, const HistorySample& sample);
  // Samples of [from, to]. Where more than kMostAnswered remain at `step`, it is made larger until they fit.
  Result<HistorySlice> read(const std::string& monitor, TimeMs from, TimeMs to, TimeMs step) const;
  // How many samples are kept of it.
  std::size_t size(const std::string& monitor) const;

 private:
  static constexpr std::size_t kMostWaiting = 100;
  struct Waiting {
    std::string monitor, bytes;
    HistoryMark mark;
  };
  using Marks = std::map<std::string, std::vector<HistoryMark>, std::less<>>;
  Status write_waiting();
  std::vector<HistoryMark> marks_of(const std::string& monitor) const;

  Store* store_;
  MemoryStore own_store_;
  std::deque<Waiting> waiting_;  // of the thread that appends
  mutable std::mutex mutex_;
  Marks marks_;
};

}  // namespace gapwatch::state
