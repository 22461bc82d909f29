#include "state/catalog.h"

#include <algorithm>
#include <numeric>

#include "base/log.h"

namespace gapwatch::state {
namespace {

// A monitor made for a channel nobody configured is named after it, in characters fit for a path.
std::string automatic_name(const Channel& channel, const std::string& default_scorer) {
  std::string name = channel.eval_name;
  if (channel.scorer != default_scorer) name += "." + channel.scorer;
  for (char& c : name) {
    const bool fit = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
                     c == '-' || c == '_';
    if (!fit) c = '_';
  }
  return name;
}

std::chrono::milliseconds shorter(std::chrono::milliseconds a, std::chrono::milliseconds b) {
  if (a.count() == 0 || b.count() == 0) return std::max(a, b);
  return std::min(a, b);
}

}  // namespace

TimeSpan window_span(const config::Window& window, TimeMs latest) {
  const auto step = window.step.count();
  const auto time = latest - window.lateness.count();
  const auto past = ((time % step) + step) % step;  // times before 1970 are negative
  const auto end = time - past + step;
  return {end - window.size.count(), end};
}

Catalog::Catalog(const config::Settings& settings) : settings_(settings) {
  slices_.intern("");  // id 0: no slice
  keeps_times_ = settings.events.later_wins || settings.state.retain.count() > 0;
  go_by(settings.state.retain);
  for (const auto& monitor : settings.monitors) add_monitor(monitor);
}

void Catalog::add_monitor(const config::Monitor& monitor) {
  add_monitor_to(channel(monitor.eval, monitor.scorer.empty() ? settings_.events.scorer : monitor.scorer),
                 monitor);
}

ChannelId Catalog::channel(std::string_view eval, std::string_view scorer) {
  key_.clear();
  key_.append(std::to_string(eval.size())).append(":").append(eval).append(scorer);
  if (const auto known = channel_keys_.find(key_)) return {*known};
  const ChannelId id{channel_keys_.intern(key_)};
  auto made = std::make_unique<Channel>();
  made->eval = evals_.intern(eval);
  made->eval_name = eval;
  made->scorer = scorer;
  channels_.push_back(std::move(made));
  add_automatic_monitor(id);
  return id;
}

void Catalog::say_unwatched(ChannelId id) {
  constexpr std::uint32_t kMost = 20;
  Channel& channel = *channels_[id.value];
  if (settings_.monitors.empty() || channel.said_unwatched || unwatched_ == kMost) return;
  channel.said_unwatched = true;
  std::string watched;
  for (const auto& monitor : monitors_) {
    const Channel& its = at(monitor->channel);
    watched +=
        (watched.empty() ? "" : ", ") + monitor->config.name + " (" + its.eval_name + ", " + its.scorer + ")";
  }
  log::warn("events of eval \"" + log::printable(channel.eval_name, 64) + "\", scorer \"" +
            log::printable(channel.scorer, 64) + "\" are counted, but no monitor watches them; there are: " +
            log::printable(watched, 400) + (++unwatched_ == kMost ? " (more such are not said)" : ""));
}

// Where no monitor is configured, every channel gets one, up to the cap.
void Catalog::add_automatic_monitor(ChannelId id) {
  if (!settings_.monitors.empty()) return;
  if (monitors_.size() >= settings_.max_monitors) {
    ++beyond_monitor_cap_;
    return;
  }
  const Channel& channel = at(id);
  config::Monitor automatic = settings_.automatic_monitor;
  automatic.name = automatic_name(channel, settings_.events.scorer);
  const auto taken = [&](const std::string& name) {
    return std::any_of(monitors_.begin(), monitors_.end(),
                       [&](const auto& m) { return m->config.name == name; });
  };
  const auto base = automatic.name;
  for (int n = 2; taken(automatic.name); ++n) automatic.name = base + "-" + std::to_string(n);
  automatic.eval = channel.eval_name;
  automatic.scorer = channel.scorer;
  add_monitor_to(id, automatic);
}

void Catalog::replace_monitors() {
  monitors_.clear();
  beyond_monitor_cap_ = 0;
  for (const auto& channel : channels_) {
    channel->monitors.clear();
    channel->late_before = kNoTime;
  }
  for (const auto& monitor : settings_.monitors) add_monitor(monitor);
  for (std::uint32_t id = 0; id < channel_count(); ++id) add_automatic_monitor({id});
}

void Catalog::add_monitor_to(ChannelId id, const config::Monitor& config) {
  auto made = std::make_unique<MonitorDef>();
  made->config = config;
  made->channel = id;
  made->automatic = config.policies.empty();
  if (config.slice) made->slice = slice(*config.slice);
  made->spec.thresholds = config.thresholds;
  made->spec.band_low = config.band_low;
  made->spec.band_high = config.band_high;
  made->spec.completeness = {config.min_trials, config.missing_as_fail};
  keeps_times_ |= settings_.events.later_wins || settings_.state.retain.count() > 0 ||
                  config.window.by_time() || config.retire.count() > 0;
  go_by(config.retire);
  set_pool(*made, at(id));
  channels_[id.value]->monitors.push_back(static_cast<MonitorIndex>(monitors_.size()));
  monitors_.push_back(std::move(made));
}

std::vector<std::string> Catalog::heard_of(const MonitorDef& monitor, const Channel& channel) const {
  const auto retire = shorter(monitor.config.retire, settings_.state.retain);
  std::vector<std::string> pool;
  for (std::uint32_t column = 0; column < channel.policies.size(); ++column) {
    if (!silent(channel, column, retire)) pool.push_back(channel.policies.name(column));
  }
  std::sort(pool.begin(), pool.end());
  return pool;
}

void Catalog::set_pool(MonitorDef& monitor, const Channel& channel) {
  monitor.pool = monitor.automatic ? heard_of(monitor, channel) : monitor.config.policies;
  std::sort(monitor.pool.begin(), monitor.pool.end());
  monitor.columns.clear();
  for (const auto& policy : monitor.pool)
    monitor.columns.push_back(channel.policies.find(policy).value_or(kNoColumn));
  monitor.spec.pool_size = monitor.pool.size();
  ++monitor.generation;
}

// Who is silent for `period` is told from who is not by steps of the stream's time this small.
void Catalog::go_by(std::chrono::milliseconds period) {
  constexpr std::int64_t kSteps = 64;
  if (period.count() == 0) return;
  const auto step = std::max<std::int64_t>(1, period.count() / kSteps);
  time_step_ = time_step_ == 0 ? step : std::min(time_step_, step);
}

void Catalog::heard(ChannelId id, std::uint32_t column, TimeMs time) {
  if (time_step_ > 0) {
    if (heard_ < kFewestHeard) {  // from the first of them on: the first one may be from anywhere
      middle_ = heard_++ == 0 ? time : std::min(middle_, time);
    } else {
      middle_ = std::clamp(time, middle_ - time_step_, middle_ + time_step_);
    }
  }
  known(id, column, time);
}

void Catalog::known(ChannelId id, std::uint32_t column, TimeMs time) {
  Channel& channel = *channels_[id.value];
  channel.latest = std::max(channel.latest, time);
  if (channel.last_of.size() <= column) channel.last_of.resize(column + 1, kNoTime);
  channel.last_of[column] = std::max(channel.last_of[column], time);
  if (!erased(channel, column) || silent(channel, column, settings_.state.retain)) return;
  channel.erased[column] = channel.all_erased = false;
}

void Catalog::undated(ChannelId id, std::uint32_t column) {
  Channel& channel = *channels_[id.value];
  if (column < channel.undated.size() && channel.undated[column]) return;
  channel.undated.resize(std::max<std::size_t>(channel.undated.size(), column + 1));
  channel.undated[column] = true;
  if (column < channel.erased.size()) channel.erased[column] = channel.all_erased = false;
}

bool Catalog::silent(const Channel& channel, std::uint32_t column, std::chrono::milliseconds after) const {
  if (after.count() == 0 || column >= channel.last_of.size() || channel.last_of[column] == kNoTime)
    return false;
  if (column < channel.undated.size() && channel.undated[column]) return false;
  return stream_time_ != kNoTime && channel.last_of[column] < stream_time_ - after.count();
}

// Which columns are to be erased now.
void Catalog::look_for_silence(Channel& channel) {
  bool all = channel.policies.size() > 0, more = false;
  channel.erased.resize(channel.policies.size());
  for (std::uint32_t column = 0; column < channel.policies.size(); ++column) {
    const bool is_silent = silent(channel, column, settings_.state.retain);
    more |= is_silent && !channel.erased[column];
    channel.erased[column] = is_silent;
    all &= is_silent;
  }
  erase_round_ += more;
  channel.all_erased = all;
}

bool Catalog::eval_erased(std::uint32_t eval) const {
  return std::all_of(channels_.begin(), channels_.end(),
                     [&](const auto& channel) { return channel->eval != eval || channel->all_erased; });
}

std::vector<ChannelId> Catalog::go_on(TimeMs now, bool erase) {
  std::vector<ChannelId> ended;
  if (heard_ == kFewestHeard) stream_time_ = std::max(stream_time_, std::min(middle_, now));
  for (std::uint32_t id = 0; id < channel_count() && erase; ++id) {
    const bool before = channels_[id]->all_erased;
    look_for_silence(*channels_[id]);
    if (channels_[id]->all_erased && !before) ended.push_back({id});
  }
  for (const auto& monitor : monitors_) {
    Channel& channel = *channels_[monitor->channel.value];
    if (monitor->config.window.by_time() && channel.latest != kNoTime) {
      const auto span = window_span(monitor->config.window, std::min(channel.latest, now));
      if (span != monitor->span) ++monitor->generation;
      monitor->span = span;
      channel.late_before = std::max(channel.late_before, span.from);
    }
    if (!monitor->automatic || shorter(monitor->config.retire, settings_.state.retain).count() == 0) continue;
    if (heard_of(*monitor, channel) != monitor->pool) set_pool(*monitor, channel);
    monitor->retired = settings_.monitors.empty() && monitor->pool.empty();
  }
  return ended;
}

Catalog::Column Catalog::column(ChannelId id, std::string_view policy) {
  Channel& channel = *channels_[id.value];
  if (const auto known = channel.policies.find(policy)) return {*known, Refusal::kNone};
  const auto takes = [&](MonitorIndex index) {
    const auto& monitor = *monitors_[index];
    return monitor.automatic || std::binary_search(monitor.pool.begin(), monitor.pool.end(), policy);
  };
  // A channel that only closed pools look at takes no strangers; one that nobody looks at keeps all.
  if (!channel.monitors.empty() && std::none_of(channel.monitors.begin(), channel.monitors.end(), takes)) {
    return {kNoColumn, Refusal::kUnknownPolicy};
  }
  const auto kept = channel.policies.size() - std::count(channel.erased.begin(), channel.erased.end(), true);
  if (kept >= settings_.max_policies) return {kNoColumn, Refusal::kTooManyPolicies};
  return {add_column(channel, policy), Refusal::kNone};
}

std::uint32_t Catalog::stored_column(ChannelId id, std::string_view policy) {
  Channel& channel = *channels_[id.value];
  if (const auto known = channel.policies.find(policy)) return *known;
  return add_column(channel, policy);
}

std::uint32_t Catalog::add_column(Channel& channel, std::string_view policy) {
  const auto column = channel.policies.intern(policy);
  for (const auto index : channel.monitors) {
    auto& monitor = *monitors_[index];
    if (monitor.automatic || std::binary_search(monitor.pool.begin(), monitor.pool.end(), policy)) {
      set_pool(monitor, channel);
    }
  }
  return column;
}

}  // namespace gapwatch::state
