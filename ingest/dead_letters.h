// Dead letters: records that could not be read, kept where somebody can look at them.
//
// A letter has the record's key, value, headers and position as they were, and a bounded reason. A
// checkpoint flushes the letters before it moves a position past their records: where they cannot be
// written the stream waits, and no bad record is lost. After a crash the records since the last
// checkpoint are read, and written here, again.
//
// Threads: one.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "config/settings.h"
#include "ingest/source.h"

namespace gapwatch::ingest {

class DeadLetters {
 public:
  virtual ~DeadLetters() = default;
  // Takes a copy. `detail` is cut to a few hundred bytes. Of a document only its place is kept: it lies
  // in its file.
  void put(const PartitionName& from, const Record& record, std::string_view reason, std::string_view detail);
  // Everything put is where it belongs, and durable. kRetry or kStop: some is not yet; call again.
  Status flush();
  // More waits than a batch or two should leave: flush before going on.
  bool full() const { return pending_bytes_ > kMostPending; }
  // Delivered since the start.
  std::uint64_t written() const { return written_; }

  struct Letter {
    PartitionName from;
    Offset offset = 0;
    TimeMs time = 0;
    std::string key, value, reason, detail;
    bool has_key = false, has_value = false;
    std::vector<std::pair<std::string, std::string>> headers;
  };

 protected:
  // Writes these, in order; how many are durable when it returns, all where the status is ok.
  struct Wrote {
    std::size_t count = 0;
    Status status;
  };
  virtual Wrote write(std::span<const Letter> letters) = 0;

 private:
  static constexpr std::size_t kMostPending = 16 << 20;
  std::vector<Letter> pending_;
  std::size_t pending_bytes_ = 0;
  std::uint64_t written_ = 0;
};

// To the settings' topic (with the source's brokers and properties) or file; null where neither is set. A file is
// appended to, and is a *.kcat.jsonl in all but name: `gapwatch decode` reads it. Refuses where it cannot be opened.
Result<std::unique_ptr<DeadLetters>> make_dead_letters(const config::Settings& settings);

}  // namespace gapwatch::ingest
