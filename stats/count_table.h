// CountTable: what every statistic reads. Prompts x policies of (trials, successes).
//
// Rows are prompts in order of name, columns the pool's policies in order of name, so that no
// result depends on the order of arrival. trials = 0 is a missing cell. successes <= trials.
// Counts are at most 2^31 - 1.
//
// Threads: const access is safe to share. Cost: 8 bytes a cell.
// Source: statistics.md section 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gapwatch::stats {

struct CellCount {
  std::uint32_t trials = 0;
  std::uint32_t successes = 0;
  friend bool operator==(const CellCount&, const CellCount&) = default;
};

struct CountTable {
  std::vector<std::string> policies;  // M names, ascending
  std::vector<std::string> prompts;   // N names, ascending; may be left empty where nobody asks for names
  std::vector<CellCount> cells;       // N * M, row by row

  std::size_t pool_size() const { return policies.size(); }
  std::size_t prompt_count() const { return policies.empty() ? 0 : cells.size() / policies.size(); }
  std::span<const CellCount> row(std::size_t prompt) const {
    return {cells.data() + prompt * pool_size(), pool_size()};
  }
};

// need(tau, n) = ceil(tau * n - 1e-9): the fewest successes with which a cell of n trials covers.
// tau in (0, 1]. Zero at n = 0, where covers() is false all the same.
std::uint32_t need(double tau, std::uint32_t trials);

inline bool covers(CellCount cell, std::uint32_t needed) { return cell.trials > 0 && cell.successes >= needed; }

// What makes a prompt part of the pool statistics (statistics.md section 1).
struct Completeness {
  std::uint32_t min_trials = 1;   // a prompt is complete when every cell has at least this many
  bool missing_as_fail = false;   // instead: every prompt with any trial, an empty cell does not cover
  friend bool operator==(const Completeness&, const Completeness&) = default;
};

bool is_complete(std::span<const CellCount> row, const Completeness& rule);

// The rows of `table` that count under `rule`, in order.
CountTable complete_rows(const CountTable& table, const Completeness& rule);

}  // namespace gapwatch::stats
