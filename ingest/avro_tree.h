// Avro records as trees: Confluent's framing (a byte 0, the schema's id in four bytes, the Avro binary), with
// schemas from files.
//
// Records and maps are objects, enums are texts, a union is its branch; int and long are whole numbers, so
// a timestamp has the unit its schema says (millis, micros). bytes and fixed are texts where they are valid UTF-8,
// else null. A reader of our own, because avro-c keeps what it allocated for a record that turns out short.
//
// Threads: one. Cost: one pass; memory as json_tree. A record may not come to more than a million values, nor be nested
// deeper than 64.
// Source: Apache Avro 1.11 specification, "Schema Declaration" and "Binary Encoding".
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ingest/json_tree.h"

namespace gapwatch::ingest {

class AvroReader {
 public:
  // Schemas as their JSON, by id. What is wrong with one is the fault of every record that names it.
  explicit AvroReader(const std::map<std::uint32_t, std::string>& schemas);
  ~AvroReader();

  // Texts that are not in `value` are kept in `texts`.
  std::optional<Fault> read(std::string_view value, JsonTree& tree, std::deque<std::string>& texts);

 private:
  struct Schema;
  std::map<std::uint32_t, std::unique_ptr<Schema>> schemas_;
};

}  // namespace gapwatch::ingest
