#include "stats/evidence_block.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace gapwatch::stats {

namespace {

constexpr std::uint32_t kStream = 0xb10c;

// C(n, k) for n up to a batch.
constexpr auto kBinomials = [] {
  std::array<std::array<double, kBatchSize + 1>, kBatchSize + 1> table{};
  for (std::size_t n = 0; n <= kBatchSize; ++n) {
    table[n][0] = 1;
    for (std::size_t k = 1; k <= n; ++k) table[n][k] = table[n - 1][k - 1] + (k < n ? table[n - 1][k] : 0);
  }
  return table;
}();

double binomial(int n, int k) {
  return kBinomials[static_cast<std::size_t>(n)][static_cast<std::size_t>(k)];
}

}  // namespace

void BlockEvidence::evaluate(std::span<const TiltedBatch> rows, const BlockSampling& sampling,
                             std::uint64_t block, Lanes& log_e) {
  assert(!rows.empty() && rows.size() <= kMaxBlockRows);
  shape_.read(rows);
  exact_ = !sampling.always && shape_.policies.size() <= ExactBlock::kMaxPolicies &&
           exact_block_.evaluate(rows, shape_, log_e);
  if (!exact_) sample(rows, sampling, block, log_e);
}

void BlockEvidence::sample(std::span<const TiltedBatch> rows, const BlockSampling& sampling,
                           std::uint64_t block, Lanes& log_e) {
  const std::size_t columns = shape_.policies.size();
  hub_.assign(rows.size() * columns, 0);
  for (std::size_t g = 0; g < rows.size(); ++g) {
    for (std::size_t j = 0; j < rows[g].batch->size; ++j) {
      hub_[g * columns + shape_.column[g][j]] = rows[g].batch->cells[j].successes;
    }
  }
  scores_.clear();
  score(rows, hub_);
  FastRandom random(sampling.seed, kStream, block);
  const std::uint64_t steps = std::uint64_t{sampling.steps_per_cell} * rows.size() * columns;
  run_chain(random, steps, hub_);
  for (std::uint32_t r = 0; r < sampling.tables; ++r) {
    counts_ = hub_;
    run_chain(random, steps, counts_);
    score(rows, counts_);
  }
  for (std::size_t lane = 0; lane < kMarginComponents; ++lane) {
    double most = scores_[0][lane];
    for (const auto& one : scores_) most = std::max(most, one[lane]);
    double sum = 0;
    for (const auto& one : scores_) sum += std::exp(one[lane] - most);
    log_e[lane] = scores_[0][lane] - most + std::log(static_cast<double>(scores_.size()) / sum);
  }
}

void BlockEvidence::score(std::span<const TiltedBatch> rows, const std::vector<int>& counts) {
  const std::size_t columns = shape_.policies.size();
  Lanes sum{};
  for (std::size_t g = 0; g < rows.size(); ++g) {
    for (std::size_t j = 0; j < rows[g].batch->size; ++j) {
      const double c = counts[g * columns + shape_.column[g][j]];
      for (std::size_t lane = 0; lane < kMarginComponents; ++lane) sum[lane] += c * (*rows[g].tilts)[j][lane];
    }
  }
  scores_.push_back(sum);
}

void BlockEvidence::run_chain(FastRandom& random, std::uint64_t steps, std::vector<int>& counts) const {
  const std::size_t columns = shape_.policies.size();
  if (counts.size() == columns || columns < 2) return;  // one row, or one policy: nothing can move
  for (std::uint64_t s = 0; s < steps; ++s) step(random, counts);
}

// Draws the 2x2 table of two random rows and two random policies anew from its law given its margins.
void BlockEvidence::step(FastRandom& random, std::vector<int>& counts) const {
  const std::size_t columns = shape_.policies.size(), rows = counts.size() / columns;
  const std::size_t g = bounded(random, rows), a = bounded(random, columns);
  const std::size_t h = (g + 1 + bounded(random, rows - 1)) % rows;
  const std::size_t b = (a + 1 + bounded(random, columns - 1)) % columns;
  const std::size_t ga = g * columns + a, gb = g * columns + b, ha = h * columns + a, hb = h * columns + b;
  const int in_g = counts[ga] + counts[gb], in_h = counts[ha] + counts[hb], in_a = counts[ga] + counts[ha];
  const auto& n = shape_.trials;
  const int low = std::max({0, in_g - n[gb], in_a - n[ha], in_a - in_h});
  const int high = std::min({n[ga], in_g, in_a, n[hb] - in_h + in_a});
  if (low >= high) return;
  std::array<double, kBatchSize + 1> weight;
  double total = 0;
  for (int t = low; t <= high; ++t) {
    total += binomial(n[ga], t) * binomial(n[gb], in_g - t) * binomial(n[ha], in_a - t) *
             binomial(n[hb], in_h - in_a + t);
    weight[static_cast<std::size_t>(t - low)] = total;
  }
  const double u = uniform(random) * total;
  int t = low;
  while (t < high && weight[static_cast<std::size_t>(t - low)] <= u) ++t;
  counts[ga] = t;
  counts[gb] = in_g - t;
  counts[ha] = in_a - t;
  counts[hb] = in_h - in_a + t;
}

}  // namespace gapwatch::stats
