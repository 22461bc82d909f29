// Catalog: the names of this process, and which monitor looks at which channel.
//
// A channel is one (eval, scorer). Each has its own columns: policies in order of first sight. A
// monitor sees one channel through its pool: policies by name, so nothing it reports depends on
// arrival. A monitor with an automatic pool grows with its channel; without configured monitors every
// channel gets one with an automatic pool.
//
// Threads: owned by the ledger's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "config/settings.h"
#include "state/names.h"
#include "stats/running.h"

namespace gapwatch::state {

using MonitorIndex = std::uint32_t;
inline constexpr TimeMs kNoTime = std::numeric_limits<TimeMs>::min();

// From and up to, without the end; without bounds unless said.
struct TimeSpan {
  TimeMs from = std::numeric_limits<TimeMs>::min(), to = std::numeric_limits<TimeMs>::max();
  bool has(TimeMs time) const { return time >= from && time < to; }
  friend bool operator==(const TimeSpan&, const TimeSpan&) = default;
};

// Of a stream whose latest event time is `latest`.
TimeSpan window_span(const config::Window& window, TimeMs latest);

struct Channel {
  std::uint32_t eval = 0;  // id in Catalog::evals()
  std::string eval_name, scorer;
  NameTable policies;  // id: column
  std::vector<MonitorIndex> monitors;
  bool said_unwatched = false;  // in the log
  TimeMs latest = kNoTime;      // of the draws counted
  TimeMs late_before =
      kNoTime;  // where the last window by time begins: what comes with an earlier time is late
  std::vector<TimeMs> last_of;  // by column: of its draws; kNoTime: not known
  std::vector<bool> undated;    // by column: has responses of which nobody said when they were
  std::vector<bool> erased;     // by column: not heard of for state.retain, as of go_on()
  bool all_erased = false;      // of all that were ever heard of
};

struct MonitorDef {
  config::Monitor config;
  ChannelId channel;
  bool automatic = false;              // the pool is every policy of the channel
  std::vector<std::string> pool;       // by name
  std::vector<std::uint32_t> columns;  // of each pool policy; kNoColumn while it was never seen
  std::optional<SliceId> slice;
  TimeSpan span;         // of a window by time: where it is now
  bool retired = false;  // made by itself, and none of its policies is heard of any more
  stats::SumsSpec spec;
  std::uint32_t generation = 0;  // counts changes of the pool, its columns and the span
};
inline constexpr std::uint32_t kNoColumn = UINT32_MAX;

class Catalog {
 public:
  explicit Catalog(const config::Settings& settings);

  // The channel of (eval, scorer), made at first sight.
  ChannelId channel(std::string_view eval, std::string_view scorer);
  const Channel& at(ChannelId id) const { return *channels_[id.value]; }
  // Channels that no automatic monitor was made for, because of the cap; their counts are kept all the same.
  std::uint32_t beyond_monitor_cap() const { return beyond_monitor_cap_; }
  // Says in the log, once a channel, that its events are counted and nobody looks at them.
  void say_unwatched(ChannelId id);
  std::uint32_t channel_count() const { return static_cast<std::uint32_t>(channels_.size()); }

  enum class Refusal { kNone, kUnknownPolicy, kTooManyPolicies };
  struct Column {
    std::uint32_t index = kNoColumn;
    Refusal refusal = Refusal::kNone;
  };
  // The column of a policy in a channel, made at first sight unless every pool is closed to it or
  // the cap is reached.
  Column column(ChannelId channel, std::string_view policy);
  // The same for a policy that is in the store already: never refused.
  std::uint32_t stored_column(ChannelId channel, std::string_view policy);

