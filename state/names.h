// NameTable: names to small ids and back, in order of first sight.
//
// Threads: one writer. Cost: one hash of the name a lookup; a name is stored once.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

namespace gapwatch::state {

struct NameHash {
  using is_avalanching = void;
  std::size_t operator()(std::string_view name) const noexcept { return std::hash<std::string_view>{}(name); }
};

class NameTable {
 public:
  std::optional<std::uint32_t> find(std::string_view name) const {
    const auto at = ids_.find(name);
    if (at == ids_.end()) return std::nullopt;
    return at->second;
  }

  std::uint32_t intern(std::string_view name) {
    if (const auto known = find(name)) return *known;
    const auto id = static_cast<std::uint32_t>(names_.size());
    ids_.emplace(names_.emplace_back(name), id);
    return id;
  }

  const std::string& name(std::uint32_t id) const { return names_[id]; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(names_.size()); }

 private:
  std::deque<std::string> names_;  // a deque never moves them: the map's keys point into it
  boost::unordered_flat_map<std::string_view, std::uint32_t, NameHash> ids_;
};

}  // namespace gapwatch::state
