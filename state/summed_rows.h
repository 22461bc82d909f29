// SummedRows: what each row of a channel has in one monitor's sums, so that a row that changed can be
// replaced there without a look at its past.
//
// Rows are numbered as their channel meets them. One piece of memory a row, found by its number alone.
//
// Threads: as a plain value. Cost: O(pool) a row; 32 bytes and 8 a policy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/prefetch.h"
#include "stats/count_table.h"
#include "stats/draw_set.h"

namespace gapwatch::state {

struct SummedRow {
  stats::PairedCount paired;
  std::int64_t unscored = 0;
  bool in = false;      // its terms are in the sums; all else here means something only then
  bool routed = false;  // and so are those of its routers' decisions
};

class SummedRows {
 public:
  SummedRows() = default;
  explicit SummedRows(std::size_t pool) : pool_(pool) {}

  // Rows below `count` exist, out of the sums until they enter.
  void reach(std::size_t count) {
    while (blocks_.size() * kRows < count) {
      blocks_.push_back({std::make_unique<SummedRow[]>(kRows), std::make_unique<stats::CellCount[]>(kRows * pool_)});
    }
  }
  bool has(std::size_t row) const { return row < blocks_.size() * kRows; }
  SummedRow& row(std::size_t row) { return blocks_[row / kRows].rows[row % kRows]; }
  // The cells that are in the sums, by pool.
  std::span<stats::CellCount> cells(std::size_t row) {
    return {blocks_[row / kRows].cells.get() + row % kRows * pool_, pool_};
  }
  void prefetch(std::size_t row) const {
    const auto& block = blocks_[row / kRows];
    gapwatch::prefetch(&block.rows[row % kRows]);
    gapwatch::prefetch(block.cells.get() + row % kRows * pool_, pool_ * sizeof(stats::CellCount));
  }

 private:
  static constexpr std::size_t kRows = 256;
  struct Block {
    std::unique_ptr<SummedRow[]> rows;
    std::unique_ptr<stats::CellCount[]> cells;
  };
  std::size_t pool_ = 0;
  std::vector<Block> blocks_;
};

}  // namespace gapwatch::state
