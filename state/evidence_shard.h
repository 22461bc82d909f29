// ShardEvidence: a partition's part of every monitor's evidence: what waits and what was learned of each
// prompt, wealth, and whether the traffic looks at outcomes.
//
// Told of every judged response that the counts took: each enters once. A second event of the same draw never
// does: a correction changes a response that still waits, or is counted as too late; a draw that was taken
// back (or is unscored now) does not enter a second time. Pre-counted trials never enter.
//
// A monitor bets on one response at a time where the event says with which probability every policy was to be
// asked (an object that sums to 1, of an event without a version); otherwise in batches.
//
// It is written with the shard, in the same batch, so that it always fits the partition's offset and goes on
// to the same bits. A partition's evidence depends on that partition's records alone.
//
// Responses go through the ledger's BetLine, so that the arithmetic is done beside the counting.
//
// Threads: owned by the ledger's thread; take() and prefetch() are the line's. Every other call drains the line
// first where it looks at what they change. Cost and memory: docs/EVIDENCE.md, "Cost".
// Source: sequential.md.
#pragma once

#include <atomic>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "state/bet_line.h"
#include "state/catalog.h"
#include "state/event.h"
#include "state/evidence_book.h"
#include "state/names.h"
#include "state/row.h"
#include "state/store.h"
#include "stats/evidence.h"
#include "stats/win_stay.h"

namespace gapwatch::state {

// The traffic of this many prompts of a partition, the first it meets, is watched for looking at outcomes.
inline constexpr std::uint32_t kWatchedPrompts = 1'024;

struct Slot;

// A monitor's evidence in one partition.
struct MonitorPart {
  stats::PartitionEvidence evidence;
  std::vector<stats::StayPrompt> watched;  // the traffic of the prompts that are
  NameTable columns;  // policies by evidence column, in order of first sight in this partition
  // Of the Monte Carlo in sampled blocks. Made from the first response that entered, so that it differs between
  // partitions (a prompt lives in one), and the same stream under another name gives the same numbers.
  std::uint64_t seed = 0;
};

class ShardEvidence final : BetTaker {
 public:
  ShardEvidence(Catalog& catalog, EvidenceBook& book, BetLine& line, std::string place);
  ~ShardEvidence();

  // A draw's outcome changed from `before` to `now` (kAbsent: it is new, or gone).
  void changed(const Row& row, std::uint32_t column, const Event& event, stats::DrawOutcome before,
               stats::DrawOutcome now);
  // The catalog's monitors are others now (after EvidenceBook::monitors_replaced).
  void monitors_replaced();
  // The monitor's evidence began anew in the book: what was kept of it here goes with the next save.
  void begin_anew(MonitorIndex monitor);

  bool unsaved() const;
  void collect(WriteBatch& batch);
  void saved();
  // Stored entries, once the rows are there: first the partition's, then the prompts'. `row_of` finds a row.
  using RowOf = std::function<const Row*(ChannelId, std::string_view prompt)>;
  Status load_part(std::string_view key, std::string_view value, const RowOf& row_of);
  Status load_prompt(std::string_view key, std::string_view value, const RowOf& row_of);

  // What prompts that were let go of are read from.
  void read_from(Store& store) { store_ = &store; }
  // Memory that let_go() can free.
  std::uint64_t cached_bytes() const { return cached_bytes_; }
  // Of what is saved of the row's evidence, only the store has it from here on.
  void let_go(const Row& row);
  // Evidence that was needed could not be read: what came since is not right.
  const Error* failure() const {
    if (!failed_.load(std::memory_order_acquire)) return nullptr;
    line_.drain();
    return &*failure_;
  }

  // Null where the monitor keeps none, or nothing came yet.
  const MonitorPart* part(MonitorIndex monitor) const;
  // A prompt's; null where it has none, or the store alone has it.
  const stats::PromptEvidence* prompt(MonitorIndex monitor, const Row& row) const;
  // Of each of `rows` (of the monitor's channel, by name, ascending) that has any, those in the store alone too.
  using EachPrompt = std::function<void(std::size_t row, const stats::PromptEvidence&)>;
  Status for_each_prompt(MonitorIndex monitor, std::span<const Row* const> rows, const EachPrompt& visit) const;
  // Everything, as it is stored: equal entries are equal evidence, to the bit.
  void collect_all(WriteBatch& batch) const;

 private:
  struct Track;
  friend struct Track;
  Track* track(MonitorIndex monitor);
  std::unique_ptr<Track> make_track(MonitorIndex monitor);
  void read_back(Track& track, std::uint32_t place);
  void weigh(Slot& slot);
  void take(const Bet& bet) override;
  void prefetch(const Bet& bet, int depth) const override;
  void add(Track& track, const Bet& bet);
  void amend(Track& track, const Bet& bet);
  void propensities(Track& track, const MonitorDef& monitor, const Event& event, std::uint32_t column,
                    std::vector<double>& weights) const;
  std::string encode_part(const Track& track) const;
  std::string encode_prompt(const Track& track, std::uint32_t place) const;
  Result<Track*> track_stored(MonitorIndex monitor, std::string_view key, std::string_view value);
  bool decode_part(std::string_view bytes, Track& track, const RowOf& row_of);
  bool decode_prompt(std::string_view bytes, Track& track, std::uint32_t place);

  Catalog& catalog_;
  EvidenceBook& book_;
  BetLine& line_;
  const std::string place_;  // of the partition, in keys

  std::vector<std::unique_ptr<Track>> tracks_;            // by monitor; null: evidence is off
  Store* store_ = nullptr;
  std::atomic<std::uint64_t> cached_bytes_ = 0;  // asked for without a drain
  std::optional<Error> failure_;
  std::atomic<bool> failed_ = false;
  std::vector<std::string> outdated_;                     // keys of the store that count no more
};

}  // namespace gapwatch::state
