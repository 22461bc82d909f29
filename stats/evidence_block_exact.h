// The exact block e-value by dynamic programming over rows.
//
// Every row's tables are listed with their probabilities under each lane's tilts. The law of the policy
// totals is then built row by row as a sparse list of partial totals, kept to those that can still become the
// block's, for one half of the rows and for the other, and the halves are joined at T. The policies' totals
// sum to the rows', so the widest policy needs no place in the list's index.
//
// Threads: one object a thread. Cost: docs/EVIDENCE.md. No allocation once warm.
// Source: sequential.md, B5.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "stats/evidence_batch.h"

namespace gapwatch::stats {

struct TiltedBatch {
  const Batch* batch = nullptr;       // informative
  const BatchLanes* tilts = nullptr;  // by cell; the first kMarginComponents lanes are read
};

// Which policies a block has, and their totals.
struct BlockShape {
  std::vector<std::uint32_t> policies;                        // ascending: the columns
  std::vector<std::uint32_t> totals, capacity;                // successes and trials by column
  std::vector<std::array<std::uint16_t, kBatchSize>> column;  // by row and cell
  std::vector<int> trials;                                    // rows x columns

  void read(std::span<const TiltedBatch> rows);
};

class ExactBlock {
 public:
  static constexpr std::size_t kMaxPolicies = 6;

  // log e of the first kMarginComponents lanes; false where the lists would grow too long or a probability
  // leaves double's range. At most kMaxPolicies columns and 16 rows.
  bool evaluate(std::span<const TiltedBatch> rows, const BlockShape& shape, Lanes& log_e);

 private:
  static constexpr std::size_t kNull = kMarginComponents;       // the lane without tilts
  static constexpr std::size_t kWidth = kMarginComponents + 2;  // that, and one of padding
  using Weights = std::array<double, kWidth>;
  using Totals = std::uint64_t;  // successes of up to eight policies, one byte each, at most 127
  using Counts = std::array<std::uint32_t, kMaxPolicies>;

  struct Point {
    Totals totals;    // of one row's table, or summed over some rows
    Weights weights;  // their probability under each lane's tilts
  };
  // A range of totals with a dense index.
  struct Box {
    Totals low = 0, high = 0;
    std::array<std::size_t, kMaxPolicies> stride{};
    std::size_t size = 1;
    bool contains(Totals x) const;
    std::size_t index(Totals above_low) const;
  };

  void enumerate_row(const TiltedBatch& row, std::size_t g, const BlockShape& shape, Lanes& log_e);
  void deal(const Batch& batch, const std::array<std::uint16_t, kBatchSize>& column, std::size_t cell,
            std::uint32_t left, const Point& so_far);
  void split_rows(std::size_t rows);
  bool convolve(const std::vector<std::size_t>& rows, const BlockShape& shape, std::vector<Point>& points);
  bool extend(std::size_t g, std::vector<Point>& points);
  static Box box_of(const BlockShape& shape, const Counts& used);

  std::array<std::array<Weights, kBatchSize + 1>, kBatchSize> factor_;  // by cell and successes, of one row
  std::vector<Point> tables_;                                           // of all rows, one after the other
  std::vector<std::size_t> first_table_;                                // by row, and the end
  std::vector<std::size_t> by_length_, front_rows_, back_rows_;
  std::vector<Point> front_, back_, next_;
  std::vector<std::int32_t> place_;  // by index in box_
  Box box_;
};

}  // namespace gapwatch::stats
