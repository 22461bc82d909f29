#include "stats/evidence_components.h"

#include <algorithm>
#include <cmath>

#include "base/wide.h"

namespace gapwatch::stats {

const std::array<Component, kComponents> kComponentTable{{{0.25, 1, 1, 0},
                                                          {0.5, 1, 1, 0},
                                                          {1, 1, 1, 0},
                                                          {2, 0.1, 1, 0},
                                                          {0.5, 1, kBatchDecay, 0},
                                                          {1, 1, kBatchDecay, 0},
                                                          {2, 0.1, kBatchDecay, 0},
                                                          {0, 1, 1, 0},  // fitted
                                                          {0, 1, 1, 0.1},
                                                          {0.5, 1, 1, 0.1},
                                                          {1, 1, 1, 0.3}}};

namespace {

double clamp_tilt(double tilt) {
  return std::min(kMaxTilt, std::max(-kMaxTilt, tilt));
}

// The posterior mean under the prior "N(0, 2^2) with probability 0.1, else zero".
double sparse_effect(double residual, double variance) {
  const double spread = 1 + 4 * variance;
  const double odds_against = 9 * std::sqrt(spread) * std::exp(-2 * residual * residual / spread);
  return residual / (variance + 0.25) / (1 + odds_against);
}

}  // namespace

void Dispersion::replace(const Learned& before, const Learned& after) {
  const auto r0 = static_cast<double>(before.residual), v0 = static_cast<double>(before.variance);
  const auto r1 = static_cast<double>(after.residual), v1 = static_cast<double>(after.variance);
  excess += (r1 * r1 - v1) - (r0 * r0 - v0);
  square += v1 * v1 - v0 * v0;
}

double Dispersion::variance() const {
  return std::max(0.0, excess / (square + 50));
}

void margin_tilts(const Learned& learned, double fitted_variance, double keep, Lanes& tilts) {
  const auto r = static_cast<double>(learned.residual), v = static_cast<double>(learned.variance);
  const double r9 = keep * static_cast<double>(learned.recent_residual);
  const double v9 = keep * static_cast<double>(learned.recent_variance);
  tilts[0] = r / (v + 16);
  tilts[1] = r / (v + 4);
  tilts[2] = r / (v + 1);
  tilts[3] = v > 0 ? sparse_effect(r, v) : 0;
  tilts[4] = r9 / (v9 + 4);
  tilts[5] = r9 / (v9 + 1);
  tilts[6] = v9 > 0 ? sparse_effect(r9, v9) : 0;
  tilts[kFittedComponent] = r * fitted_variance / (v * fitted_variance + 1);
  for (std::size_t k = 0; k < kMarginComponents; ++k) tilts[k] = clamp_tilt(tilts[k]);
}

void plain_tilts(const Learned& learned, double fitted_variance, const Pooled& pooled, double keep,
                 Lanes& tilts) {
  margin_tilts(learned, fitted_variance, keep, tilts);
  const auto r = static_cast<double>(learned.residual), v = static_cast<double>(learned.variance);
  const double narrow = pooled.residual / (pooled.variance + 100);
  const double wide = pooled.residual / (pooled.variance + 1 / (0.3 * 0.3));
  tilts[8] = clamp_tilt(narrow);
  tilts[9] = clamp_tilt(narrow + (r - v * narrow) / (v + 4));
  tilts[10] = clamp_tilt(wide + (r - v * wide) / (v + 1));
  tilts[11] = 0;
}

GAPWATCH_WIDE void tilt_weights(const Lanes& tilts, Lanes& weights) {
  Lanes x, sum;
  for (std::size_t lane = 0; lane < kLaneCount; ++lane) x[lane] = tilts[lane] * (1.0 / 32);
  sum.fill(kExpCoefficients[10]);
  for (std::size_t k = 10; k-- > 0;) {
    const double coefficient = kExpCoefficients[k];
    for (std::size_t lane = 0; lane < kLaneCount; ++lane) sum[lane] = sum[lane] * x[lane] + coefficient;
  }
  for (int n = 0; n < 5; ++n) {
    for (std::size_t lane = 0; lane < kLaneCount; ++lane) sum[lane] *= sum[lane];
  }
  weights = sum;
}

}  // namespace gapwatch::stats
