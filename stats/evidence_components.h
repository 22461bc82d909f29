// The betting components of the anytime-valid evidence: what is learned of one policy on one prompt, and the
// log-odds tilts that each component bets with next.
//
// A component is a prior on how far a policy's log-odds on a prompt are from what the null says: normal with
// standard deviation sigma, present with probability `present` (else exactly zero), forgetting at `decay` a
// batch, with a prompt-independent part of standard deviation `pooled`. The fitted component's sigma is
// learned. The eight without a pooled part come first: the margin evidence uses these alone, because a shift
// common to all prompts is no evidence against it.
//
// Everything is a function of closed batches, so a tilt is fixed before the outcomes that it bets on.
//
// Threads: pure. Cost: docs/EVIDENCE.md.
// Source: sequential.md, A ("Learning", "Tilt").
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace gapwatch::stats {

inline constexpr std::size_t kComponents = 11;
inline constexpr std::size_t kMarginComponents = 8;
inline constexpr std::size_t kFittedComponent = 7;

struct Component {
  double sigma;    // 0 for the pooled-only component; ignored where fitted
  double present;  // in (0, 1]
  double decay;    // in (0, 1]
  double pooled;   // 0: none
};
extern const std::array<Component, kComponents> kComponentTable;

// One number a component, padded to an even length. Lanes beyond the component count are unspecified.
inline constexpr std::size_t kLaneCount = 12;
using Lanes = std::array<double, kLaneCount>;

// Residual (successes beyond what the null expects) and its variance, all of them and the recent ones
// (decayed). Stored as float: a tilt may be any predictable number, so rounding costs nothing but itself.
struct Learned {
  float residual = 0, variance = 0;
  float recent_residual = 0, recent_variance = 0;

  // `keep` multiplies the recent part first.
  void learn(double new_residual, double new_variance, double keep) {
    residual += static_cast<float>(new_residual);
    variance += static_cast<float>(new_variance);
    recent_residual = static_cast<float>(keep * static_cast<double>(recent_residual) + new_residual);
    recent_variance = static_cast<float>(keep * static_cast<double>(recent_variance) + new_variance);
  }
  template <typename F>
  static void fields(auto& self, F&& f) {
    f(self.residual), f(self.variance), f(self.recent_residual), f(self.recent_variance);
  }
  friend bool operator==(const Learned&, const Learned&) = default;
};

// What the fitted component's sigma is learned from: sums over cells of r^2 - V and of V^2.
struct Dispersion {
  double excess = 0, square = 0;

  void replace(const Learned& before, const Learned& after);
  double variance() const;  // sigma^2 of the fitted component, >= 0
  template <typename F>
  static void fields(auto& self, F&& f) {
    f(self.excess), f(self.square);
  }
  friend bool operator==(const Dispersion&, const Dispersion&) = default;
};

// A policy's residual and variance summed over prompts.
struct Pooled {
  double residual = 0, variance = 0;
  template <typename F>
  static void fields(auto& self, F&& f) {
    f(self.residual), f(self.variance);
  }
  friend bool operator==(const Pooled&, const Pooled&) = default;
};

inline constexpr double kBatchDecay = 0.9;  // of the recent residuals, a batch
inline constexpr double kMaxTilt = 4;

// Tilts of the first eight components, and of all eleven. `keep` is the decay that the next batch of the
// prompt will apply. Each lies in [-kMaxTilt, kMaxTilt] and is 0 where nothing was learned.
void margin_tilts(const Learned& learned, double fitted_variance, double keep, Lanes& tilts);
void plain_tilts(const Learned& learned, double fitted_variance, const Pooled& pooled, double keep,
                 Lanes& tilts);

// exp(tilt), for |tilt| <= 8, with relative error below 1e-12: plain arithmetic, so the same bits with any
// mathematical library, and fast side by side. Taylor's polynomial of exp(tilt / 32), squared five times.
inline constexpr std::array<double, 11> kExpCoefficients{1.0,         1.0,          1.0 / 2,      1.0 / 6,
                                                         1.0 / 24,    1.0 / 120,    1.0 / 720,    1.0 / 5040,
                                                         1.0 / 40320, 1.0 / 362880, 1.0 / 3628800};
inline double tilt_weight(double tilt) {
  const double x = tilt * (1.0 / 32);
  double sum = kExpCoefficients[10];
  for (std::size_t k = 10; k-- > 0;) sum = sum * x + kExpCoefficients[k];
  for (int k = 0; k < 5; ++k) sum *= sum;
  return sum;
}
void tilt_weights(const Lanes& tilts, Lanes& weights);

}  // namespace gapwatch::stats
