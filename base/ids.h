// Ids as types of their own, so that a policy's column can never be passed as a prompt's row.
//
// Ids are given in order of first sight and mean nothing outside the process: nothing that is
// reported may depend on their order (output and ties are ordered by name).
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace gapwatch {

template <typename Tag, typename Int = std::uint32_t>
struct Id {
  Int value{};
  friend constexpr auto operator<=>(Id, Id) = default;
};

using PolicyId = Id<struct PolicyTag>;    // a policy (with its version) of one process
using PromptId = Id<struct PromptTag>;    // a prompt's name
using ChannelId = Id<struct ChannelTag>;  // one (eval, scorer): statistics never mix two
using SliceId = Id<struct SliceTag>;
using RouterId = Id<struct RouterTag>;

// Position of a record in a partition. The next offset to read is stored with the state.
using Offset = std::int64_t;

// What is kept of a record to know it again.
struct RecordMark {
  std::uint64_t digest = 0;
  std::uint64_t unread_bytes = 0;  // of a record of which nothing could be read: its size
  friend bool operator==(const RecordMark&, const RecordMark&) = default;
};

// Milliseconds since the Unix epoch.
using TimeMs = std::int64_t;

}  // namespace gapwatch

template <typename Tag, typename Int>
struct std::hash<gapwatch::Id<Tag, Int>> {
  std::size_t operator()(gapwatch::Id<Tag, Int> id) const noexcept { return std::hash<Int>{}(id.value); }
};
