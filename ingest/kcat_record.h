// KcatEnvelope: a record as `kcat -J` prints it, one JSON object a line: topic, partition, offset, ts,
// headers (name, value, name, ...), key and payload; or key_base64 and payload_base64, as dead_letters.h
// writes what is no text. Private to ingest/.
//
// Threads: one.
#pragma once

#include <string>
#include <vector>

#include "ingest/json_tree.h"
#include "ingest/source.h"

namespace gapwatch::ingest {

class KcatEnvelope final : private HeaderReader {
 public:
  // Puts what is in the envelope in place of the line: topic, time, key, value, headers. Where the line is no
  // such envelope, the record stays as it is. Texts live until the next call.
  void open(Record& record);

 private:
  std::span<const Header> headers_of(const Record&) const override { return headers_; }
  void read_headers(JsonTree::Id list);
  void read_members(Record& record);

  JsonTree tree_;
  std::vector<Header> headers_;
  RecordContext context_;
  std::string payload_, key_;  // where they came in base64
};

}  // namespace gapwatch::ingest
