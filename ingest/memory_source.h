// The twin of the real sources, for tests: a topic in memory, and a source on it whose assignments,
// losses and errors are played by hand. No threads, no clock, nothing waits.
//
// A MemoryTopic outlives its sources, as a broker does: a second source on it is a restart.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ingest/source.h"

namespace gapwatch::ingest {

class MemoryTopic {
 public:
  struct Stored {
    Offset offset = 0;
    std::string key, value;
    TimeMs time = 0;
    bool tombstone = false;
  };
  struct Partition {
    Offset first = 0, end = 0;
    std::deque<Stored> records;
  };

  // Adds a record behind the partition's last one and returns its offset. The partition is made.
  Offset append(const PartitionName& name, std::string value, std::string key = {}, TimeMs time = 0);
  Offset append_tombstone(const PartitionName& name, std::string key, TimeMs time = 0);
  // Leaves a hole, as compaction and transactions do.
  void skip_offsets(const PartitionName& name, Offset count);
  // Forgets the records below `first`, as retention does.
  void trim(const PartitionName& name, Offset first);

  std::map<PartitionName, Partition> partitions;
  std::map<PartitionName, Offset> committed;  // what sources told by committed()
};

class MemorySource final : public Source {
 public:
  explicit MemorySource(std::shared_ptr<MemoryTopic> topic, std::size_t batch = 100)
      : topic_(std::move(topic)), batch_(batch) {}

  // Each takes effect at the next poll(), in the order of the calls, before any record.
  void assign(const PartitionName& name);
  void revoke(const PartitionName& name);
  // That poll() reports the error instead of handing over records. kRetry passes; others stay.
  void fail_next_poll(Error error);
  // From now on poll() returns false once every record of what is assigned was handed over.
  void end_after_records() { ends_ = true; }
  // The next poll() hands over the last `back` offsets of the partition again.
  void redeliver(const PartitionName& name, Offset back);

  Result<bool> poll(std::chrono::milliseconds wait, SourceHandler& handler) override;
  void committed(PartitionIndex index, Offset next) override;
  void pause() override { paused_ = true; }
  void resume() override { paused_ = false; }
  std::vector<PartitionProgress> progress() const override;
  void close(SourceHandler& handler) override;
  bool closed() const { return closed_; }
  bool paused() const { return paused_; }

 private:
  struct Held {
    PartitionName name;
    Offset next = 0;
    bool assigned = false;
  };
  struct Event {
    enum class Kind { kAssign, kRevoke, kFail } kind;
    PartitionName name;
    std::optional<Error> error;
  };

  Status play(const Event& event, SourceHandler& handler);
  Status take(const PartitionName& name, SourceHandler& handler);
  Held* find(const PartitionName& name);
  bool collect(std::vector<Record>& records);

  std::shared_ptr<MemoryTopic> topic_;
  std::size_t batch_;
  std::deque<Event> script_;
  std::vector<Held> held_;
  std::optional<Error> failure_;
  bool ends_ = false, paused_ = false, closed_ = false;
};

}  // namespace gapwatch::ingest
