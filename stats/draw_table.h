// DrawTable: the draws behind a CountTable, where they are kept.
//
// One entry per cell, row by row as in CountTable; nullptr for a cell without identified draws. An empty table
// means that no draws are kept at all. The sets belong to whoever made the table and must outlive it.
//
// Threads: const access is safe to share while nobody changes the sets. Cost: a pointer a cell.
// Source: statistics.md section 4 (paired union).
#pragma once

#include <algorithm>
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

inline bool is_judged(DrawOutcome outcome) {
  return outcome == DrawOutcome::kFailure || outcome == DrawOutcome::kSuccess;
}

// f(draw, successes by policy) for every draw index judged for all of the pool, ascending.
template <typename F>
void for_each_aligned(std::span<const DrawSet* const> pool, F&& f) {
  if (pool.empty() || std::find(pool.begin(), pool.end(), nullptr) != pool.end()) return;
  std::vector<bool> successes(pool.size());
  pool[0]->for_each([&](std::uint64_t draw, DrawOutcome first) {
    if (!is_judged(first)) return;
    for (std::size_t m = 0; m < pool.size(); ++m) {
      const auto outcome = pool[m]->get(draw);
      if (!is_judged(outcome)) return;
      successes[m] = outcome == DrawOutcome::kSuccess;
    }
    f(draw, static_cast<const std::vector<bool>&>(successes));
  });
}

}  // namespace gapwatch::stats
