// Shard: the state of one partition: its rows, its part of every monitor's sums, and the next offset.
//
// A partition's records change nothing outside its shard, so a partition can move to another
// process, and a monitor's sums are the merge of its shards'. An event marks its row touched; the
// next refresh() replaces the row in the sums, so a row that many events hit between two refreshes
// is summed once. Sums are read after refresh() only.
//
// Of a policy that is not heard of any more state.retain empties the cells, bit by bit (erase_silent()).
// Of a row that was not used of late memory holds the name and no more (evict()): its cells, draws, times and
// evidence are in the store, and come back when an event needs them.
//
// Threads: owned by the ledger's thread. Cost of an event: two hash lookups and one cell, whatever
// the number of prompts; events applied together wait for memory together. A row that comes back costs a read of
// the store.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "state/catalog.h"
#include "state/event.h"
#include "state/evidence_shard.h"
#include "state/row.h"
#include "state/store.h"
#include "state/summed_rows.h"
#include "stats/running.h"

namespace gapwatch::state {

// A monitor's sums over one shard (or, merged, over all).
struct MonitorSums {
  stats::PoolSums pool;
  std::map<std::string, stats::RouterSums> routers;  // by name
  std::int64_t prompts = 0;    // rows in the monitor's slice with anything in the pool
  std::int64_t unscored = 0;   // unscored responses of the pool
  friend bool operator==(const MonitorSums&, const MonitorSums&) = default;
};

// A row through a monitor's pool and window; reused scratch.
struct RowView {
  std::vector<stats::CellCount> cells;
  std::vector<const stats::DrawSet*> draws;  // nullptr: a cell without identified draws
  std::vector<stats::DrawSet> windowed;      // what `draws` points to under a window
  std::vector<double> weights;               // of the router being looked at
  std::int64_t unscored = 0;
  bool any = false;
  // `times` is what the cells' `times` point into.
  void fill(const Row& row, const MonitorDef& monitor, const std::deque<DrawTimes>& times);
  // The decision in pool order; false where it names a policy outside the pool.
  bool fill_weights(const Decision& decision, const MonitorDef& monitor, const Catalog& catalog);
  stats::PairedCount paired() const { return stats::paired_count(draws); }
};

struct ApplyResult {
  Applied applied = Applied::kApplied;
  std::string_view reason;  // of kRejected: a fixed word; kSuperseded where a later event came first
};

inline constexpr std::string_view kSuperseded = "superseded";

class Shard {
 public:
  // `topic` and `partition` are the shard's place in the store.
  Shard(Catalog& catalog, EvidenceBook& book, BetLine& line, const config::Settings& settings, std::string topic,
        std::int32_t partition);

  // Reads everything of this partition, and keeps rows in memory up to about `cache` bytes. Refuses damaged state,
  // naming the key. The store must outlive the shard.
  Status load(Store& store, std::uint64_t cache = UINT64_MAX);

  // One after the other, in order; results[i] is of events[i].
  void apply(std::span<const Event> events, std::span<ApplyResult> results);
  ApplyResult apply(const Event& event) {
    ApplyResult result;
    apply({&event, 1}, {&result, 1});
    return result;
  }

  // Where the stream stands: the offset after the last record counted, none before the first.
  std::optional<Offset> next_offset() const { return next_offset_; }
  // By what that record is known again; none where there was none, or a gapwatch that kept no mark counted it.
  const std::optional<RecordMark>& last_record() const { return last_record_; }
  void set_next_offset(Offset next, std::optional<RecordMark> last = std::nullopt) {
    next_offset_ = next;
    last_record_ = last;
  }

  // Brings the sums up to date.
  void refresh();
  // The catalog's monitors are others now: the next refresh() makes all sums anew.
  void forget_sums();
  const MonitorSums& sums(MonitorIndex monitor) const { return parts_[monitor].sums; }
  // The same, counted afresh from the rows: what refresh() must equal.
  Result<MonitorSums> recount(MonitorIndex monitor) const;

