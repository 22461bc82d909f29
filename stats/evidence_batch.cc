#include "stats/evidence_batch.h"

#include <cassert>
#include <cmath>
#include <vector>

#include "base/wide.h"

namespace gapwatch::stats {

namespace {

// elementary[k] is the k-th elementary symmetric polynomial of the weights multiplied in so far.
using Polynomial = std::array<double, kBatchSize + 1>;

Polynomial one() {
  Polynomial polynomial{};
  polynomial[0] = 1;
  return polynomial;
}

void multiply(Polynomial& polynomial, double weight, std::uint32_t times, std::uint32_t degree) {
  for (std::uint32_t t = 0; t < times; ++t) {
    for (std::uint32_t k = degree; k >= 1; --k) polynomial[k] += weight * polynomial[k - 1];
  }
}

const std::array<std::array<double, 65>, 65>& log_binomials() {
  static const auto table = [] {
    std::array<std::array<double, 65>, 65> logs{};
    __extension__ using Wide = unsigned __int128;
    std::vector<Wide> row{1};
    for (std::size_t n = 0; n <= 64; ++n) {
      for (std::size_t k = 0; k <= n; ++k) logs[n][k] = std::log(static_cast<double>(row[k]));
      row.push_back(0);
      for (std::size_t k = n + 1; k >= 1; --k) row[k] += row[k - 1];
    }
    return logs;
  }();
  return table;
}

}  // namespace

double log_binomial(std::uint32_t n, std::uint32_t k) {
  return log_binomials()[n][k];
}

void Batch::add(std::uint32_t policy, bool success) {
  assert(trials < kBatchSize);
  std::size_t j = 0;
  while (j < size && cells[j].policy < policy) ++j;
  if (j == size || cells[j].policy != policy) {
    for (std::size_t i = size; i > j; --i) cells[i] = cells[i - 1];
    cells[j] = {policy, 0, 0};
    ++size;
  }
  ++cells[j].trials;
  cells[j].successes = static_cast<std::uint16_t>(cells[j].successes + (success ? 1 : 0));
  ++trials;
  successes = static_cast<std::uint8_t>(successes + (success ? 1 : 0));
}

GAPWATCH_WIDE void plain_batch(const Batch& batch, const BatchLanes& tilts, Lanes& log_e) {
  if (!batch.informative()) {
    log_e.fill(0);
    return;
  }
  std::array<Lanes, kBatchSize + 1> elementary{};
  elementary[0].fill(1);
  Lanes observed, weights;
  observed.fill(1);
  for (std::size_t j = 0; j < batch.size; ++j) {
    tilt_weights(tilts[j], weights);
    for (std::uint32_t t = 0; t < batch.cells[j].trials; ++t) {
      for (std::size_t k = batch.successes; k >= 1; --k) {
        for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
          elementary[k][lane] += weights[lane] * elementary[k - 1][lane];
        }
      }
    }
    for (std::uint32_t t = 0; t < batch.cells[j].successes; ++t) {
      for (std::size_t lane = 0; lane < kLaneCount; ++lane) observed[lane] *= weights[lane];
    }
  }
  // Tilts within +-4 keep every number here between exp(-32) and 70 exp(32).
  const double tables = std::exp(log_binomial(batch.trials, batch.successes));
  for (std::size_t lane = 0; lane < kComponents; ++lane) {
    log_e[lane] = std::log(observed[lane] * tables / elementary[batch.successes][lane]);
  }
}

void plain_event(std::span<const Lanes> tilts, std::span<const double> propensities, std::uint32_t policy,
                 bool success, double rate, Lanes& log_e) {
  assert(tilts.size() == propensities.size() && policy < tilts.size() && propensities[policy] > 0);
  Lanes mixture{}, routed{}, weights;
  for (std::size_t l = 0; l < tilts.size(); ++l) {
    if (propensities[l] <= 0) continue;
    tilt_weights(tilts[l], weights);
    Lanes likelihood;
    for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
      const double odds = weights[lane] * rate;
      likelihood[lane] = (success ? odds : 1 - rate) / (1 - rate + odds);
      mixture[lane] += propensities[l] * likelihood[lane];
    }
    if (l == policy) routed = likelihood;
  }
  for (std::size_t lane = 0; lane < kComponents; ++lane) log_e[lane] = std::log(routed[lane] / mixture[lane]);
}

std::array<CellMoments, kBatchSize> additive_moments(const Batch& batch, std::span<const double> weights) {
  const std::uint32_t successes = batch.successes;
  Polynomial all = one();
  for (std::size_t j = 0; j < batch.size; ++j) multiply(all, weights[j], batch.cells[j].trials, successes);
  std::array<CellMoments, kBatchSize> moments{};
  for (std::size_t j = 0; j < batch.size; ++j) {
    const std::uint32_t n = batch.cells[j].trials;
    Polynomial others = one();
    for (std::size_t l = 0; l < batch.size; ++l) {
      if (l != j) multiply(others, weights[l], batch.cells[l].trials, successes);
    }
    Polynomial without_two = others;
    if (n >= 2) multiply(without_two, weights[j], n - 2, successes);
    Polynomial without_one = without_two;
    if (n >= 2) multiply(without_one, weights[j], 1, successes);
    const double w = weights[j];
    const double mean = successes >= 1 ? n * w * without_one[successes - 1] / all[successes] : 0;
    const double pairs =
        n >= 2 && successes >= 2 ? n * (n - 1.0) * w * w * without_two[successes - 2] / all[successes] : 0;
    moments[j] = {mean, std::max(0.0, pairs + mean - mean * mean)};
  }
  return moments;
}

}  // namespace gapwatch::stats
