// A handler that writes down what a source does, and answers assignments from a table.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ingest/source.h"

namespace gapwatch::testing {

class RecordingHandler : public ingest::SourceHandler {
 public:
  struct Seen {
    ingest::PartitionName from;
    Offset offset;
    TimeMs time;
    std::string key, value;
    bool tombstone, truncated;
  };

  Result<std::optional<Offset>> on_assigned(ingest::PartitionIndex index, const ingest::PartitionName& name) override {
    if (refusal) return *refusal;
    held[index] = name;
    ++assignments;
    if (const auto at = start.find(name); at != start.end()) return std::optional(at->second);
    return std::optional<Offset>();
  }
  void on_revoked(ingest::PartitionIndex index) override {
    revoked.push_back(held.at(index));
    held.erase(index);
  }
  void on_records(std::span<const ingest::Record> records) override {
    for (const auto& r : records) {
      seen.push_back({held.at(r.partition), r.offset, r.time, std::string(r.key), std::string(r.value), r.tombstone, r.truncated});
    }
  }
  std::vector<std::string> values() const {
    std::vector<std::string> all;
    for (const auto& one : seen) all.push_back(one.value);
    return all;
  }

  std::map<ingest::PartitionName, Offset> start;
  std::optional<Error> refusal;
  std::map<ingest::PartitionIndex, ingest::PartitionName> held;
  std::vector<ingest::PartitionName> revoked;
  std::vector<Seen> seen;
  int assignments = 0;
};

// Polls until `done` holds or the source ends or fails; the error, if any.
template <typename Done>
std::optional<Error> poll_until(ingest::Source& source, ingest::SourceHandler& handler, Done done) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!done()) {
    auto more = source.poll(std::chrono::milliseconds(100), handler);
    if (!more) return more.error();
    if (!*more && !done()) return stop("the source ended");
    if (std::chrono::steady_clock::now() > limit) return stop("nothing came for a minute");
  }
  return std::nullopt;
}

// To the end of a source that has one.
inline std::optional<Error> poll_to_end(ingest::Source& source, ingest::SourceHandler& handler) {
  for (;;) {
    auto more = source.poll(std::chrono::milliseconds(1000), handler);
    if (!more) return more.error();
    if (!*more) return std::nullopt;
  }
}

}  // namespace gapwatch::testing
