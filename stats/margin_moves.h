// Exact conditional moves on a table with given margins (see margin_chain.h).
//
// Threads: an object belongs to one thread. Cost: margin_chain.h.
// Source: statistics.md section 5.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "stats/log_concave.h"
#include "stats/null_alias.h"

namespace gapwatch::stats {

// A 2 x 2 table's margins and trials: rows i, j; columns a, b.
struct Margins2x2 {
  std::uint32_t trials_ia, trials_ib, trials_ja, trials_jb;
  std::uint32_t row_i, row_j, column_a;
};

// The count of cell (i, a) given the margins: P(x) proportional to the product of the four C(trials, count).
class HeatBath {
 public:
  // `start` is any possible value.
  std::uint32_t draw(FastRandom& random, const Margins2x2& m, std::uint32_t start);

  // The same for many pairs of rows at once, all of the same trials (of column a, of column b; at most
  // kCachedTrials): the first `given` tables of `tables` are drawn anew from laws that are worked out at
  // first use (those after them are overwritten). `space` is an index from make_space().
  static constexpr std::uint32_t kCachedTrials = 32;
  std::size_t make_space(std::uint32_t trials_a, std::uint32_t trials_b);
  struct Tables {
    static constexpr std::size_t kMost = PackedAlias::kMost;
    template <typename T>
    using Each = PackedAlias::Each<T>;
    Each<std::uint8_t> ia, ib, ja, jb;
  };
  void draw(FastRandom& random, std::size_t space, Tables& tables, std::size_t given);

 private:
  struct Space {
    std::uint32_t trials_a, trials_b, columns;
    std::vector<std::uint32_t> slots;  // by larger row, smaller row, column: (first entry + 1) * 16 + bits; 0: not built yet
  };
  // Where the laws of the tables lie, and what leads from the law to the table.
  struct Aims {
    Tables::Each<std::uint8_t> row_i, row_j, column_a, low, high, column, rows, columns, drawn;
    Tables::Each<std::uint32_t> at;
  };
  void draw_rows(FastRandom& random, Space& space, Aims& aims, std::size_t given, std::size_t count);
  std::uint32_t build(const Space& space, std::uint32_t row_i, std::uint32_t row_j, std::uint32_t column_a);

  std::vector<Space> spaces_;
  PackedAlias laws_;
  std::vector<double> scratch_;
};

}  // namespace gapwatch::stats