  // A draw of this time was counted in the column.
  void heard(ChannelId channel, std::uint32_t column, TimeMs time);
  // The same, read from the store.
  void known(ChannelId channel, std::uint32_t column, TimeMs time);
  // A response of unknown time was counted in the column: it is never silent.
  void undated(ChannelId channel, std::uint32_t column);
  void count_late(ChannelId channel, TimeMs time) { late_ += time < channels_[channel.value]->late_before; }
  std::uint64_t late() const {
    return late_;
  }  // draws that came with a time before their window, since the start
  // Windows by time go on to where the stream is, and pools without who is not heard of any more. No event is
  // believed to be of a time after `now`. With `erase`, the channels of which nothing is to be kept from now
  // on.
  std::vector<ChannelId> go_on(TimeMs now, bool erase);
  // Whether anything asks when a draw was.
  bool keeps_times() const { return keeps_times_; }
  // The whole stream's time as of go_on(), by which retire and state.retain go: about the middle of the
  // latest times. A draw moves it by no more than 1/64 of the shortest period that asks, so that a few from
  // the future do not; and it never goes back. kNoTime: too few draws so far, nobody is silent.
  TimeMs stream_time() const { return stream_time_; }
  void set_stream_time(TimeMs time) {  // as it was before a restart
    stream_time_ = middle_ = time;
    heard_ = kFewestHeard;
  }
  // Whether the column was not heard of for `after`, by the stream's time as of go_on(). 0: never. Nor is one
  // with responses of unknown time.
  bool silent(const Channel& channel, std::uint32_t column, std::chrono::milliseconds after) const;

  // Grows with every column, or channel, that has become one to erase.
  std::uint32_t erase_round() const { return erase_round_; }
  bool erased(const Channel& channel, std::uint32_t column) const {
    return column < channel.erased.size() && channel.erased[column];
  }
  // All channels of the eval are.
  bool eval_erased(std::uint32_t eval) const;

  // Adds a monitor on the channel of its eval and scorer (the default scorer where it names none).
  void add_monitor(const config::Monitor& monitor);
  // Drops all monitors and makes those of the settings as they are now.
  void replace_monitors();
  const std::vector<std::unique_ptr<MonitorDef>>& monitors() const { return monitors_; }
  SliceId slice(std::string_view name) { return {slices_.intern(name)}; }
  const std::string& slice_name(SliceId id) const { return slices_.name(id.value); }
  RouterId router(std::string_view name) { return {routers_.intern(name)}; }
  const std::string& router_name(RouterId id) const { return routers_.name(id.value); }
  PolicyId policy(std::string_view name) { return {policies_.intern(name)}; }
  const std::string& policy_name(PolicyId id) const { return policies_.name(id.value); }
  std::uint32_t eval(std::string_view name) { return evals_.intern(name); }
  const NameTable& evals() const { return evals_; }

 private:
  void add_automatic_monitor(ChannelId id);
  void add_monitor_to(ChannelId id, const config::Monitor& config);
  std::uint32_t add_column(Channel& channel, std::string_view policy);
  std::vector<std::string> heard_of(const MonitorDef& monitor, const Channel& channel) const;
  void look_for_silence(Channel& channel);
  void go_by(std::chrono::milliseconds period);
  void set_pool(MonitorDef& monitor, const Channel& channel);

  const config::Settings& settings_;
  std::vector<std::unique_ptr<Channel>> channels_;
  std::vector<std::unique_ptr<MonitorDef>> monitors_;
  NameTable channel_keys_, slices_, routers_, policies_, evals_;
  std::string key_;  // scratch
  std::uint32_t beyond_monitor_cap_ = 0;
  std::uint32_t unwatched_ = 0;  // channels said to be
  std::uint64_t late_ = 0;
  bool keeps_times_ = false;
  std::uint32_t erase_round_ = 0;
  static constexpr std::uint32_t kFewestHeard = 64;
  TimeMs stream_time_ = kNoTime;
  TimeMs middle_ = kNoTime;  // of the latest times; may go back
  std::uint32_t heard_ = 0;  // draws, up to kFewestHeard
  std::int64_t time_step_ = 0;
};

}  // namespace gapwatch::state
