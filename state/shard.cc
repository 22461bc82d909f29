#include "state/shard.h"

#include <algorithm>
#include <array>

#include "state/keys.h"

namespace gapwatch::state {
namespace {

using stats::DrawOutcome;

// The names of prompts that were erased stay until the next start: at most so many for each that may be there.
constexpr std::size_t kNamesAPrompt = 4;

DrawOutcome code(Outcome outcome) {
  switch (outcome) {
    case Outcome::kSuccess: return DrawOutcome::kSuccess;
    case Outcome::kFailure: return DrawOutcome::kFailure;
    case Outcome::kUnscored: return DrawOutcome::kUnscored;
  }
  return DrawOutcome::kAbsent;
}

bool judged(DrawOutcome outcome) { return outcome == DrawOutcome::kFailure || outcome == DrawOutcome::kSuccess; }

// Adds `sign` times what one draw of this outcome counts.
void count(Cell& cell, DrawOutcome outcome, int sign) {
  cell.trials += static_cast<std::uint32_t>(sign * judged(outcome));
  cell.successes += static_cast<std::uint32_t>(sign * (outcome == DrawOutcome::kSuccess));
  cell.unscored += static_cast<std::uint32_t>(sign * (outcome == DrawOutcome::kUnscored));
}

}  // namespace

Shard::Shard(Catalog& catalog, EvidenceBook& book, BetLine& line, const config::Settings& settings, std::string topic,
             std::int32_t partition)
    : catalog_(catalog),
      settings_(settings),
      topic_(std::move(topic)),
      partition_(partition),
      place_(partition_place(topic_, partition)),
      evidence_(catalog, book, line, place_) {}

Row* Shard::find_row(ChannelId channel, std::string_view prompt) {
  const auto at = row_of_.find({channel.value, prompt});
  return at == row_of_.end() ? nullptr : &rows_[at->second];
}

Row& Shard::add_row(ChannelId channel, std::string_view prompt) {
  const auto index = static_cast<std::uint32_t>(rows_.size());
  Row& row = rows_.emplace_back();
  row.prompt = prompt_names_.emplace_back(prompt);
  row.channel = channel;
  row.index = index;
  if (rows_in_channel_.size() <= channel.value) rows_in_channel_.resize(channel.value + 1);
  row.number = rows_in_channel_[channel.value]++;
  row_of_.emplace(RowKey{channel.value, row.prompt}, index);
  if (!routes_.empty()) {
    const auto routes = routes_.find(std::pair{catalog_.at(channel).eval, std::string(prompt)});
    if (routes != routes_.end()) row.routes = &routes->second;
  }
  return row;
}

Cell& Shard::cell(Row& row, std::uint32_t column) {
  if (column >= row.cells.size()) {
    const auto before = row.cells.capacity();
    row.cells.resize(column + 1);
    const auto grown = (row.cells.capacity() - before) * sizeof(Cell);
    row.bytes += static_cast<std::uint32_t>(grown);
    cached_bytes_ += grown;
  }
  return row.cells[column];
}

void Shard::touch(Row& row) {
  if (row.touched) return;
  row.touched = true;
  touched_rows_.push_back(row.index);
}

void Shard::mark_unsaved(Row& row) {
  if (row.unsaved) return;
  row.unsaved = true;
  unsaved_rows_.push_back(row.index);
}

void Shard::apply(std::span<const Event> events, std::span<ApplyResult> results) {
  std::array<Aim, kTogether> aims;
  for (std::size_t from = 0; from < events.size(); from += kTogether) {
    const auto some = events.subspan(from, std::min(kTogether, events.size() - from));
    for (std::size_t i = 0; i < some.size(); ++i) {
      if (some[i].kind != EventKind::kRoute) aims[i] = aim(some[i]);
    }
    prefetch({aims.data(), some.size()}, some);
    for (std::size_t i = 0; i < some.size(); ++i) {
      results[from + i] = some[i].kind == EventKind::kRoute ? apply_route(some[i]) : apply_at(aims[i], some[i]);
    }
  }
}

Shard::Aim Shard::aim(const Event& event) {
  ChannelId channel{last_channel_};
  if (last_channel_ == UINT32_MAX || catalog_.at(channel).scorer != event.scorer ||
      catalog_.at(channel).eval_name != event.eval) {
    channel = catalog_.channel(event.eval, event.scorer);
    last_channel_ = channel.value;
    if (catalog_.at(channel).monitors.empty()) catalog_.say_unwatched(channel);
  }
  std::string_view policy = event.policy;
  if (!event.version.empty()) {
    version_scratch_.assign(event.policy).append("@").append(event.version);
    policy = version_scratch_;
  }
  return {channel, catalog_.column(channel, policy), find_row(channel, event.prompt)};
}

// Step by step for all, so that their waits for memory overlap: the rows, their cells, the cells' draws and times.
void Shard::prefetch(std::span<const Aim> aims, std::span<const Event> events) const {
  if (aims.size() < 2) return;
  const auto each_cell = [&](auto&& f) {
    for (std::size_t i = 0; i < aims.size(); ++i) {
      if (events[i].kind == EventKind::kRoute || aims[i].row == nullptr) continue;
      if (aims[i].column.index < aims[i].row->cells.size()) f(aims[i].row->cells[aims[i].column.index], events[i]);
    }
  };
  each_cell([](const Cell& cell, const Event&) { gapwatch::prefetch(&cell); });
  each_cell([](const Cell& cell, const Event& event) {
    if (event.draw.value_or(0) >= 64) cell.draws.prefetch();
  });
  const auto each_times = [&](auto&& f) {
    each_cell([&](const Cell& cell, const Event& event) {
      if (cell.times != kNoTimes && event.draw) f(times_[cell.times], *event.draw);
    });
  };
  each_times([](const DrawTimes& times, std::uint64_t) {
    gapwatch::prefetch(&times);
    gapwatch::prefetch(&times + 1);  // it may lie over two lines
  });
  each_times([](const DrawTimes& times, std::uint64_t draw) { times.prefetch(draw); });
}

ApplyResult Shard::apply_at(Aim aim, const Event& event) {
  if (aim.column.refusal == Catalog::Refusal::kUnknownPolicy) return {Applied::kRejected, "unknown_policy"};
  if (aim.column.refusal == Catalog::Refusal::kTooManyPolicies) return {Applied::kRejected, "too_many_policies"};

  Row* row = aim.row != nullptr ? aim.row : find_row(aim.channel, event.prompt);
  if (row == nullptr) {
    const bool remembered = event.time && event.draw && settings_.events.later_wins;
    if (event.kind == EventKind::kRetract && !remembered) return {Applied::kUnmatched, {}};
    const bool full = prompts() >= settings_.max_prompts || rows_.size() / kNamesAPrompt >= settings_.max_prompts;
    if (full) return {Applied::kRejected, "too_many_prompts"};
    row = &add_row(aim.channel, event.prompt);
  }
  if (!here(*row)) return {Applied::kRejected, "unreadable"};
  if (row->erased) {
    row->erased = false;
    --erased_rows_;
    mark_unsaved(*row);
  }
  if (!event.slice.empty() && catalog_.slice_name(row->slice) != event.slice) {
    touch(*row);
    row->slice = catalog_.slice(event.slice);
    mark_unsaved(*row);
  }
  switch (event.kind) {
    case EventKind::kDraw: return apply_draw(*row, aim.column.index, event);
    case EventKind::kCounts: return apply_counts(*row, aim.column.index, event);
    default: return apply_retract(*row, aim.column.index, event);
  }
}

// Counts one draw's change of outcome in a cell.
void Shard::change(Row& row, Cell& target, DrawOutcome before, DrawOutcome now) {
  touch(row);
  mark_unsaved(row);
  cells_ -= !target.empty();
  count(target, before, -1);
  count(target, now, 1);
  cells_ += !target.empty();
}

// Equal times leave it to the order of the stream. An event without a time changes none.
bool Shard::superseded(Row& row, std::uint32_t column, Cell& target, const Event& event) {
  if (!event.time || !event.draw || !catalog_.keeps_times()) return false;
  if (target.times == kNoTimes) {
    target.times = add_times({});
  }
  auto& times = times_[target.times];
  const auto known = times.get(*event.draw);
  if (known && *event.time < *known) return settings_.events.later_wins;
  if (known && *event.time == *known) return false;
  catalog_.heard(row.channel, column, *event.time);
  times.set(*event.draw, *event.time);
  touch(row);  // its windows by time see it elsewhere
  mark_unsaved(row);
  return false;
}

ApplyResult Shard::apply_draw(Row& row, std::uint32_t column, const Event& event) {
  const auto now = code(event.outcome);
  Cell& target = cell(row, column);
  const auto before = event.draw ? target.draws.get(*event.draw) : DrawOutcome::kAbsent;
  if (!event.draw || !event.time) catalog_.undated(row.channel, column);
  const bool late = superseded(row, column, target, event);
  if (before == now) return {Applied::kDuplicate, {}};
  if (late) return {Applied::kCorrection, kSuperseded};
  if (std::max(target.trials, target.unscored) >= kMaxCount) return {Applied::kRejected, "count_overflow"};
  if (event.time && event.draw) catalog_.count_late(row.channel, *event.time);
  change(row, target, before, now);
  if (event.draw) target.draws.exchange(*event.draw, now);
  evidence_.changed(row, column, event, before, now);
  return {before == DrawOutcome::kAbsent ? Applied::kApplied : Applied::kCorrection, {}};
}

ApplyResult Shard::apply_counts(Row& row, std::uint32_t column, const Event& event) {
  Cell& target = cell(row, column);
  if (event.trials > kMaxCount - target.trials) return {Applied::kRejected, "count_overflow"};
  catalog_.undated(row.channel, column);
  touch(row);
  mark_unsaved(row);
  cells_ -= !target.empty();
  target.trials += event.trials;
  target.successes += event.successes;
  cells_ += !target.empty();
  return {Applied::kApplied, {}};
}

ApplyResult Shard::apply_retract(Row& row, std::uint32_t column, const Event& event) {
  Cell& target = cell(row, column);
  const auto before = event.draw ? target.draws.get(*event.draw) : DrawOutcome::kAbsent;
  if (superseded(row, column, target, event)) return {Applied::kUnmatched, kSuperseded};
  if (before == DrawOutcome::kAbsent) return {Applied::kUnmatched, {}};
  change(row, target, before, DrawOutcome::kAbsent);
  target.draws.exchange(*event.draw, DrawOutcome::kAbsent);
  evidence_.changed(row, column, event, before, DrawOutcome::kAbsent);
  return {Applied::kRetracted, {}};
}

RouteSet& Shard::route_set(std::uint32_t eval, std::string_view prompt) {
  const auto [at, made] = routes_.try_emplace({eval, std::string(prompt)});
  if (made) {
    for (std::uint32_t channel = 0; channel < catalog_.channel_count(); ++channel) {
      if (catalog_.at({channel}).eval != eval) continue;
      if (Row* row = find_row({channel}, prompt)) row->routes = &at->second;
    }
  }
  return at->second;
}

ApplyResult Shard::apply_route(const Event& event) {
  const auto eval = catalog_.eval(event.eval);
  if (routes_.size() >= settings_.max_prompts && !routes_.contains({eval, std::string(event.prompt)})) {
    return {Applied::kRejected, "too_many_prompts"};
  }
  Decision decision{catalog_.router(event.router), {}};
  for (const auto& [policy, weight] : event.weights) decision.weights.emplace_back(catalog_.policy(policy), weight);
  std::sort(decision.weights.begin(), decision.weights.end());

  RouteSet& routes = route_set(eval, event.prompt);
  auto place = std::find_if(routes.decisions.begin(), routes.decisions.end(),
                            [&](const Decision& known) { return known.router == decision.router; });
  if (place != routes.decisions.end() && place->weights == decision.weights) return {Applied::kDuplicate, {}};
  for (std::uint32_t channel = 0; channel < catalog_.channel_count(); ++channel) {
    if (catalog_.at({channel}).eval != eval) continue;
    if (Row* row = find_row({channel}, event.prompt)) {
      if (!here(*row)) return {Applied::kRejected, "unreadable"};
      withdraw_routes(*row);
      touch(*row);
    }
  }
  const bool correction = place != routes.decisions.end();
  if (correction) {
    *place = std::move(decision);
  } else {
    routes.decisions.push_back(std::move(decision));
    place = routes.decisions.end() - 1;
  }
  new_routes_.emplace_back(route_key(place_, event.router, event.eval, event.prompt),
                           encode_decision(*place, catalog_));
  return {correction ? Applied::kCorrection : Applied::kApplied, {}};
}

}  // namespace gapwatch::state
