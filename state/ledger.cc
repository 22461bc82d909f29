#include "state/ledger.h"

#include <algorithm>
#include <numeric>

#include "state/bytes.h"
#include "state/keys.h"

namespace gapwatch::state {

Ledger::Ledger(const config::Settings& settings, Store* store)
    : settings_(settings), store_(store), catalog_(settings), book_(catalog_, settings) {}

Status Ledger::open() {
  if (store_ == nullptr) return {};
  auto meta = store_->get(kMetaKey);
  if (!meta) return meta.error();
  if (*meta) {
    ByteReader in(**meta);
    const auto version = in.varint32();
    if (!in.done())
      return refuse("the state's format mark is damaged; move the state folder away, or restore a backup");
    if (version != kFormatVersion) {
      return refuse("the state is of format " + std::to_string(version) + ", this gapwatch reads format " +
                    std::to_string(kFormatVersion) + "; use the version that wrote it, or a new folder");
    }
    auto time = store_->get(kStreamTimeKey);
    if (!time) return time.error();
    if (*time) {
      auto read = decode_stream_time(**time);
      if (!read) return read.error();
      catalog_.set_stream_time(*read);
    }
    return book_.load(*store_);
  }
  bool empty = true;
  auto status = store_->scan("", [&](std::string_view, std::string_view) -> Status {
    empty = false;
    return skip("one is enough");
  });
  if (!status && status.error().action != Action::kSkip) return status;
  if (!empty) return refuse("the state folder holds no state of gapwatch's, or has lost its beginning; name another in state.path, or restore a backup");
  ByteWriter out;
  out.varint(kFormatVersion);
  WriteBatch batch;
  batch.put(kMetaKey, out.take());
  return store_->write(batch);
}

void Ledger::replace_monitors() {
  line_.drain();
  catalog_.replace_monitors();
  book_.monitors_replaced();
  for (auto& [place, shard] : shards_) {
    shard->forget_sums();
    shard->evidence_monitors_replaced();
  }
}

Result<std::optional<Offset>> Ledger::take_partition(const std::string& topic, std::int32_t partition) {
  drop_partition(topic, partition);
  checkpoints_alike_ = 0;
  auto shard = std::make_unique<Shard>(catalog_, book_, line_, settings_, topic, partition);
  if (store_ != nullptr) {
    // Half: evidence comes on top.
    const auto cache = settings_.state.cache_bytes / 2, held = cached_bytes();
    if (auto status = shard->load(*store_, cache > held ? cache - held : 0); !status) return status.error();
  }
  const auto next = shard->next_offset();
  shards_[{topic, partition}] = std::move(shard);
  return next;
}

void Ledger::drop_partition(const std::string& topic, std::int32_t partition) {
  const auto at = shards_.find({topic, partition});
  if (at == shards_.end()) return;
  checkpoints_alike_ = 0;
  line_.drain();
  if (at->second->unsaved()) book_.roll_back();
  shards_.erase(at);
  looked_at_.clear();
  split_ = {};
}

Shard* Ledger::shard(const std::string& topic, std::int32_t partition) {
  const auto at = shards_.find({topic, partition});
  return at == shards_.end() ? nullptr : at->second.get();
}

namespace {

Result<std::vector<PartitionPlace>> places_of(Store& store) {
  std::vector<PartitionPlace> places;
  auto status = store.scan(std::string(1, static_cast<char>(KeyKind::kOffset)), [&](std::string_view key, std::string_view) -> Status {
    auto place = parse_offset_key(key);
    if (!place) return place.error();
    places.push_back(std::move(*place));
    return {};
  });
  if (!status) return status.error();
  return places;
}

}  // namespace

Result<bool> Ledger::knows_topic(const std::string& topic) const {
  if (store_ == nullptr) return false;
  const auto places = places_of(*store_);
  if (!places) return places.error();
  return std::any_of(places->begin(), places->end(), [&](const PartitionPlace& place) { return place.topic == topic; });
}

Status Ledger::take_all() {
  const auto places = places_of(*store_);
  if (!places) return places.error();
  for (const auto& [topic, partition] : *places) {
    if (auto taken = take_partition(topic, partition); !taken) return taken.error();
  }
  return {};
}

namespace {

constexpr std::size_t kErasedAtATime = 50'000;     // rows looked at
constexpr std::uint32_t kAlikeBeforeErasing = 60;  // checkpoints

}  // namespace

// While partitions come and go, who seems silent may be heard of on one that is about to come.
bool Ledger::may_erase() const {
  return store_ != nullptr && settings_.state.retain.count() > 0 && checkpoints_alike_ >= kAlikeBeforeErasing;
}

Status Ledger::checkpoint() {
  line_.drain();
  if (store_ == nullptr) {
    all_saved();
    return {};
  }
  WriteBatch batch;
  for (auto& [place, shard] : shards_) {
    if (shard->unsaved()) shard->collect(batch);
  }
  book_.collect(batch);
  if (batch.entries.empty()) return store_->usable();
  if (const auto* error = failure()) return *error;
  if (catalog_.stream_time() != kNoTime)
    batch.put(kStreamTimeKey, encode_stream_time(catalog_.stream_time()));
  if (auto status = store_->write(batch); !status) return status;
  all_saved();
  make_room();
  for (auto& [place, shard] : shards_) {
    if (may_erase()) shard->erase_silent(kErasedAtATime);
  }
  ++checkpoints_alike_;
  return {};
}

void Ledger::all_saved() {
  for (auto& [place, shard] : shards_) shard->saved();
  book_.saved();
}

// Down to three quarters, so that not every checkpoint needs to.
void Ledger::make_room() {
  if (!cache_full()) return;
  for (auto& [place, shard] : shards_) shard->refresh();
  const double share =
      0.75 * static_cast<double>(settings_.state.cache_bytes) / static_cast<double>(cached_bytes());
  for (auto& [place, shard] : shards_) {
    shard->evict(static_cast<std::uint64_t>(share * static_cast<double>(shard->cached_bytes())));
  }
}

std::uint64_t Ledger::cached_bytes() const {
  std::uint64_t total = 0;
  for (const auto& [place, shard] : shards_) total += shard->cached_bytes();
  return total;
}

std::uint64_t Ledger::prompts_in_store() const {
  std::uint64_t total = 0;
  for (const auto& [place, shard] : shards_) total += shard->rows_in_store();
  return total;
}

const Error* Ledger::failure() const {
  for (const auto& [place, shard] : shards_) {
    if (const auto* error = shard->failure()) return error;
  }
  return nullptr;
}

bool Ledger::unsaved() const {
  line_.drain();
  return book_.unsaved() || std::any_of(shards_.begin(), shards_.end(),
                                        [](const auto& entry) { return entry.second->unsaved(); });
}

std::size_t Ledger::dirty_rows() const {
  return std::accumulate(shards_.begin(), shards_.end(), std::size_t{0},
                         [](std::size_t sum, const auto& entry) { return sum + entry.second->dirty_rows(); });
}

void Ledger::refresh(TimeMs now) {
  for (const auto channel : catalog_.go_on(now, may_erase())) {
    line_.drain();
    for (const auto monitor : catalog_.at(channel).monitors) {
      book_.begin_anew(monitor);
      for (auto& [place, shard] : shards_) shard->evidence_begins_anew(monitor);
    }
  }
  for (auto& [place, shard] : shards_) shard->refresh();
  look_for_split_prompts();
}

void Ledger::look_for_split_prompts() {
  constexpr std::uint32_t kRowsAtATime = 50'000;
  if (shards_.size() < 2) return;
  std::uint32_t left = kRowsAtATime;
  for (const auto& [place, shard] : shards_) {
    auto& next = looked_at_[shard.get()];
    for (; next < shard->rows().size() && left > 0; ++next, --left)
      look_for_split_prompt(*shard, shard->rows()[next]);
  }
}

// A row counts where one that was looked at before has its prompt, so each pair once.
void Ledger::look_for_split_prompt(const Shard& shard, const Row& row) {
  for (const auto& [place, other] : shards_) {
    if (other.get() == &shard) continue;
    const auto index = other->find(row.channel, row.prompt);
    if (!index || *index >= looked_at_[other.get()] || row.erased || other->rows()[*index].erased) continue;
    ++split_.count;
    if (!split_.example.empty()) return;
    split_.example = std::string(row.prompt) + " of " + catalog_.at(row.channel).eval_name + " on " +
                     shard.topic() + "/" + std::to_string(shard.partition()) + " and " + place.first + "/" +
                     std::to_string(place.second);
    return;
  }
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
  line_.drain();
  const auto& monitor = *catalog_.monitors()[index];
  MonitorMoment moment{monitor.config,
                       catalog_.at(monitor.channel).eval_name,
                       catalog_.at(monitor.channel).scorer,
                       monitor.pool,
                       monitor.spec,
                       monitor.span,
                       monitor.retired,
                       {},
                       {}};
  moment.sums.pool = stats::PoolSums(monitor.spec);
  std::vector<const MonitorPart*> parts;
  for (const auto& [place, shard] : shards_) {
    merge(moment.sums, shard->sums(index));
    if (const auto* part = shard->evidence().part(index)) parts.push_back(part);
  }
  if (monitor.config.evidence.enabled) {
    const auto* known = book_.known(index);
    moment.evidence = evidence_moment(known != nullptr ? *known : MonitorEvidence(), parts);
    moment.evidence->margin_on = monitor.config.evidence.margin != config::MarginBets::kOff;
  }
  return moment;
}

Result<MonitorSums> Ledger::recount(MonitorIndex index) const {
  MonitorSums sums;
  sums.pool = stats::PoolSums(catalog_.monitors()[index]->spec);
  for (const auto& [place, shard] : shards_) {
    auto part = shard->recount(index);
    if (!part) return part.error();
    merge(sums, *part);
  }
  return sums;
}

std::uint64_t Ledger::cells() const {
  std::uint64_t total = 0;
  for (const auto& [place, shard] : shards_) total += shard->cells();
  return total;
}

std::uint64_t Ledger::prompts() const {
  std::uint64_t total = 0;
  for (const auto& [place, shard] : shards_) total += shard->prompts();
  return total;
}

namespace {

// One row as a monitor sees it.
struct SeenRow {
  std::vector<stats::CellCount> cells;  // by pool; empty: nothing of the pool
  std::vector<stats::DrawSet> draws;
  std::vector<std::pair<RouterId, std::vector<double>>> weights;
};

SeenRow see(const Row& row, const MonitorDef& monitor, const Catalog& catalog, bool with_draws, RowView& view,
            const std::deque<DrawTimes>& times) {
  SeenRow seen;
  view.fill(row, monitor, times);
  if (!view.any) return seen;
  seen.cells = view.cells;
  for (std::size_t m = 0; with_draws && m < view.draws.size(); ++m) {
    seen.draws.push_back(view.draws[m] != nullptr ? *view.draws[m] : stats::DrawSet());
  }
  if (row.routes == nullptr) return seen;
  for (const auto& decision : row.routes->decisions) {
    if (view.fill_weights(decision, monitor, catalog))
      seen.weights.emplace_back(decision.router, view.weights);
  }
  return seen;
}

void append(TableSnapshot& snapshot, const Row& row, SeenRow seen, const Catalog& catalog) {
  auto& table = snapshot.table;
  table.prompts.emplace_back(row.prompt);
  table.cells.insert(table.cells.end(), seen.cells.begin(), seen.cells.end());
  snapshot.slices.push_back(catalog.slice_name(row.slice));
  for (auto& draws : seen.draws) snapshot.draws.push_back(std::move(draws));
  for (auto& [router, weights] : seen.weights) {
    auto& by_prompt = snapshot.routers[catalog.router_name(router)];
    by_prompt.resize(table.prompts.size() - 1);
    by_prompt.push_back(std::move(weights));
  }
}

}  // namespace

Result<TableSnapshot> Ledger::snapshot(MonitorIndex index, std::size_t max_draw_cells) const {
  const auto& monitor = *catalog_.monitors()[index];
  const auto pool = monitor.pool.size();
  std::vector<PlacedRow> rows;
  for (const auto& [place, shard] : shards_) {
    for (const auto& row : shard->rows()) {
      if (row.channel == monitor.channel && (!monitor.slice || row.slice == *monitor.slice))
        rows.push_back({&row, shard.get()});
    }
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const PlacedRow& a, const PlacedRow& b) { return a.row->prompt < b.row->prompt; });
  const bool with_draws = rows.size() * pool <= max_draw_cells;

