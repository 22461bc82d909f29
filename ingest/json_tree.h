// JsonTree: a whole JSON document, for readers that look for things in it.
//
// Read with simdjson On-Demand and checked as json_reader checks: valid UTF-8, nested at most 64
// deep, one document; bare NaN, Infinity and -Infinity are numbers that are not finite, and a
// number of any size keeps its text.
//
// Threads: one. Memory: about 60 bytes a value beside the text; texts are views that live until
// the next parse().
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "ingest/fields.h"

namespace gapwatch::ingest {

class JsonTree {
 public:
  using Id = std::uint32_t;
  static constexpr Id kRoot = 0, kNone = UINT32_MAX;

  struct Node {
    Raw raw;
    std::string_view key;             // of an object's member
    Id first = kNone, next = kNone;  // the first of what is in it; the next beside it
  };

  JsonTree();
  ~JsonTree();
  JsonTree(const JsonTree&) = delete;
  JsonTree& operator=(const JsonTree&) = delete;

  // The root is an object or an array; anything else is a fault, and so is all that is not JSON.
  std::optional<Fault> parse(std::string_view text);

  // For other encodings: an empty root of this kind, and a member or element behind the last one of `parent`.
  void begin(Kind root);
  Id add(Id parent, Id last, std::string_view key, Raw raw);

  const Node& at(Id id) const { return nodes_[id]; }

 private:
  friend class TreeWalk;
  struct Impl;
  std::vector<Node> nodes_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gapwatch::ingest
