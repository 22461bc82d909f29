#include "stats/margin_moves.h"

#include <algorithm>
#include <cmath>

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
    return log_factorial(static_cast<std::uint64_t>(count)) + log_factorial(static_cast<std::uint64_t>(trials - count));
  };
  const std::int64_t u = m.row_i, w = m.row_j, v = m.column_a;
  return -(part(x, m.trials_ia) + part(u - x, m.trials_ib) + part(v - x, m.trials_ja) + part(w - v + x, m.trials_jb));
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
      [&](std::int64_t x) { return log_weight_at(m, x); }, [&](std::int64_t x) { return deviation_at(m, x); }));
}

std::size_t HeatBath::make_space(std::uint32_t trials_a, std::uint32_t trials_b) {
  for (std::size_t k = 0; k < spaces_.size(); ++k) {
    if (spaces_[k].trials_a == trials_a && spaces_[k].trials_b == trials_b) return k;
  }
  const std::uint32_t rows = trials_a + trials_b + 1, columns = 2 * trials_a + 1;
  spaces_.push_back({trials_a, trials_b, rows, columns, mask(trials_a == trials_b),
                     std::vector<std::uint32_t>(std::size_t{rows} * rows * columns, 0)});
  return spaces_.size() - 1;
}

std::uint32_t HeatBath::build(const Space& space, std::uint32_t row_i, std::uint32_t row_j,
                              std::uint32_t column_a) {
  const Margins2x2 m{space.trials_a, space.trials_b, space.trials_a, space.trials_b, row_i, row_j, column_a};
  const Support s = support_of(m);
  const std::uint32_t bits = alias_bits(static_cast<std::uint64_t>(s.high - s.low + 1));
  std::vector<double> weights{1.0};
  for (auto x = s.low; x < s.high; ++x) weights.push_back(weights.back() * ratio_at(m, x));
  std::vector<AliasEntry> row(std::size_t{1} << bits);
  build_alias_row(weights, static_cast<std::uint32_t>(s.low), row.data(), bits);
  const auto first = static_cast<std::uint32_t>(packed_.size());
  for (const auto& entry : row) {
    packed_.push_back((entry.keep & 0xFFFF0000) | (std::uint32_t{entry.own} << 8) | entry.alias);
    low_bits_.push_back(static_cast<std::uint16_t>(entry.keep & 0xFFFF));
  }
  return (first << 4) | bits;
}

}  // namespace gapwatch::stats
