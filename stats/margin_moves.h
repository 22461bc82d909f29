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
  // kCachedTrials): the first `count` tables of `tables` are drawn anew, each by its uniform number, from
  // laws that are worked out at first use. `space` is an index from make_space().
  static constexpr std::uint32_t kCachedTrials = 32;
  std::size_t make_space(std::uint32_t trials_a, std::uint32_t trials_b);
  struct Tables {
    static constexpr std::size_t kMost = 256;
    template <typename T>
    using Each = std::array<T, kMost>;
    Each<std::uint8_t> ia, ib, ja, jb;
    Each<std::uint32_t> number;
  };
  void draw(std::size_t space, Tables& tables, std::size_t count);

 private:
  // Packed alias rows: the upper 16 bits of `keep`, own and alias in 8 bits each; the lower 16 bits of `keep`
  // lie apart and are looked at once in 65,536 draws.
  struct Space {
    std::uint32_t trials_a, trials_b, rows, columns;
    std::vector<std::uint32_t> slots;  // (first entry) * 16 + bits; 0: not built yet
  };
  // Where the laws of the tables lie, and what leads from the law to the table.
  struct Aims {
    Tables::Each<std::uint8_t> row_i, row_j, column_a, low, high, column, rows, columns, drawn;
    Tables::Each<std::uint32_t> at;
  };
  void draw_rows(Space& space, Aims& aims, const Tables& tables, std::size_t count);
  std::uint32_t build(const Space& space, std::uint32_t row_i, std::uint32_t row_j, std::uint32_t column_a);

  std::vector<Space> spaces_;
  std::vector<std::uint32_t> packed_ = std::vector<std::uint32_t>(1);
  std::vector<std::uint16_t> low_bits_ = std::vector<std::uint16_t>(1);
  std::vector<double> scratch_;
};

}  // namespace gapwatch::stats
