// Exact conditional moves on a table with given margins (see margin_chain.h).
//
// Threads: an object belongs to one thread.
// Source: statistics.md section 5.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/random.h"
#include "stats/null_alias.h"

namespace gapwatch::stats {

// A 2 x 2 table's margins and trials: rows i, j; columns a, b.
struct Margins2x2 {
  std::uint32_t trials_ia, trials_ib, trials_ja, trials_jb;
  std::uint32_t row_i, row_j, column_a;
};

// Draws from a log-concave law on [low, high] given weight(x + 1) / weight(x); `start` lies within. Cost: the
// distance from start to the mode, and the law's width.
template <typename Ratio>
std::int64_t draw_log_concave(FastRandom& random, std::int64_t low, std::int64_t high, std::int64_t start,
                              std::vector<double>& scratch, Ratio ratio) {
  if (low >= high) return low;
  std::int64_t mode = start;
  while (mode < high && ratio(mode) > 1) ++mode;
  while (mode > low && ratio(mode - 1) < 1) --mode;
  constexpr double kNegligible = 1e-17;
  scratch.clear();
  double sum = 1, weight = 1;
  std::int64_t last = mode;
  for (; last < high && weight > kNegligible; ++last) {
    weight *= ratio(last);
    scratch.push_back(weight);
    sum += weight;
  }
  const std::size_t above = scratch.size();
  weight = 1;
  for (std::int64_t x = mode; x > low && weight > kNegligible; --x) {
    weight /= ratio(x - 1);
    scratch.push_back(weight);
    sum += weight;
  }
  double left = uniform(random) * sum - 1;
  if (left < 0) return mode;
  for (std::size_t k = 0; k < scratch.size(); ++k) {
    if ((left -= scratch[k]) < 0) {
      const auto step = static_cast<std::int64_t>(k < above ? k + 1 : k - above + 1);
      return k < above ? mode + step : mode - step;
    }
  }
  return mode;
}

// The count of cell (i, a) given the margins: P(x) proportional to the product of the four C(trials, count).
class HeatBath {
 public:
  // `start` is any possible value.
  std::uint32_t draw(FastRandom& random, const Margins2x2& m, std::uint32_t start);

  // The same for rows of common trials (trials of column a, of column b; both at most kCachedTrials), from a
  // table built at first use. `space` is an index from make_space().
  static constexpr std::uint32_t kCachedTrials = 64;
  std::size_t make_space(std::uint32_t trials_a, std::uint32_t trials_b);
  std::uint32_t draw_cached(FastRandom& random, std::size_t space, std::uint32_t number, std::uint32_t row_i,
                            std::uint32_t row_j, std::uint32_t column_a) {
    Space& s = spaces_[space];
    // Exchanging the rows maps x to column_a - x: half of the tables serve all.
    const bool swap = row_i > row_j;
    const std::uint32_t low = swap ? row_j : row_i, high = swap ? row_i : row_j;
    std::uint32_t& slot = s.slots[(low * s.rows + high) * s.columns + column_a];
    if (slot == 0) slot = build(s, low, high, column_a);
    if (slot == kUncached) {
      const Margins2x2 m{s.trials_a, s.trials_b, s.trials_a, s.trials_b, row_i, row_j, column_a};
      return draw(random, m, lowest(m));
    }
    const std::uint32_t x = alias_pick(entries_.data() + (slot >> 4), slot & 15, number);
    return swap ? column_a - x : x;
  }

 private:
  struct Space {
    std::uint32_t trials_a, trials_b, rows, columns;
    std::vector<std::uint32_t> slots;  // (first entry) * 16 + bits; 0: not built yet
  };
  static constexpr std::uint32_t kUncached = 0xFFFFFFFF;
  static constexpr std::size_t kMaxEntries = 1u << 20;
  static std::uint32_t lowest(const Margins2x2& m);
  std::uint32_t build(const Space& space, std::uint32_t row_i, std::uint32_t row_j, std::uint32_t column_a);

  std::vector<Space> spaces_;
  std::vector<AliasEntry> entries_ = std::vector<AliasEntry>(1);
  std::vector<double> scratch_;
};

}  // namespace gapwatch::stats
