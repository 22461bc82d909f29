#include "stats/margin_moves.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "base/wide.h"
#include "stats/redeal_sampler.h"

namespace gapwatch::stats {
namespace {

struct Support {
  std::int64_t low, high;
};

Support support_of(const Margins2x2& m) {
  const std::int64_t u = m.row_i, w = m.row_j, v = m.column_a;
  return {std::max({std::int64_t{0}, u - m.trials_ib, v - m.trials_ja, v - w}),
          std::min({std::int64_t{m.trials_ia}, u, v, m.trials_jb - w + v})};
}

// P(x + 1) / P(x).
double ratio_at(const Margins2x2& m, std::int64_t x) {
  const double c = static_cast<double>(x), u = m.row_i, w = m.row_j, v = m.column_a;
  return (m.trials_ia - c) * (u - c) * (v - c) * (m.trials_jb - w + v - c) /
         ((c + 1) * (m.trials_ib - u + c + 1) * (m.trials_ja - v + c + 1) * (w - v + c + 1));
}

double log_weight_at(const Margins2x2& m, std::int64_t x) {
  const auto part = [](std::int64_t count, std::int64_t trials) {
    return log_factorial(static_cast<std::uint64_t>(count)) +
           log_factorial(static_cast<std::uint64_t>(trials - count));
  };
  const std::int64_t u = m.row_i, w = m.row_j, v = m.column_a;
  return -(part(x, m.trials_ia) + part(u - x, m.trials_ib) + part(v - x, m.trials_ja) +
           part(w - v + x, m.trials_jb));
}

// About the law's deviation, from its curvature at x.
double deviation_at(const Margins2x2& m, std::int64_t x) {
  const auto part = [](double count, double trials) { return 1 / (count + 1) + 1 / (trials - count + 1); };
  const double c = static_cast<double>(x), u = m.row_i, w = m.row_j, v = m.column_a;
  return 1 / std::sqrt(part(c, m.trials_ia) + part(u - c, m.trials_ib) + part(v - c, m.trials_ja) +
                       part(w - v + c, m.trials_jb));
}

}  // namespace

std::uint32_t HeatBath::draw(FastRandom& random, const Margins2x2& m, std::uint32_t start) {
  const Support s = support_of(m);
  return static_cast<std::uint32_t>(draw_log_concave(
      random, s.low, s.high, start, scratch_, [&](std::int64_t x) { return ratio_at(m, x); },
      [&](std::int64_t x) { return log_weight_at(m, x); },
      [&](std::int64_t x) { return deviation_at(m, x); }));
}

std::size_t HeatBath::make_space(std::uint32_t trials_a, std::uint32_t trials_b) {
  for (std::size_t k = 0; k < spaces_.size(); ++k) {
    if (spaces_[k].trials_a == trials_a && spaces_[k].trials_b == trials_b) return k;
  }
  const std::uint32_t rows = trials_a + trials_b + 1, columns = 2 * trials_a + 1;
  spaces_.push_back(
      {trials_a, trials_b, columns, std::vector<std::uint32_t>(std::size_t{rows} * (rows + 1) / 2 * columns, 0)});
  return spaces_.size() - 1;
}

// Bytes in, bytes out, without branches: what a compiler makes vectors of.
GAPWATCH_WIDE void HeatBath::draw(FastRandom& random, std::size_t space, Tables& tables, std::size_t given) {
  Space& s = spaces_[space];
  // Up to a whole vector, with tables of nothing but failures.
  const std::size_t count = (given + PackedAlias::kVector - 1) / PackedAlias::kVector * PackedAlias::kVector;
  for (auto* each : {&tables.ia, &tables.ib, &tables.ja, &tables.jb}) std::fill(each->begin() + given, each->begin() + count, 0);
  const std::uint8_t even = s.trials_a == s.trials_b ? 0xFF : 0;
  Aims aims;
  // Exchanging the rows maps x to column_a - x; exchanging columns of the same trials maps it to row - x.
  // So a quarter of the laws serves all.
  for (std::size_t k = 0; k < count; ++k) {
    const std::uint8_t u = tables.ia[k] + tables.ib[k], w = tables.ja[k] + tables.jb[k],
                       v = tables.ia[k] + tables.ja[k], other = tables.ib[k] + tables.jb[k];
    aims.row_i[k] = u;
    aims.row_j[k] = w;
    aims.column_a[k] = v;
    aims.rows[k] = u > w ? 0xFF : 0;
    aims.low[k] = u > w ? w : u;
    aims.high[k] = u > w ? u : w;
    const std::uint8_t columns = (v > other ? 0xFF : 0) & even;
    aims.columns[k] = columns;
    aims.column[k] = v ^ ((v ^ other) & columns);
  }
  const std::uint32_t columns = s.columns;
  for (std::size_t k = 0; k < count; ++k) {
    const std::uint32_t low = aims.low[k], high = aims.high[k];
    aims.at[k] = ((high * (high + 1) >> 1) + low) * columns + aims.column[k];
  }
  draw_rows(random, s, aims, given, count);
  for (std::size_t k = 0; k < count; ++k) {
    const std::uint8_t x = aims.drawn[k], reflected = aims.low[k] - x,
                       in_a = x ^ ((x ^ reflected) & aims.columns[k]), back = aims.column_a[k] - in_a,
                       drawn = in_a ^ ((in_a ^ back) & aims.rows[k]);
    tables.ia[k] = drawn;
    tables.ib[k] = aims.row_i[k] - drawn;
    const std::uint8_t ja = aims.column_a[k] - drawn;
    tables.ja[k] = ja;
    tables.jb[k] = aims.row_j[k] - ja;
  }
}

// Of the smaller row and column.
GAPWATCH_WIDE void HeatBath::draw_rows(FastRandom& random, Space& space, Aims& aims, std::size_t given, std::size_t count) {
  Tables::Each<std::uint32_t> slots, numbers, fraction;
  const std::uint32_t* const known = space.slots.data();
  FastRandom own = random;  // its state in registers; one number is worked out while another slot is waited for
  for (std::size_t k = 0; k < count; k += 2) {
    const std::uint64_t bits = k < given ? own() : ~std::uint64_t{0};
    numbers[k] = static_cast<std::uint32_t>(bits >> 32);
    numbers[k + 1] = static_cast<std::uint32_t>(bits);
    slots[k] = known[aims.at[k]];
    slots[k + 1] = known[aims.at[k + 1]];
  }
  random = own;
  std::uint32_t missing = 0;
  for (std::size_t k = 0; k < count; ++k) missing |= slots[k] == 0 ? 1 : 0;
  for (std::size_t k = 0; k < count && missing != 0; ++k) {
    std::uint32_t& slot = space.slots[aims.at[k]];
    if (slot == 0) slot = build(space, aims.low[k], aims.high[k], aims.column[k]);
    slots[k] = slot;
  }
  for (std::size_t k = 0; k < count; ++k) {
    const std::uint32_t bits = slots[k] & 15, number = numbers[k];
    aims.at[k] = (slots[k] >> 4) - 1 + PackedAlias::entry_of(number, bits);
    fraction[k] = PackedAlias::fraction_of(number, bits);
  }
  for (std::size_t k = 0; k < count; ++k) slots[k] = laws_[aims.at[k]];
  laws_.pick(slots, aims.at, fraction, count, aims.drawn.data());
}

std::uint32_t HeatBath::build(const Space& space, std::uint32_t row_i, std::uint32_t row_j,
                              std::uint32_t column_a) {
  const Margins2x2 m{space.trials_a, space.trials_b, space.trials_a, space.trials_b, row_i, row_j, column_a};
  const Support s = support_of(m);
  const std::uint32_t bits = alias_bits(static_cast<std::uint64_t>(s.high - s.low + 1));
  scratch_.assign(1, 1.0);
  for (auto x = s.low; x < s.high; ++x) scratch_.push_back(scratch_.back() * ratio_at(m, x));
  std::array<AliasEntry, 64> row;
  build_alias_row(scratch_, static_cast<std::uint32_t>(s.low), row.data(), bits);
  return ((laws_.add(std::span(row).first(std::size_t{1} << bits)) + 1) << 4) | bits;
}

}  // namespace gapwatch::stats
