#include "state/ledger.h"

#include <algorithm>
#include <numeric>

#include "state/bytes.h"
#include "state/keys.h"

namespace gapwatch::state {

Ledger::Ledger(const config::Settings& settings, Store* store)
    : settings_(settings), store_(store), catalog_(settings) {}

Status Ledger::open() {
  if (store_ == nullptr) return {};
  auto meta = store_->get(kMetaKey);
  if (!meta) return meta.error();
  if (*meta) {
    ByteReader in(**meta);
    const auto version = in.varint32();
    if (!in.done()) return refuse("the state's format mark is damaged; move the state folder away, or restore a backup");
    if (version != kFormatVersion) {
      return refuse("the state is of format " + std::to_string(version) + ", this gapwatch reads format " +
                    std::to_string(kFormatVersion) + "; use the version that wrote it, or a new folder");
    }
    return {};
  }
  bool empty = true;
  auto status = store_->scan("", [&](std::string_view, std::string_view) -> Status {
    empty = false;
    return skip("one is enough");
  });
  if (!status && status.error().action != Action::kSkip) return status;
  if (!empty) return refuse("the state folder is a database of something else; name another in state.path");
  ByteWriter out;
  out.varint(kFormatVersion);
  WriteBatch batch;
  batch.put(kMetaKey, out.take());
  return store_->write(batch);
}

void Ledger::replace_monitors() {
  catalog_.replace_monitors();
  for (auto& [place, shard] : shards_) shard->forget_sums();
}

Result<std::optional<Offset>> Ledger::take_partition(const std::string& topic, std::int32_t partition) {
  auto shard = std::make_unique<Shard>(catalog_, settings_, topic, partition);
  if (store_ != nullptr) {
    if (auto status = shard->load(*store_); !status) return status.error();
  }
  const auto next = shard->next_offset();
  shards_[{topic, partition}] = std::move(shard);
  return next;
}

void Ledger::drop_partition(const std::string& topic, std::int32_t partition) { shards_.erase({topic, partition}); }

Shard* Ledger::shard(const std::string& topic, std::int32_t partition) {
  const auto at = shards_.find({topic, partition});
  return at == shards_.end() ? nullptr : at->second.get();
}

Status Ledger::take_all() {
  std::vector<PartitionPlace> places;
  auto status = store_->scan(std::string(1, static_cast<char>(KeyKind::kOffset)),
                             [&](std::string_view key, std::string_view) -> Status {
                               auto place = parse_offset_key(key);
                               if (!place) return place.error();
                               places.push_back(std::move(*place));
                               return {};
                             });
  if (!status) return status;
  for (const auto& [topic, partition] : places) {
    if (auto taken = take_partition(topic, partition); !taken) return taken.error();
  }
  return {};
}

Status Ledger::checkpoint() {
  if (store_ == nullptr) {
    for (auto& [place, shard] : shards_) shard->saved();
    return {};
  }
  WriteBatch batch;
  for (auto& [place, shard] : shards_) {
    if (shard->unsaved()) shard->collect(batch);
  }
  if (batch.entries.empty()) return {};
  if (auto status = store_->write(batch); !status) return status;
  for (auto& [place, shard] : shards_) shard->saved();
  return {};
}

bool Ledger::unsaved() const {
  return std::any_of(shards_.begin(), shards_.end(), [](const auto& entry) { return entry.second->unsaved(); });
}

std::size_t Ledger::dirty_rows() const {
  return std::accumulate(shards_.begin(), shards_.end(), std::size_t{0},
                         [](std::size_t sum, const auto& entry) { return sum + entry.second->dirty_rows(); });
}

void Ledger::refresh() {
  for (auto& [place, shard] : shards_) shard->refresh();
}

namespace {

void merge(MonitorSums& into, const MonitorSums& part) {
  into.pool.merge(part.pool);
  into.prompts += part.prompts;
  into.unscored += part.unscored;
  for (const auto& [router, sums] : part.routers) {
    const auto [at, made] = into.routers.try_emplace(router, sums);
    if (!made) at->second.merge(sums);
  }
}

}  // namespace

MonitorMoment Ledger::moment(MonitorIndex index) const {
  const auto& monitor = *catalog_.monitors()[index];
  MonitorMoment moment{monitor.config, catalog_.at(monitor.channel).eval_name, catalog_.at(monitor.channel).scorer,
                       monitor.pool,   monitor.spec,                           {}};
  moment.sums.pool = stats::PoolSums(monitor.spec);
  for (const auto& [place, shard] : shards_) merge(moment.sums, shard->sums(index));
  return moment;
}

MonitorSums Ledger::recount(MonitorIndex index) const {
  MonitorSums sums;
  sums.pool = stats::PoolSums(catalog_.monitors()[index]->spec);
  for (const auto& [place, shard] : shards_) merge(sums, shard->recount(index));
  return sums;
}

std::uint64_t Ledger::cells() const {
  std::uint64_t total = 0;
  for (const auto& [place, shard] : shards_) total += shard->cells();
  return total;
}

std::uint64_t Ledger::prompts() const {
  std::uint64_t total = 0;
  for (const auto& [place, shard] : shards_) total += shard->rows().size();
  return total;
}

TableSnapshot Ledger::snapshot(MonitorIndex index, std::size_t max_draw_cells) const {
  const auto& monitor = *catalog_.monitors()[index];
  const auto pool = monitor.pool.size();
  std::vector<const Row*> rows;
  for (const auto& [place, shard] : shards_) {
    for (const auto& row : shard->rows()) {
      if (row.channel == monitor.channel && (!monitor.slice || row.slice == *monitor.slice)) rows.push_back(&row);
    }
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row* a, const Row* b) { return a->prompt < b->prompt; });
  const bool with_draws = rows.size() * pool <= max_draw_cells;

  TableSnapshot snapshot;
  snapshot.table.policies = monitor.pool;
  snapshot.table.cells.reserve(rows.size() * pool);
  RowView view;
  for (const Row* row : rows) {
    view.fill(*row, monitor);
    if (!view.any) continue;
    auto& table = snapshot.table;
    table.prompts.emplace_back(row->prompt);
    table.cells.insert(table.cells.end(), view.cells.begin(), view.cells.end());
    snapshot.slices.push_back(catalog_.slice_name(row->slice));
    for (std::size_t m = 0; with_draws && m < pool; ++m) {
      snapshot.draws.push_back(view.draws[m] != nullptr ? *view.draws[m] : stats::DrawSet());
    }
    if (row->routes == nullptr) continue;
    for (const auto& decision : row->routes->decisions) {
      if (!view.fill_weights(decision, monitor, catalog_)) continue;
      auto& by_prompt = snapshot.routers[catalog_.router_name(decision.router)];
      by_prompt.resize(table.prompts.size() - 1);
      by_prompt.push_back(view.weights);
    }
  }
  for (auto& [router, by_prompt] : snapshot.routers) by_prompt.resize(snapshot.table.prompts.size());
  return snapshot;
}

}  // namespace gapwatch::state
