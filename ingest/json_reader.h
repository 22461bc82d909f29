// The general way to read an event: any JSON document, with simdjson On-Demand.
//
// The whole document is checked, fields that nobody reads included, with one kindness: NaN,
// Infinity and -Infinity, which Python writes, count as numbers that are not finite.
//
// Threads: one. Cost: the record is copied once, to give the parser its padding; the buffers grow
// to the longest record and stay.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "ingest/fields.h"

namespace gapwatch::ingest {

class JsonReader {
 public:
  JsonReader();
  ~JsonReader();
  JsonReader(const JsonReader&) = delete;
  JsonReader& operator=(const JsonReader&) = delete;

  // Fills `fields`, whose texts live until the next call, or says what is wrong.
  std::optional<Fault> read(std::string_view text, Fields& fields);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gapwatch::ingest
