// MappedSource: a mapping's templates and conditions, looked up in one record.
//
// Made once of a mapping; each record sets what is known (the tree, the record, the variables), and
// get() answers what a list of ways says. Private to ingest/.
// Threads: one. Cost: a template walks down from its variable; members are found by looking through
// their object.
#pragma once

#include <boost/regex.hpp>

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/mapping.h"
#include "ingest/json_tree.h"
#include "ingest/source.h"

namespace gapwatch::ingest {

// What was found: kNull also where it is there and null; `there` tells null from nothing.
struct Got {
  bool there = false;
  Raw raw;
  JsonTree::Id node = JsonTree::kNone;  // of an object or array
  config::TimeUnit unit = config::TimeUnit::kMilliseconds;
  bool says() const { return there && raw.kind != Kind::kNull; }
};

class MappedSource {
 public:
  explicit MappedSource(const config::Mapping& mapping);

  // ---- Of one record ----
  void begin(const Record& record, JsonTree::Id root);
  void set(const std::string& variable, JsonTree::Id node, std::size_t index = 0);
  void unset(const std::string& variable) { places_.at(variable) = {}; }
  // Forgets the texts made so far; what get() gave is no longer valid.
  void forget_texts() { texts_.clear(); }

  JsonTree& tree() { return tree_; }
  std::deque<std::string>& texts() { return texts_; }
  // Where a path leads; kNone where nothing is there. Of a member that stands twice, the fault is noted.
  JsonTree::Id find(const config::MappedPath& path);
  // The first way that says something; else null where one was null; else nothing.
  Got get(const config::MappedWays& ways);
  Got get(const config::MappedWay& one) { return way(one); }
  bool holds(const config::MappedCondition& condition);
  // The first of the conditions that holds.
  const config::MappedCondition* first_of(const std::vector<config::MappedCondition>& conditions);
  // Anything ambiguous met since the last call.
  std::optional<Fault> take_fault() { return std::exchange(fault_, std::nullopt); }

  // A text, a number or a boolean as text; nothing for the rest.
  static std::optional<std::string_view> text_of(const Raw& raw);

 private:
  struct Place {
    JsonTree::Id node = JsonTree::kNone;
    std::size_t index = 0;
  };
  Got part(const config::MappedPart& part);
  Got of_node(JsonTree::Id id) const;
  Got path(const config::MappedPath& path);
  Got header(const std::string& name);
  Got text(std::string_view text);
  Got number(std::int64_t value);
  Got way(const config::MappedWay& way);
  Got joined(const config::MappedWay& way);
  Got coerced(Got got) const;
  JsonTree::Id member(JsonTree::Id object, std::string_view name);
  JsonTree::Id step(JsonTree::Id from, const config::MappedPath::Step& step);
  JsonTree::Id where(JsonTree::Id array, const config::MappedPath::Step& step);

  const config::Mapping& mapping_;
  std::map<std::string, boost::regex, std::less<>> expressions_;
  std::map<std::string, const config::MappedWays*, std::less<>> lets_;
  std::map<std::string, Place, std::less<>> places_;
  const Record* record_ = nullptr;
  JsonTree tree_;
  std::deque<std::string> texts_;
  std::optional<Fault> fault_;
};

}  // namespace gapwatch::ingest
