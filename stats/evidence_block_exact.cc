#include "stats/evidence_block_exact.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

namespace gapwatch::stats {

namespace {

constexpr std::uint64_t kTops = 0x8080808080808080u;  // the top bit of every byte
constexpr std::size_t kMaxBox = 1u << 16;
constexpr std::size_t kMaxExtensions = 1u << 18;  // of one row
constexpr double kTooSmall = 1e-280;

std::uint64_t in_byte(std::size_t column, std::uint64_t count) {
  return count << (8 * column);
}
std::size_t byte_of(std::uint64_t totals, std::size_t column) {
  return (totals >> (8 * column)) & 0xff;
}

}  // namespace

void BlockShape::read(std::span<const TiltedBatch> rows) {
  policies.clear();
  for (const auto& row : rows) {
    for (const auto& cell : row.batch->view()) policies.push_back(cell.policy);
  }
  std::sort(policies.begin(), policies.end());
  policies.erase(std::unique(policies.begin(), policies.end()), policies.end());
  totals.assign(policies.size(), 0);
  capacity.assign(policies.size(), 0);
  trials.assign(rows.size() * policies.size(), 0);
  column.resize(rows.size());
  for (std::size_t g = 0; g < rows.size(); ++g) {
    for (std::size_t j = 0; j < rows[g].batch->size; ++j) {
      const auto& cell = rows[g].batch->cells[j];
      const auto d = static_cast<std::size_t>(
          std::lower_bound(policies.begin(), policies.end(), cell.policy) - policies.begin());
      column[g][j] = static_cast<std::uint16_t>(d);
      totals[d] += cell.successes;
      capacity[d] += cell.trials;
      trials[g * policies.size() + d] = cell.trials;
    }
  }
}

bool ExactBlock::Box::contains(Totals x) const {
  return (((high | kTops) - x) & ((x | kTops) - low) & kTops) == kTops;  // bytes below 128 borrow nothing
}

std::size_t ExactBlock::Box::index(Totals above_low) const {
  std::size_t place = 0;
  for (std::size_t d = 0; d < kMaxPolicies; ++d) place += byte_of(above_low, d) * stride[d];
  return place;
}

bool ExactBlock::evaluate(std::span<const TiltedBatch> rows, const BlockShape& shape, Lanes& log_e) {
  assert(shape.policies.size() <= kMaxPolicies);
  log_e.fill(0);
  tables_.clear();
  first_table_.clear();
  for (std::size_t g = 0; g < rows.size(); ++g) enumerate_row(rows[g], g, shape, log_e);
  first_table_.push_back(tables_.size());
  split_rows(rows.size());
  if (!convolve(front_rows_, shape, front_) || !convolve(back_rows_, shape, back_)) return false;
  Totals whole = 0;
  for (std::size_t d = 0; d < shape.totals.size(); ++d) whole |= in_byte(d, shape.totals[d]);
  Weights sum{};
  for (const Point& point : front_) {
    const Totals rest = whole - point.totals;
    if (!box_.contains(rest)) continue;
    const auto at = place_[box_.index(rest - box_.low)];
    if (at < 0) continue;
    const Point& other = back_[static_cast<std::size_t>(at)];
    for (std::size_t lane = 0; lane < kWidth; ++lane) sum[lane] += point.weights[lane] * other.weights[lane];
  }
  for (std::size_t lane = 0; lane <= kNull; ++lane) {
    if (!(sum[lane] > kTooSmall)) return false;
  }
  for (std::size_t lane = 0; lane < kMarginComponents; ++lane)
    log_e[lane] += std::log(sum[kNull] / sum[lane]);
  return true;
}

// Lists the row's tables as probabilities, and adds log(p_u / p_0) of the one seen to log_e.
void ExactBlock::enumerate_row(const TiltedBatch& row, std::size_t g, const BlockShape& shape, Lanes& log_e) {
  const Batch& batch = *row.batch;
  Totals seen = 0;
  for (std::size_t j = 0; j < batch.size; ++j) {
    const std::uint32_t n = batch.cells[j].trials;
    seen |= in_byte(shape.column[g][j], batch.cells[j].successes);
    Lanes tilt;
    tilt_weights((*row.tilts)[j], tilt);
    for (std::size_t lane = kMarginComponents; lane < kWidth; ++lane) tilt[lane] = 1;
    factor_[j][0].fill(1);
    for (std::uint32_t c = 1; c <= n; ++c) {
      const double ratio = (n - c + 1.0) / c;  // of C(n, c) to C(n, c - 1)
      for (std::size_t lane = 0; lane < kWidth; ++lane) {
        factor_[j][c][lane] = factor_[j][c - 1][lane] * tilt[lane] * ratio;
      }
    }
  }
  const std::size_t first = tables_.size();
  first_table_.push_back(first);
  Point start{0, {}};
  start.weights.fill(1);
  deal(batch, shape.column[g], 0, batch.successes, start);
  Weights sum{};
  for (std::size_t t = first; t < tables_.size(); ++t) {
    for (std::size_t lane = 0; lane < kWidth; ++lane) sum[lane] += tables_[t].weights[lane];
  }
  for (std::size_t t = first; t < tables_.size(); ++t) {
    auto& weights = tables_[t].weights;
    for (std::size_t lane = 0; lane < kWidth; ++lane) weights[lane] /= sum[lane];
    if (tables_[t].totals != seen) continue;
    for (std::size_t lane = 0; lane < kMarginComponents; ++lane)
      log_e[lane] += std::log(weights[lane] / weights[kNull]);
  }
}

// Lists the tables that go on from `so_far` with `left` successes for the cells from `cell` on.
void ExactBlock::deal(const Batch& batch, const std::array<std::uint16_t, kBatchSize>& column,
                      std::size_t cell, std::uint32_t left, const Point& so_far) {
  if (cell == batch.size) {
    tables_.push_back(so_far);
    return;
  }
  std::uint32_t room = 0;
  for (std::size_t j = cell + 1; j < batch.size; ++j) room += batch.cells[j].trials;
  const std::uint32_t fewest = left > room ? left - room : 0;
  const std::uint32_t most = std::min<std::uint32_t>(left, batch.cells[cell].trials);
  for (std::uint32_t c = fewest; c <= most; ++c) {
    Point next;
    next.totals = so_far.totals + in_byte(column[cell], c);
    for (std::size_t lane = 0; lane < kWidth; ++lane) {
      next.weights[lane] = so_far.weights[lane] * factor_[cell][c][lane];
    }
    deal(batch, column, cell + 1, left - c, next);
  }
}

// What rows with `used` trials can have, and the rest still complete to the block's totals.
ExactBlock::Box ExactBlock::box_of(const BlockShape& shape, const Counts& used) {
  Box box;
  std::array<std::size_t, kMaxPolicies> extent{};
  for (std::size_t d = 0; d < shape.totals.size(); ++d) {
    const std::uint32_t rest = shape.capacity[d] - used[d];
    const std::uint32_t low = shape.totals[d] > rest ? shape.totals[d] - rest : 0;
    const std::uint32_t high = std::min(shape.totals[d], used[d]);
    box.low |= in_byte(d, low);
    box.high |= in_byte(d, high);
    extent[d] = high - low + 1;
  }
  const auto widest =
      static_cast<std::size_t>(std::max_element(extent.begin(), extent.end()) - extent.begin());
  for (std::size_t d = 0; d < shape.totals.size(); ++d) {
    if (d == widest) continue;
    box.stride[d] = box.size;
    box.size *= extent[d];
  }
  return box;
}

// Deals the rows to the two halves. Long lists of tables go first, where few totals wait for them.
void ExactBlock::split_rows(std::size_t rows) {
  by_length_.resize(rows);
  std::iota(by_length_.begin(), by_length_.end(), std::size_t{0});
  const auto tables = [&](std::size_t g) { return first_table_[g + 1] - first_table_[g]; };
  std::sort(by_length_.begin(), by_length_.end(), [&](std::size_t g, std::size_t h) {
    return tables(g) != tables(h) ? tables(g) > tables(h) : g < h;
  });
  front_rows_.clear();
  back_rows_.clear();
  for (std::size_t i = 0; i < rows; ++i) {
    (i % 4 == 1 || i % 4 == 2 ? front_rows_ : back_rows_).push_back(by_length_[i]);
  }
}

// The law of the policy totals over some rows.
bool ExactBlock::convolve(const std::vector<std::size_t>& rows, const BlockShape& shape,
                          std::vector<Point>& points) {
  Counts used{};
  points.resize(1);
  points[0].totals = 0;
  points[0].weights.fill(1);
  for (const std::size_t g : rows) {
    for (std::size_t d = 0; d < shape.totals.size(); ++d) {
      used[d] += static_cast<std::uint32_t>(shape.trials[g * shape.totals.size() + d]);
    }
    box_ = box_of(shape, used);
    if (!extend(g, points)) return false;
  }
  return true;
}

bool ExactBlock::extend(std::size_t g, std::vector<Point>& points) {
  const std::size_t first = first_table_[g], count = first_table_[g + 1] - first;
  if (box_.size > kMaxBox || points.size() * count > kMaxExtensions) return false;
  place_.assign(box_.size, -1);
  next_.clear();
  for (const Point& point : points) {
    for (std::size_t t = first; t < first + count; ++t) {
      const Totals totals = point.totals + tables_[t].totals;
      if (!box_.contains(totals)) continue;
      auto& at = place_[box_.index(totals - box_.low)];
      if (at < 0) {
        at = static_cast<std::int32_t>(next_.size());
        next_.push_back({totals, {}});
      }
      auto& sum = next_[static_cast<std::size_t>(at)].weights;
      for (std::size_t lane = 0; lane < kWidth; ++lane)
        sum[lane] += point.weights[lane] * tables_[t].weights[lane];
    }
  }
  points.swap(next_);
  return true;
}

}  // namespace gapwatch::stats
