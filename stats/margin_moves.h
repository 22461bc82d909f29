// Exact conditional moves on a table with given margins (see margin_chain.h).
//
// Threads: an object belongs to one thread.
// Source: statistics.md section 5.
#pragma once

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

  // The same for two rows of the same trials (of column a, of column b; at most kCachedTrials), from a table
  // built at first use; `number` is uniform on 32 bits. `space` is an index from make_space().
  static constexpr std::uint32_t kCachedTrials = 32;
  std::size_t make_space(std::uint32_t trials_a, std::uint32_t trials_b);
  std::uint32_t draw_cached(std::size_t space, std::uint32_t number, std::uint32_t row_i, std::uint32_t row_j,
                            std::uint32_t column_a) {
    Space& s = spaces_[space];
    // Exchanging the rows maps x to column_a - x; exchanging columns of the same trials maps it to row - x.
    // So a quarter of the tables serves all. Masks, not branches: all ones, or none.
    const std::uint32_t rows = mask(row_i > row_j), flip = (row_i ^ row_j) & rows;
    const std::uint32_t low = row_i ^ flip, high = row_j ^ flip, column_b = row_i + row_j - column_a;
    const std::uint32_t columns = mask(column_a > column_b) & s.even;
    const std::uint32_t column = column_a ^ ((column_a ^ column_b) & columns);
    std::uint32_t& slot = s.slots[(low * s.rows + high) * s.columns + column];
    if (slot == 0) slot = build(s, low, high, column);
    const std::uint32_t x = pick(slot, number);
    const std::uint32_t in_a = reflect(x, low, columns);
    return reflect(in_a, column_a, rows);
  }

 private:
  // Packed alias rows: the upper 16 bits of `keep`, own and alias in 8 bits each; the lower 16 bits of `keep`
  // lie apart and are looked at once in 65,536 draws.
  struct Space {
    std::uint32_t trials_a, trials_b, rows, columns, even;
    std::vector<std::uint32_t> slots;  // (first entry) * 16 + bits; 0: not built yet
  };
  static std::uint32_t mask(bool set) { return 0u - static_cast<std::uint32_t>(set); }
  // total - x where the mask is set, else x.
  static std::uint32_t reflect(std::uint32_t x, std::uint32_t total, std::uint32_t set) {
    return ((x ^ set) - set) + (total & set);
  }
  std::uint32_t pick(std::uint32_t slot, std::uint32_t number) const {
    const std::uint64_t shifted = static_cast<std::uint64_t>(number) << (slot & 15);
    const std::size_t at = (slot >> 4) + (shifted >> 32);
    const std::uint32_t entry = packed_[at], fraction = static_cast<std::uint32_t>(shifted),
                        top = fraction >> 16;
    std::uint32_t other = mask(top >= entry >> 16);
    if (top == entry >> 16) other = mask((fraction & 0xFFFF) >= low_bits_[at]);
    const std::uint32_t own = (entry >> 8) & 0xFF;
    return own ^ ((own ^ (entry & 0xFF)) & other);
  }
  std::uint32_t build(const Space& space, std::uint32_t row_i, std::uint32_t row_j, std::uint32_t column_a);

  std::vector<Space> spaces_;
  std::vector<std::uint32_t> packed_ = std::vector<std::uint32_t>(1);
  std::vector<std::uint16_t> low_bits_ = std::vector<std::uint16_t>(1);
  std::vector<double> scratch_;
};

}  // namespace gapwatch::stats
