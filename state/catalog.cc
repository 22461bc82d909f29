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

}  // namespace

Catalog::Catalog(const config::Settings& settings) : settings_(settings) {
  slices_.intern("");  // id 0: no slice
  for (const auto& monitor : settings.monitors) add_monitor(monitor);
}

void Catalog::add_monitor(const config::Monitor& monitor) {
  add_monitor_to(channel(monitor.eval, monitor.scorer.empty() ? settings_.events.scorer : monitor.scorer), monitor);
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
    watched += (watched.empty() ? "" : ", ") + monitor->config.name + " (" + its.eval_name + ", " + its.scorer + ")";
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
    return std::any_of(monitors_.begin(), monitors_.end(), [&](const auto& m) { return m->config.name == name; });
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
  for (const auto& channel : channels_) channel->monitors.clear();
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
  set_pool(*made, at(id));
  channels_[id.value]->monitors.push_back(static_cast<MonitorIndex>(monitors_.size()));
  monitors_.push_back(std::move(made));
}

void Catalog::set_pool(MonitorDef& monitor, const Channel& channel) {
  monitor.pool = monitor.config.policies;
  if (monitor.automatic) {
    for (std::uint32_t column = 0; column < channel.policies.size(); ++column) {
      monitor.pool.push_back(channel.policies.name(column));
    }
  }
  std::sort(monitor.pool.begin(), monitor.pool.end());
  monitor.columns.clear();
  for (const auto& policy : monitor.pool) monitor.columns.push_back(channel.policies.find(policy).value_or(kNoColumn));
  monitor.spec.pool_size = monitor.pool.size();
  ++monitor.generation;
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
  if (channel.policies.size() >= settings_.max_policies) return {kNoColumn, Refusal::kTooManyPolicies};
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