  TableSnapshot snapshot;
  auto shares = attribution(index, monitor, rows, catalog_, kAttributedCells);
  if (!shares) return shares.error();
  snapshot.attribution = std::move(*shares);
  snapshot.table.policies = monitor.pool;
  snapshot.table.cells.reserve(rows.size() * pool);
  RowView view;
  // Rows that only the store has come in its order.
  std::map<const Shard*, std::vector<SeenRow>> stored;
  for (const auto& [place, shard] : shards_) {
    if (shard->rows_in_store() == 0) continue;
    auto& seen = stored[shard.get()];
    seen.resize(shard->rows().size());
    auto status =
        shard->for_each_row(monitor.channel, [&](const Row& row, const std::deque<DrawTimes>& times) {
          if (row.in_store) seen[row.index] = see(row, monitor, catalog_, with_draws, view, times);
        });
    if (!status) return status.error();
  }
  for (const auto& [row, shard] : rows) {
    auto seen = row->in_store ? std::move(stored.at(shard)[row->index])
                              : see(*row, monitor, catalog_, with_draws, view, shard->times());
    if (!seen.cells.empty()) append(snapshot, *row, std::move(seen), catalog_);
  }
  for (auto& [router, by_prompt] : snapshot.routers) by_prompt.resize(snapshot.table.prompts.size());
  return snapshot;
}

}  // namespace gapwatch::state
