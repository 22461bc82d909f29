// DrawTable: the draws behind a CountTable, where they are kept.
//
// One entry per cell, row by row as in CountTable; nullptr for a cell without identified draws. An empty table
// means that no draws are kept at all. The sets belong to whoever made the table and must outlive it.
//
// Threads: const access is safe to share while nobody changes the sets.
#pragma once

#include <span>
#include <vector>

#include "stats/draw_set.h"

namespace gapwatch::stats {

struct DrawTable {
  std::size_t pool_size = 0;
  std::vector<const DrawSet*> cells;  // N * M, or empty

  bool empty() const { return cells.empty(); }
  std::size_t prompt_count() const { return pool_size == 0 ? 0 : cells.size() / pool_size; }
  std::span<const DrawSet* const> row(std::size_t prompt) const {
    return {cells.data() + prompt * pool_size, pool_size};
  }
};

}  // namespace gapwatch::stats
