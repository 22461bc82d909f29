// Pipeline: source -> decoder -> ledger -> checkpoint, for all partitions held.
//
// The one loop of the daemon and of the offline report. A record is counted once: records below a
// partition's stored offset are passed over. The last of them is looked at, where the source hands it over again: another
// one than was counted ends the run (kRefuse), for the offset is of a stream that is no more. Only a file's last line may
// have changed: one that was not whole, and could not be read, is counted when it is. Counts and offsets become durable together; the source
// hears of it afterwards. While the store has no room, or the dead letters cannot be written, the source is paused, the checkpoint is tried
// again every second, and reading goes on by itself when it succeeds.
//
// Threads: one owner thread; counters() is read there too.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "ingest/dead_letters.h"
#include "ingest/decoder.h"
#include "ingest/fate.h"
#include "ingest/source.h"
#include "state/ledger.h"

namespace gapwatch::ingest {

// Upper bounds in seconds of the histogram of one batch's decode and apply; the last bucket is beyond.
inline constexpr double kApplyBounds[] = {0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0};

// Since the start of the process.
struct StreamCounters {
  std::uint64_t records = 0, events = 0;            // a document's parts are a record each
  std::uint64_t applied[6] = {};                    // by state::Applied
  std::map<std::string, std::uint64_t, std::less<>> skipped, rejected;  // records by reason
  std::uint64_t rebalances = 0;
  std::uint64_t dead_letters = 0;                   // written to their topic or file
  TimeMs watermark = 0;                             // largest time of an event counted; 0: none
  std::uint64_t apply_buckets[std::size(kApplyBounds) + 1] = {};
  double apply_seconds = 0;
};

class Pipeline final : public SourceHandler {
 public:
  // `letters` may be null: records that cannot be read are counted and said, and not kept.
  Pipeline(Source& source, Decoder& decoder, state::Ledger& ledger, const Clock& clock,
           std::chrono::milliseconds checkpoint_every, DeadLetters* letters = nullptr);

  // Polls once, counts what came, checkpoints when one is due. False: the source has ended.
  Result<bool> step(std::chrono::milliseconds wait);
  // Makes everything counted durable now.
  Status checkpoint();
  // Checkpoints, gives up the partitions, leaves the group.
  Status close();

  // Hears of every event with what became of it, from the owner thread; empty: nobody. For offline use.
  using Observer = std::function<void(const state::Event&, state::Applied)>;
  void set_observer(Observer observer) { observer_ = std::move(observer); }

  void pause();
  void resume();
  bool paused() const { return paused_by_user_; }

  const StreamCounters& counters() const { return counters_; }
  // One line while something is wrong that may pass; empty when all is well.
  const std::string& trouble() const { return trouble_; }
  bool assigned() const { return assigned_once_; }
  // Largest time of an event counted, of each partition held.
  std::map<PartitionName, TimeMs> watermarks() const;

  Result<std::optional<Offset>> on_assigned(PartitionIndex index, const PartitionName& name) override;
  bool wants_last_again(PartitionIndex index) const override;
  bool knew_topic(const std::string& topic) const override { return knew_.at(topic); }
  void on_started(PartitionIndex index, Offset start) override;
  void on_revoked(PartitionIndex index) override;
  void on_records(std::span<const Record> records) override;

 private:
  struct Held {
    PartitionName name;
    std::string default_eval;
    state::Shard* position = nullptr;  // keeps the offset
    state::Shard* shard = nullptr;     // keeps the rows: the same, or the one that all files share
    Offset saved = -1;                 // next offset told to the source
    TimeMs watermark = 0;
    const Record* last = nullptr;      // of the records in hand
    bool last_unread = false;
  };

  bool is_whole_now(const Held& held, const Record& record);
  // Whether anything of it could be read.
  bool count_record(Held& held, const Record& record);
  void count_waiting();
  void count_result(Held& held, const Record& record, const state::Event& event, state::ApplyResult result);
  void count_part(Held& held, const Record& record, const Decoded& decoded);
  void reject(Held& held, const Record& record, std::string_view reason, std::string_view detail);
  void checkpoint_if_due();
  void after_failed_checkpoint(const Error& error);

  Source& source_;
  Decoder& decoder_;
  state::Ledger& ledger_;
  const Clock& clock_;
  const std::chrono::milliseconds checkpoint_every_;
  std::vector<Held> held_;  // by partition index
  StreamCounters counters_;
  DeadLetters* const letters_;
  std::optional<std::pair<PartitionIndex, Offset>> last_letter_;
  std::map<std::string, bool> knew_;  // topics that were in the store before their first partition was taken
  Fate fate_;
  // Events of one partition that are counted together, the records they came in, and what became of them.
  Held* waiting_for_ = nullptr;
  std::vector<state::Event> waiting_;
  std::vector<const Record*> waiting_records_;
  std::vector<state::ApplyResult> results_;
  Observer observer_;
  std::string trouble_;
  std::optional<Error> failure_;
  bool paused_by_user_ = false, paused_by_store_ = false, assigned_once_ = false;
  std::chrono::steady_clock::time_point next_checkpoint_;
};

}  // namespace gapwatch::ingest
