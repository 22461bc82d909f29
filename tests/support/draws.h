// Draw tables from outcome strings, "0" and "1" in order of the draw index.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "stats/count_table.h"
#include "stats/draw_table.h"

namespace gapwatch::testing {

// Owns the sets that `table` points to.
struct Draws {
  explicit Draws(const std::vector<std::vector<std::string>>& rows) {
    for (const auto& row : rows) {
      table.pool_size = row.size();
      for (const auto& outcomes : row) {
        stats::DrawSet& set = sets.emplace_back();
        for (std::size_t j = 0; j < outcomes.size(); ++j) {
          set.exchange(j, outcomes[j] == '1' ? stats::DrawOutcome::kSuccess : stats::DrawOutcome::kFailure);
        }
        table.cells.push_back(&set);
      }
    }
  }
  std::deque<stats::DrawSet> sets;
  stats::DrawTable table;
};

inline stats::CountTable counts_of(const stats::DrawTable& draws, std::vector<std::string> policies) {
  stats::CountTable counts;
  counts.policies = std::move(policies);
  for (const auto* set : draws.cells) {
    stats::CellCount cell;
    set->for_each([&](std::uint64_t, stats::DrawOutcome outcome) {
      cell.trials += stats::is_judged(outcome);
      cell.successes += outcome == stats::DrawOutcome::kSuccess;
    });
    counts.cells.push_back(cell);
  }
  return counts;
}

}  // namespace gapwatch::testing
