// SummedRows: what each row of a channel has in one monitor's sums, so that a row that changed can be
// replaced there without a look at its past.
//
// Rows are numbered as their channel meets them. One piece of memory a row, found by its number alone.
//
// Threads: as a plain value. Cost: O(pool) a row; 56 bytes and 8 a policy, 8 where the row was forgotten.
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

  bool has(std::size_t row) const { return row < rows_.size() && rows_[row] != nullptr; }
  // Made where it is not there, out of the sums until it enters.
  SummedRow& row(std::size_t row) {
    if (rows_.size() <= row) rows_.resize(row + 1);
    if (rows_[row] == nullptr) rows_[row] = make();
    return *reinterpret_cast<SummedRow*>(rows_[row].get());
  }
  // The cells that are in the sums, by pool; of a row that is there.
  std::span<stats::CellCount> cells(std::size_t row) {
    return {reinterpret_cast<stats::CellCount*>(rows_[row].get() + sizeof(SummedRow)), pool_};
  }
  // The memory of a row; what it has in the sums stays there.
  void forget(std::size_t row) {
    if (has(row)) rows_[row].reset();
  }
  std::size_t row_bytes() const { return sizeof(SummedRow) + pool_ * sizeof(stats::CellCount) + kAllocation; }
  void prefetch(std::size_t row) const { gapwatch::prefetch(rows_[row].get(), row_bytes() - kAllocation); }

 private:
  static constexpr std::size_t kAllocation = 16;  // what the heap adds
  std::unique_ptr<std::byte[]> make() const {
    auto memory = std::make_unique<std::byte[]>(row_bytes() - kAllocation);
    new (memory.get()) SummedRow;
    std::uninitialized_value_construct_n(reinterpret_cast<stats::CellCount*>(memory.get() + sizeof(SummedRow)), pool_);
    return memory;
  }
  std::size_t pool_ = 0;
  std::vector<std::unique_ptr<std::byte[]>> rows_;  // a SummedRow, then its cells
};

}  // namespace gapwatch::state
