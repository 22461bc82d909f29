// A shard's part of every monitor's sums.
#include <algorithm>

#include "state/shard.h"

namespace gapwatch::state {
namespace {

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

void RowView::fill(const Row& row, const MonitorDef& monitor) {
  const auto pool = monitor.columns.size();
  const auto keep = monitor.config.window.last_draws;
  cells.assign(pool, {});
  draws.assign(pool, nullptr);
  if (keep > 0) windowed.resize(pool);
  unscored = 0;
  any = false;
  for (std::size_t m = 0; m < pool; ++m) {
    const auto column = monitor.columns[m];
    if (column >= row.cells.size()) continue;
    const Cell& cell = row.cells[column];
    unscored += cell.unscored;
    if (keep > 0) {
      windowed[m] = last_draws(cell.draws, keep);
      cells[m] = count_of(windowed[m]);
      draws[m] = &windowed[m];
    } else {
      cells[m] = {cell.trials, cell.successes};
      draws[m] = &cell.draws;
    }
    any |= cells[m].trials > 0 || cell.unscored > 0;
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

void Shard::enter_monitor(MonitorSums& sums, const MonitorDef& monitor, const Row& row, int sign, RowView& view,
                          stats::PairedCount& paired) const {
  if (monitor.slice && row.slice != *monitor.slice) return;
  view.fill(row, monitor);
  if (!view.any) return;
  sums.prompts += sign;
  sums.unscored += sign * view.unscored;
  if (sign > 0) paired = view.paired();
  const stats::PromptView prompt{view.cells, paired};
  if (sign > 0) {
    sums.pool.add(prompt);
  } else {
    sums.pool.remove(prompt);
  }
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

void Shard::enter(Row& row, int sign) {
  const auto& watching = catalog_.at(row.channel).monitors;
  row.paired.resize(watching.size());
  for (std::size_t k = 0; k < watching.size(); ++k) {
    const auto index = watching[k];
    const auto& monitor = *catalog_.monitors()[index];
    // Sums of another generation are made anew by the next refresh.
    if (index >= sums_.size() || generations_[index] != monitor.generation) continue;
    enter_monitor(sums_[index], monitor, row, sign, view_, row.paired[k]);
  }
}

// Asks for the memory of a touched row that comes up soon: its cells, then the draws they point to.
void Shard::prefetch(std::size_t touched) const {
  constexpr std::size_t kAhead = 3;
  if (touched + kAhead < touched_rows_.size()) {
    const auto& cells = rows_[touched_rows_[touched + kAhead]].cells;
    const auto* bytes = reinterpret_cast<const char*>(cells.data());
    for (std::size_t at = 0; at < cells.size() * sizeof(Cell); at += 64) __builtin_prefetch(bytes + at);
  }
  if (touched + 1 < touched_rows_.size()) {
    for (const auto& cell : rows_[touched_rows_[touched + 1]].cells) cell.draws.prefetch();
  }
}

void Shard::refresh() {
  for (std::size_t i = 0; i < touched_rows_.size(); ++i) {
    prefetch(i);
    Row& row = rows_[touched_rows_[i]];
    row.touched = false;
    enter(row, 1);
  }
  touched_rows_.clear();
  const auto& monitors = catalog_.monitors();
  sums_.resize(monitors.size());
  generations_.resize(monitors.size(), 0);
  for (MonitorIndex index = 0; index < monitors.size(); ++index) {
    if (generations_[index] != monitors[index]->generation) rebuild(index);
    drop_unrouted(sums_[index]);
  }
}

void Shard::rebuild(MonitorIndex index) {
  const auto& monitor = *catalog_.monitors()[index];
  const auto& watching = catalog_.at(monitor.channel).monitors;
  const auto k = static_cast<std::size_t>(std::find(watching.begin(), watching.end(), index) - watching.begin());
  generations_[index] = monitor.generation;
  sums_[index] = MonitorSums();
  sums_[index].pool = stats::PoolSums(monitor.spec);
  for (auto& row : rows_) {
    if (row.channel != monitor.channel) continue;
    row.paired.resize(watching.size());
    enter_monitor(sums_[index], monitor, row, 1, view_, row.paired[k]);
  }
}

void Shard::forget_sums() {
  for (const auto index : touched_rows_) rows_[index].touched = false;
  touched_rows_.clear();
  sums_.clear();
  generations_.clear();
}

MonitorSums Shard::recount(MonitorIndex index) const {
  const auto& monitor = *catalog_.monitors()[index];
  MonitorSums sums;
  sums.pool = stats::PoolSums(monitor.spec);
  RowView view;
  stats::PairedCount paired;
  for (const auto& row : rows_) {
    if (row.channel == monitor.channel) enter_monitor(sums, monitor, row, 1, view, paired);
  }
  drop_unrouted(sums);
  return sums;
}

}  // namespace gapwatch::state
