// Row: one prompt of one channel in one partition, all its cells. The unit that is stored.
//
// Cells are indexed by the channel's column of a policy (order of first sight in this process). A
// row may be shorter than the channel is wide: cells beyond its end are empty.
// Counts: trials = judged draws, identified or not, plus pre-counted ones; successes <= trials <= 2^31 - 1.
//
// Threads: as a plain value. Cost: 40 bytes a cell, draws beyond the 64th of a cell apart, and
// where events tell their time 64 bytes a cell and four a draw, in the shard.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "state/draw_times.h"
#include "stats/draw_set.h"

namespace gapwatch::state {

inline constexpr std::uint32_t kMaxCount = (1u << 31) - 1;

inline constexpr std::uint32_t kNoTimes = UINT32_MAX;

struct Cell {
  std::uint32_t trials = 0;
  std::uint32_t successes = 0;
  std::uint32_t unscored = 0;
  std::uint32_t times = kNoTimes;  // of its draws: an index into the shard's
  stats::DrawSet draws;

  bool empty() const { return trials == 0 && unscored == 0; }  // every draw is counted in one of them
};

// A router's latest decision for a prompt: policies by name id, weights summing to 1.
struct Decision {
  RouterId router;
  std::vector<std::pair<PolicyId, double>> weights;
};

// All routers' decisions for one prompt of one eval, shared by its rows (one a scorer).
struct RouteSet {
  std::vector<Decision> decisions;
};

struct Row {
  std::string_view prompt;  // memory of the shard
  ChannelId channel;
  SliceId slice;            // id 0 is "no slice"
  std::uint32_t index = 0;  // in the shard
  std::uint32_t number = 0; // in the channel, of this shard
  bool touched = false;     // the running sums have it as it was, until the next refresh
  bool unsaved = false;     // differs from the store
  bool in_store = false;    // its cells are there alone, `cells` is empty
  bool erased = false;      // nothing is kept of it but the name, until the next event
  bool used = false;        // since the shard last looked for rows to let go of
  std::uint32_t bytes = 0;  // of memory that letting go of its cells gives back, as last looked at
  RouteSet* routes = nullptr;
  std::vector<Cell> cells;
};

// ---- Bytes (state/FORMAT.md) ----

// Policies in a stored row are ids of the partition's own dictionary. An encoder is given the id of
// each column, a decoder the column of each id.
std::string encode_row(const Row& row, std::string_view slice, const std::vector<std::uint32_t>& id_of_column,
                       const std::deque<DrawTimes>& times);

struct DecodedCell {
  std::uint32_t policy_id = 0;
  Cell cell;  // without times
  DrawTimes times;
};
struct DecodedRow {
  std::string slice;
  std::vector<DecodedCell> cells;
};
// Refuses bytes of an unknown version and bytes that do not add up.
Result<DecodedRow> decode_row(std::string_view bytes);

}  // namespace gapwatch::state
