// Source: where records come from, in partitions, in order.
//
// The caller drives: poll() hands over the next records and whatever happened to the assignment.
// A source never decides where to start: the caller answers every assignment with the next offset
// stored beside its counts, so counts and position cannot drift apart.
//
// Threads: one caller. Errors: kRetry is passing (the source goes on by itself, say it and poll
// again), kRefuse ends the run.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "config/settings.h"

namespace gapwatch::ingest {

// One partition of a topic; for a file, its name and partition 0.
struct PartitionName {
  std::string topic;
  std::int32_t partition = 0;
  friend auto operator<=>(const PartitionName&, const PartitionName&) = default;
};

// Index of an assigned partition, chosen by the source, stable while it stays assigned.
using PartitionIndex = std::uint32_t;

struct Header {
  std::string_view name, value;
};

struct Record;

// Reads a record's headers when somebody asks: most never do.
class HeaderReader {
 public:
  virtual ~HeaderReader() = default;
  // In order; a name may be there more than once. Views live until the next call.
  virtual std::span<const Header> headers_of(const Record& record) const = 0;
};

// What records of one partition have in common.
struct RecordContext {
  std::string_view topic;  // where it is known
  std::string_view file;   // as it was named; empty where the records are not of a file
  std::string_view names;  // a CSV file's first line, for the lines below it
  const HeaderReader* headers = nullptr;
};

struct Record {
  PartitionIndex partition = 0;
  Offset offset = 0;  // Kafka offset; for a file, the 0-based line number
  TimeMs time = 0;    // the record's own time stamp; 0 where there is none
  std::string_view key;
  std::string_view value;
  bool tombstone = false;  // a null value, not an empty one
  bool truncated = false;  // a line beyond the source's bound: `value` is only its beginning
  bool document = false;   // a whole file
  const RecordContext* context = nullptr;
  const void* origin = nullptr;  // the header reader's own

  std::string_view topic() const { return context == nullptr ? std::string_view() : context->topic; }
  std::string_view file() const { return context == nullptr ? std::string_view() : context->file; }
  std::string_view names() const { return context == nullptr ? std::string_view() : context->names; }
  std::span<const Header> headers() const {
    const bool any = context != nullptr && context->headers != nullptr;
    return any ? context->headers->headers_of(*this) : std::span<const Header>();
  }
};

// What the caller does with what poll() finds, in the order it happened.
class SourceHandler {
 public:
  virtual ~SourceHandler() = default;
  // A partition is ours: answer with the offset of the next record wanted, or nothing for the
  // source's beginning. An error refuses the partition and ends the run.
  virtual Result<std::optional<Offset>> on_assigned(PartitionIndex index, const PartitionName& name) = 0;
  // Whether the record before the next one wanted is to be handed over again where it still is there, for the handler
  // to see that this is the stream it knows and not one made anew under the same name. Asked after on_assigned.
  virtual bool wants_last_again(PartitionIndex) const { return false; }
  // Whether a life before this one read partitions of the topic: its end was left behind then, and a partition that
  // is new begins there no more. Asked after on_assigned.
  virtual bool knew_topic(const std::string&) const { return false; }
  // Where the partition begins for which on_assigned answered nothing, once the source knows it. It is to be kept:
  // the next life goes on from there, whatever "the end" or "that time" would mean by then.
  virtual void on_started(PartitionIndex, Offset) {}
  // A partition is about to leave: everything of it must be durable when this returns.
  virtual void on_revoked(PartitionIndex index) = 0;
  // Records, in order within each partition. Their memory is valid during the call.
  virtual void on_records(std::span<const Record> records) = 0;
};

// How far a partition is; for lag and the watermark.
struct PartitionProgress {
  PartitionName name;
  Offset next = 0;                    // the next offset the caller will be given
  std::optional<Offset> end;          // one past the last record known to exist
};

class Source {
 public:
  virtual ~Source() = default;
  // Waits up to `wait` for something to happen and hands it over. True: more may come. False: the
  // source has ended (files and standard input do, Kafka never).
  virtual Result<bool> poll(std::chrono::milliseconds wait, SourceHandler& handler) = 0;
  // Tells the source that records below `next` are durable (for tooling; positions are the state's).
  virtual void committed(PartitionIndex index, Offset next) = 0;
  virtual void pause() = 0;
  virtual void resume() = 0;
  virtual std::vector<PartitionProgress> progress() const = 0;
  // SHA-256, in hexadecimal, of every byte read so far as it lies on disk, files in order; nothing
  // where the source is not made of files.
  virtual std::optional<std::string> input_sha256() const { return std::nullopt; }
  // What an event's eval is where neither it nor the config says: the topic; of a file, its name without
  // folders and endings.
  virtual std::string default_eval(const std::string& topic) const { return topic; }
  // Whether a prompt may be in several partitions: files are written one for each policy. Partitions of Kafka are
  // read by different processes, so there a prompt must stay in one.
  virtual bool shares_prompts() const { return false; }
  // Gives up the assignment (on_revoked is called for each partition) and leaves the group.
  virtual void close(SourceHandler& handler) = 0;
};

// Asks the broker for the topics, for at most `start_wait`, and joins the group. Refuses with a
// message that says what to do where the broker does not answer, a topic is not there or a property
// is unknown. Once started, a broker that goes away is said once (kRetry) and waited for.
//
// Positions: a partition begins where on_assigned says, or a record before (wants_last_again; so, too, after a pause).
// An offset that the broker no longer has is an error (kRefuse) that says how many records are lost; it is never passed
// over.
Result<std::unique_ptr<Source>> make_kafka_source(
    const config::KafkaSource& settings, std::chrono::milliseconds start_wait = std::chrono::seconds(10));

// How a file's bytes are cut into records.
enum class FileShape {
  kLines,      // each line is one
  kDocuments,  // as kLines, but a file whose first line is not a whole JSON value is one record, a document
  kCsv,        // lines that end outside quotes; the first is Record::names of the others
};

// Plain, .gz and .zst files, by their first bytes, in the given order; "-" is standard input.
// Each is a partition (its name as given, partition 0) that is assigned when it is opened and held
// until close(). A record is a line without its line end; empty lines are passed over but counted
// in the offset, the last line needs no line end, and of a line longer than `max_line_bytes` (a
// document: 256 MiB) the beginning is handed over as `truncated`. A file named *.kcat.jsonl (before
// .gz or .zst) holds records as `kcat -J` prints them: each is handed over as it was on its topic. In one
// named *.hex each line is a record's bytes in hexadecimal.
// A file that cannot be read or unpacked is an error (kRefuse) that names the file, the line and the
// byte; the lines before it have been handed over.
// Memory: the longest line (or document) and a few hundred kilobytes.
Result<std::unique_ptr<Source>> make_file_source(const std::vector<std::string>& files,
                                                 std::size_t max_line_bytes = 16 << 20,
                                                 FileShape shape = FileShape::kLines);

}  // namespace gapwatch::ingest
