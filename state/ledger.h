// Ledger: the whole state. Shards of the partitions held, the catalog, and the store behind them.
//
// Rule of durability: a checkpoint is one synced batch of every changed row together with the offset
// up to which the stream has been counted. After a crash at any instant the store holds the counts of
// exactly the records below its offsets, and reading on from there ends in the counts of a run that
// was never interrupted. A record below a partition's offset is ignored, so a re-delivery never
// counts twice.
//
// Threads: one owner thread for everything; snapshots, once made, belong to nobody and may be read anywhere.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/settings.h"
#include "state/catalog.h"
#include "state/event.h"
#include "state/evidence_book.h"
#include "state/evidence_moment.h"
#include "state/shard.h"
#include "state/store.h"

namespace gapwatch::state {

// One monitor at one moment, cheap: definition and merged sums.
struct MonitorMoment {
  config::Monitor config;
  std::string eval, scorer;
  std::vector<std::string> pool;
  stats::SumsSpec spec;
  TimeSpan span;  // of a window by time
  bool retired = false;
  MonitorSums sums;
  std::optional<EvidenceMoment> evidence;  // none where it is off
};

// One monitor's rows at one moment, for everything that needs the table: prompts by name, pool by name.
struct TableSnapshot {
  stats::CountTable table;                  // every prompt with anything in the pool
  std::vector<std::string> slices;          // by prompt
  std::vector<stats::DrawSet> draws;        // prompts x pool, or empty: left out because the table is large
  std::map<std::string, std::vector<std::vector<double>>> routers;  // name -> by prompt: pool weights, or empty
  std::vector<PolicyEvidenceShare> attribution;  // by policy name
};

class Ledger {
 public:
  // `store` may be null: state in memory only. Both must outlive the ledger.
  Ledger(const config::Settings& settings, Store* store);

  // Checks the store's format, writes it when the store is new. Call once, first.
  Status open();

  // Takes a partition on, reading what is stored of it; the offset of the next record wanted.
  Result<std::optional<Offset>> take_partition(const std::string& topic, std::int32_t partition);
  // Forgets a partition held; what was not checkpointed is lost (and will be read again).
  void drop_partition(const std::string& topic, std::int32_t partition);
  Shard* shard(const std::string& topic, std::int32_t partition);
  // Whether the store has a partition of the topic.
  Result<bool> knows_topic(const std::string& topic) const;
  const std::map<std::pair<std::string, std::int32_t>, std::unique_ptr<Shard>>& shards() const { return shards_; }

  // Every partition in the store is taken on: for inspection and export.
  Status take_all();

  // Makes everything counted so far durable, and lets go of rows where the cache is full. kRetry: nothing was lost,
  // call again later.
  Status checkpoint();
  bool unsaved() const;
  // Whether the store still is where it was; without one: always.
  bool store_usable() const { return store_ == nullptr || store_->usable().ok(); }
  std::size_t dirty_rows() const;

  // Brings every shard's sums up to date; the moments below are of the last refresh. Windows by time and pools go on
  // with the stream, to `now` at most: an event of a later time moves nothing until then. Where a window goes on, its
  // monitor's rows are all looked at.
  void refresh(TimeMs now = std::numeric_limits<TimeMs>::max());
  std::size_t monitor_count() const { return catalog_.monitors().size(); }
  MonitorMoment moment(MonitorIndex monitor) const;
  // `max_draw_cells`: tables of more cells come without draws.
  Result<TableSnapshot> snapshot(MonitorIndex monitor, std::size_t max_draw_cells) const;
  // The sums of refresh() counted afresh from the rows.
  Result<MonitorSums> recount(MonitorIndex monitor) const;

  // Memory of rows and evidence has grown beyond state.cache: a checkpoint makes room. Without a store: never.
  bool cache_full() const { return store_ != nullptr && cached_bytes() > settings_.state.cache_bytes; }
  std::uint64_t cached_bytes() const;
  // Prompts of which memory has the name alone, the rest being in the store.
  std::uint64_t prompts_in_store() const;
  // What was counted needed something of the store that could not be read: nothing is saved any more. Null: all is well.
  const Error* failure() const;

  // Another look at a channel, from the next refresh() on.
  void add_monitor(const config::Monitor& monitor) { catalog_.add_monitor(monitor); }
  // The settings' monitors changed: from the next refresh() on, those are looked at.
  void replace_monitors();

  // Prompts seen on a second partition, of those held here: their cells are in two rows, and no statistic of a
  // prompt is right. Of a large state that was just read, rows are looked at bit by bit, with each refresh().
  struct SplitPrompts {
    std::uint64_t count = 0;
    std::string example;  // "prompt of eval on topic/0 and topic/1"
  };
  const SplitPrompts& split_prompts() const { return split_; }

  const Catalog& catalog() const { return catalog_; }
  EvidenceBook& book() {
    line_.drain();
    return book_;
  }
  const config::Settings& settings() const { return settings_; }
  std::uint64_t cells() const;
  std::uint64_t prompts() const;

 private:
  void all_saved();
  void make_room();
  bool may_erase() const;

  const config::Settings& settings_;
  Store* store_;
  Catalog catalog_;
  EvidenceBook book_;
  std::uint32_t checkpoints_alike_ = 0;  // since a partition last came or went
  mutable BetLine line_;  // to the shards' evidence and the book
  std::map<std::pair<std::string, std::int32_t>, std::unique_ptr<Shard>> shards_;

  void look_for_split_prompts();
  void look_for_split_prompt(const Shard& shard, const Row& row);
  SplitPrompts split_;
  std::map<const Shard*, std::uint32_t> looked_at_;  // rows of each shard
};

}  // namespace gapwatch::state
