// A shard's part of every monitor's sums.
#include <algorithm>
#include <utility>

#include "state/shard.h"

namespace gapwatch::state {
namespace {

// The draws of a cell that lie in a span of time, `unscored` of them not judged.
stats::DrawSet draws_in(const TimeSpan& span, const Cell& cell, const std::deque<DrawTimes>& times, std::int64_t& unscored) {
  stats::DrawSet kept;
  if (cell.times == kNoTimes) return kept;
  const auto& said = times[cell.times];
  cell.draws.for_each([&](std::uint64_t draw, stats::DrawOutcome outcome) {
    const auto time = said.get(draw);
    if (!time || !span.has(*time)) return;
    if (outcome == stats::DrawOutcome::kUnscored) {
      ++unscored;
    } else {
      kept.exchange(draw, outcome);
    }
  });
  return kept;
}

// The last `keep` judged draws of a cell, by draw index.
stats::DrawSet last_draws(const stats::DrawSet& draws, std::uint32_t keep) {
  std::vector<stats::DrawSet::FarDraw> judged;
  draws.for_each([&](std::uint64_t draw, stats::DrawOutcome outcome) {
    if (outcome != stats::DrawOutcome::kUnscored) judged.push_back({draw, outcome});
  });
  stats::DrawSet kept;
  for (std::size_t i = judged.size() - std::min<std::size_t>(keep, judged.size()); i < judged.size(); ++i) {
    kept.exchange(judged[i].draw, judged[i].outcome);
  }
  return kept;
}

stats::CellCount count_of(const stats::DrawSet& draws) {
  stats::CellCount count;
  draws.for_each([&](std::uint64_t, stats::DrawOutcome outcome) {
    ++count.trials;
    count.successes += outcome == stats::DrawOutcome::kSuccess;
  });
  return count;
}

// A router without a routed prompt says nothing, as one never seen.
void drop_unrouted(MonitorSums& sums) {
  std::erase_if(sums.routers, [](const auto& entry) {
    return entry.second.routed.complete == 0 && entry.second.routed.partial == 0;
  });
}

}  // namespace

void RowView::fill(const Row& row, const MonitorDef& monitor, const std::deque<DrawTimes>& times) {
  const auto pool = monitor.columns.size();
  const auto keep = monitor.config.window.last_draws;
  const bool by_time = monitor.config.window.by_time();
  cells.assign(pool, {});
  draws.assign(pool, nullptr);
  if (keep > 0 || by_time) windowed.resize(pool);
  unscored = 0;
  any = false;
  for (std::size_t m = 0; m < pool; ++m) {
    const auto column = monitor.columns[m];
    if (column >= row.cells.size()) continue;
    const Cell& cell = row.cells[column];
    std::int64_t missed = 0;
    if (keep > 0 || by_time) {
      windowed[m] = by_time ? draws_in(monitor.span, cell, times, missed) : last_draws(cell.draws, keep);
      cells[m] = count_of(windowed[m]);
      draws[m] = &windowed[m];
    } else {
      cells[m] = {cell.trials, cell.successes};
      draws[m] = &cell.draws;
    }
    if (!by_time) missed = cell.unscored;
    unscored += missed;
    any |= cells[m].trials > 0 || missed > 0;
  }
}

bool RowView::fill_weights(const Decision& decision, const MonitorDef& monitor, const Catalog& catalog) {
  weights.assign(monitor.pool.size(), 0.0);
  for (const auto& [policy, weight] : decision.weights) {
    const auto& name = catalog.policy_name(policy);
    const auto at = std::lower_bound(monitor.pool.begin(), monitor.pool.end(), name);
    if (at == monitor.pool.end() || *at != name) return false;
    weights[static_cast<std::size_t>(at - monitor.pool.begin())] = weight;
  }
  return true;
}

void Shard::enter_routes(MonitorSums& sums, const MonitorDef& monitor, const Row& row, const stats::PromptView& prompt,
                         int sign, RowView& view) const {
  if (row.routes == nullptr) return;
  for (const auto& decision : row.routes->decisions) {
    if (!view.fill_weights(decision, monitor, catalog_)) continue;
    auto& router = sums.routers.try_emplace(catalog_.router_name(decision.router), monitor.spec).first->second;
    if (sign > 0) {
      router.add(prompt, view.weights);
    } else {
      router.remove(prompt, view.weights);
    }
  }
}

// Fills the view; whether the row is one of the monitor's.
bool Shard::look(const MonitorDef& monitor, const Row& row, const std::deque<DrawTimes>& times) {
  if (monitor.slice && row.slice != *monitor.slice) return false;
  view_.fill(row, monitor, times);
  return view_.any;
}

// What was looked at is in the sums.
void Shard::remember(Part& part, const Row& row, bool in, const stats::PairedCount& paired) {
  SummedRow& summed = part.rows.row(row.number);
  summed = {paired, view_.unscored, in, in && row.routes != nullptr};
  if (in) std::copy(view_.cells.begin(), view_.cells.end(), part.rows.cells(row.number).begin());
}

// The row as it is now takes the place of the row as the sums have it.
void Shard::renew(Part& part, const MonitorDef& monitor, const Row& row, const std::deque<DrawTimes>& times) {
  SummedRow& summed = part.rows.row(row.number);
  const auto old_cells = part.rows.cells(row.number);
  const stats::PromptView before{old_cells, summed.paired};
  const bool was_in = summed.in;
  if (summed.routed) enter_routes(part.sums, monitor, row, before, -1, view_);

  const bool in = look(monitor, row, times);
  const stats::PromptView after{view_.cells, in ? view_.paired() : stats::PairedCount{}};
  if (in && was_in) {
    part.sums.pool.replace(before, after);
  } else if (in) {
    part.sums.pool.add(after);
  } else if (was_in) {
    part.sums.pool.remove(before);
  }
  part.sums.prompts += int{in} - int{was_in};
  part.sums.unscored += (in ? view_.unscored : 0) - (was_in ? summed.unscored : 0);
  remember(part, row, in, after.paired);
  if (summed.routed) enter_routes(part.sums, monitor, row, after, 1, view_);
}

// Sums of another generation are made anew by the next refresh.
bool Shard::up_to_date(MonitorIndex index) const {
  return index < parts_.size() && parts_[index].generation == catalog_.monitors()[index]->generation;
}

// Before the decisions for a row change: the old ones leave the sums.
void Shard::withdraw_routes(const Row& row) {
  for (const auto index : catalog_.at(row.channel).monitors) {
    if (!up_to_date(index) || !parts_[index].rows.has(row.number)) continue;
    auto& part = parts_[index];
    SummedRow& summed = part.rows.row(row.number);
    if (!summed.in || !std::exchange(summed.routed, false)) continue;
    const stats::PromptView prompt{part.rows.cells(row.number), summed.paired};
    enter_routes(part.sums, *catalog_.monitors()[index], row, prompt, -1, view_);
  }
}

// Asks for the memory of touched rows that come up soon: a row, then its cells and what is summed of it,
// then the draws that the cells point to.
void Shard::prefetch(std::size_t touched) const {
  constexpr std::size_t kAhead = 4;
  if (touched + 2 * kAhead < touched_rows_.size()) gapwatch::prefetch(&rows_[touched_rows_[touched + 2 * kAhead]]);
  if (touched + kAhead < touched_rows_.size()) {
    const Row& row = rows_[touched_rows_[touched + kAhead]];
    gapwatch::prefetch(row.cells.data(), row.cells.size() * sizeof(Cell));
    for (const auto index : catalog_.at(row.channel).monitors) {
      if (up_to_date(index) && parts_[index].rows.has(row.number)) parts_[index].rows.prefetch(row.number);
    }
  }
  if (touched + 1 < touched_rows_.size()) {
    for (const auto& cell : rows_[touched_rows_[touched + 1]].cells) cell.draws.prefetch();
  }
}

void Shard::refresh() {
  std::sort(touched_rows_.begin(), touched_rows_.end());  // memory in order
  for (std::size_t i = 0; i < touched_rows_.size(); ++i) {
    prefetch(i);
    Row& row = rows_[touched_rows_[i]];
    row.touched = false;
    for (const auto index : catalog_.at(row.channel).monitors) {
      if (!up_to_date(index)) continue;
      renew(parts_[index], *catalog_.monitors()[index], row, times_);
    }
  }
  touched_rows_.clear();
  const auto& monitors = catalog_.monitors();
  parts_.resize(monitors.size());
  for (MonitorIndex index = 0; index < monitors.size(); ++index) {
    if (!up_to_date(index)) rebuild(index);
    drop_unrouted(parts_[index].sums);
  }
}

void Shard::rebuild(MonitorIndex index) {
  const auto& monitor = *catalog_.monitors()[index];
  Part& part = parts_[index];
  part = {};
  part.generation = monitor.generation;
  part.sums.pool = stats::PoolSums(monitor.spec);
  part.rows = SummedRows(monitor.columns.size());
  auto status = for_each_row(monitor.channel, [&](const Row& row, const std::deque<DrawTimes>& times) {
    renew(part, monitor, row, times);
    if (row.in_store) part.rows.forget(row.number);
  });
  if (status) return;
  if (status.error().action == Action::kRetry) {
    part.generation = 0;  // the next refresh tries again
  } else {
    failure_ = status.error();
  }
}

void Shard::forget_sums() {
  for (const auto index : touched_rows_) rows_[index].touched = false;
  touched_rows_.clear();
  parts_.clear();
}

Result<MonitorSums> Shard::recount(MonitorIndex index) const {
  const auto& monitor = *catalog_.monitors()[index];
  MonitorSums sums;
  sums.pool = stats::PoolSums(monitor.spec);
  RowView view;
  auto status = for_each_row(monitor.channel, [&](const Row& row, const std::deque<DrawTimes>& times) {
    if (monitor.slice && row.slice != *monitor.slice) return;
    view.fill(row, monitor, times);
    if (!view.any) return;
    ++sums.prompts;
    sums.unscored += view.unscored;
    const stats::PromptView prompt{view.cells, view.paired()};
    sums.pool.add(prompt);
    enter_routes(sums, monitor, row, prompt, 1, view);
  });
  if (!status) return status.error();
  drop_unrouted(sums);
  return sums;
}

}  // namespace gapwatch::state