  // Appends what changed since the last save, rows sorted by key, and the offset. After the batch is
  // durable call saved(); if it never becomes so, the next collect() has it again.
  void collect(WriteBatch& batch);
  void saved();
  bool unsaved() const {
    return !unsaved_rows_.empty() || next_offset_ != saved_offset_ || last_record_ != saved_last_record_ ||
           !new_routes_.empty() || evidence_.unsaved();
  }

  // Memory that evict() can free.
  std::uint64_t cached_bytes() const { return cached_bytes_ + evidence_.cached_bytes(); }
  // Lets go of rows not used of late that are saved and in the sums, until at most `most` bytes are left.
  void evict(std::uint64_t most);
  std::uint64_t rows_in_store() const { return rows_in_store_; }
  // Looks at up to `most` more rows for cells of policies that state.retain lets go of, and empties them; the next
  // save erases them from the store. A row of an eval that is let go of altogether is erased with its decisions, and
  // its name stays in memory.
  void erase_silent(std::size_t most);
  std::size_t prompts() const { return rows_.size() - erased_rows_; }
  // Every row of the channel (of all, without one) with its cells, and what their `times` point into. A row that is in
  // the store alone is a copy, good for the call. In no particular order.
  using EachRow = std::function<void(const Row&, const std::deque<DrawTimes>& times)>;
  Status for_each_row(std::optional<ChannelId> channel, const EachRow& visit) const;
  // Trials and successes of one cell.
  Result<stats::CellCount> count_of(const Row& row, std::uint32_t column) const;
  // What was needed could not be read from the store: what came since is not counted right and must not be saved.
  const Error* failure() const { return failure_ ? &*failure_ : evidence_.failure(); }

  const ShardEvidence& evidence() const { return evidence_; }
  void evidence_monitors_replaced() { evidence_.monitors_replaced(); }
  void evidence_begins_anew(MonitorIndex monitor) { evidence_.begin_anew(monitor); }
  const std::deque<Row>& rows() const { return rows_; }
  const std::deque<DrawTimes>& times() const { return times_; }
  // The index of a prompt's row, if there is one.
  std::optional<std::uint32_t> find(ChannelId channel, std::string_view prompt) const {
    const auto at = row_of_.find({channel.value, prompt});
    return at == row_of_.end() ? std::nullopt : std::optional(at->second);
  }
  using Routes = std::map<std::pair<std::uint32_t, std::string>, RouteSet, std::less<>>;  // by (eval id, prompt)
  const Routes& routes() const { return routes_; }
  std::uint64_t cells() const { return cells_; }  // with anything in them
  std::size_t dirty_rows() const { return unsaved_rows_.size(); }
  const std::string& topic() const { return topic_; }
  std::int32_t partition() const { return partition_; }

 private:
  struct RowKey {
    std::uint32_t channel;
    std::string_view prompt;
    friend bool operator==(const RowKey&, const RowKey&) = default;
  };
  struct RowKeyHash {
    using is_avalanching = void;
    std::size_t operator()(const RowKey& key) const noexcept {
      return std::hash<std::string_view>{}(key.prompt) ^ (key.channel * 0x9e3779b97f4a7c15u);
    }
  };

  // Where an event goes, as far as is known before those ahead of it are applied.
  struct Aim {
    ChannelId channel;
    Catalog::Column column;
    Row* row = nullptr;  // nullptr: not there yet
  };
  static constexpr std::size_t kTogether = 16;
  Aim aim(const Event& event);
  void prefetch(std::span<const Aim> aims, std::span<const Event> events) const;
  ApplyResult apply_at(Aim aim, const Event& event);

  Row* find_row(ChannelId channel, std::string_view prompt);
  Row& add_row(ChannelId channel, std::string_view prompt);
  Cell& cell(Row& row, std::uint32_t column);
  void touch(Row& row);
  void change(Row& row, Cell& cell, stats::DrawOutcome before, stats::DrawOutcome now);
  void mark_unsaved(Row& row);
  // A monitor's part in this shard.
  struct Part {
    MonitorSums sums;
    SummedRows rows;
    std::uint32_t generation = 0;  // of the pool that these were made for; 0: none yet
  };
  bool up_to_date(MonitorIndex monitor) const;
  void renew(Part& part, const MonitorDef& monitor, const Row& row, const std::deque<DrawTimes>& times);
  bool look(const MonitorDef& monitor, const Row& row, const std::deque<DrawTimes>& times);
  void remember(Part& part, const Row& row, bool in, const stats::PairedCount& paired);
  void withdraw_routes(const Row& row);
  void enter_routes(MonitorSums& sums, const MonitorDef& monitor, const Row& row, const stats::PromptView& prompt, int sign,
                    RowView& view) const;
  void rebuild(MonitorIndex monitor);
  void prefetch(std::size_t touched) const;

  ApplyResult apply_draw(Row& row, std::uint32_t column, const Event& event);
  // Whether an event on this draw with a later time was applied before; else its time is the latest now.
  bool superseded(Row& row, std::uint32_t column, Cell& cell, const Event& event);
  ApplyResult apply_counts(Row& row, std::uint32_t column, const Event& event);
  ApplyResult apply_retract(Row& row, std::uint32_t column, const Event& event);
  ApplyResult apply_route(const Event& event);
  RouteSet& route_set(std::uint32_t eval, std::string_view prompt);

  Status load_row(std::string_view key, std::string_view value);
  Status fill_cells(Row& row, DecodedRow decoded);
  struct RowCopy {
    Row row;
    std::deque<DrawTimes> times;
  };
  Result<RowCopy> copy_of(const Row& row, std::string_view value) const;
  bool here(Row& row);
  Status read_back(Row& row);
  void let_go(Row& row);
  void erase_cells(Row& row, const Channel& channel);
  void erase_routes(Row& row);
  void weigh(Row& row);
  std::uint32_t add_times(DrawTimes times);
  Status load_route(std::string_view key, std::string_view value);
  std::string row_key(const Row& row) const;
  const std::vector<std::uint32_t>& dictionary_of(ChannelId channel, WriteBatch& batch);

  Catalog& catalog_;
  const config::Settings& settings_;
  const std::string topic_;
  const std::int32_t partition_;
  const std::string place_;  // how keys of this partition go on after their first byte

  std::deque<Row> rows_;
  std::deque<std::string> prompt_names_;
  boost::unordered_flat_map<RowKey, std::uint32_t, RowKeyHash> row_of_;
  std::deque<DrawTimes> times_;  // of the cells that have any
  std::vector<std::uint32_t> free_times_;
  std::vector<std::uint32_t> touched_rows_, unsaved_rows_;
  std::uint64_t cells_ = 0;
  Store* store_ = nullptr;  // what load() read from
  std::uint64_t cached_bytes_ = 0, rows_in_store_ = 0;
  std::size_t hand_ = 0;  // where evict() goes on
  std::size_t erase_hand_ = 0, erased_rows_ = 0;  // where erase_silent() goes on; rows that are but a name
  std::uint32_t erase_round_ = 0;
  std::optional<Error> failure_;
  std::uint32_t last_channel_ = UINT32_MAX;
  std::vector<std::uint32_t> rows_in_channel_;
  std::string version_scratch_;

  ShardEvidence evidence_;

  Routes routes_;
  std::vector<std::pair<std::string, std::optional<std::string>>> new_routes_;     // stored key and value; none: erased

  std::vector<Part> parts_;  // by monitor
  RowView view_;

  NameTable dictionary_;                       // the partition's policy ids in the store
  std::uint32_t stored_names_ = 0, collected_names_ = 0;  // of these, durable, and in the last batch
  std::vector<std::vector<std::uint32_t>> id_of_column_;  // by channel
  std::optional<Offset> next_offset_, saved_offset_;
  std::optional<RecordMark> last_record_, saved_last_record_;
};

}  // namespace gapwatch::state
