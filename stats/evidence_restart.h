// Log-wealth, its mixture over components, and the restarting process that an alarm looks at.
//
// LogWealth is an exact sum of log e-values: each is rounded once to a multiple of 2^-48 and summed as an
// integer, so partitions' wealths add to the same bits in any order and grouping.
//
// Restart is the weighted Shiryaev-Roberts process of every component, in the log domain:
//   R_t = (R_{t-1} + w_t) e_t,  E_t = R_t + 1 - sum_{s<=t} w_s,  w_t = log(t0) / ((t + t0) log^2(t + t0)), t0
//   = 30
// The weights sum to at most 1, E_t is a nonnegative martingale from 1 under the null, and so is its mean
// over components: P(it ever reaches 1/alpha) <= alpha, however often anyone looks. It notices a change late
// in the stream, because a little is bet anew at every step. reset() after an acknowledged alarm begins a new
// process, with an alpha of its own.
//
// Threads: as plain values. Cost: a step takes an exponential and two logarithms a component.
// Source: sequential.md, A ("Restarts / change points").
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>

#include "base/fixed_point.h"
#include "stats/evidence_components.h"

namespace gapwatch::stats {

class LogWealth {
 public:
  // |log_e| < 30000.
  void add(double log_e);
  void add(const LogWealth& other) { sum_ += other.sum_; }
  // This minus an earlier one, in nats.
  double since(const LogWealth& earlier) const;
  double nats() const { return since({}); }

  // For storing: the sum in units of 2^-48 nats.
  std::uint64_t low() const { return static_cast<std::uint64_t>(sum_); }
  std::int64_t high() const { return static_cast<std::int64_t>(sum_ >> 64); }
  static LogWealth of(std::int64_t high, std::uint64_t low);
  friend bool operator==(const LogWealth&, const LogWealth&) = default;

 private:
  Int128 sum_ = 0;
};

using PlainWealth = std::array<LogWealth, kComponents>;
using MarginWealth = std::array<LogWealth, kMarginComponents>;

// log of the mean of the components' wealths.
double log_mixture(std::span<const LogWealth> wealth);

// How the components share the mixture (sum 1), and by how much it grows when they win log_e.
struct MixtureGain {
  double log_gain = 0;
  Lanes share{};  // after the gain
};
MixtureGain mixture_gain(std::span<const LogWealth> before, std::span<const double> log_e);

struct Restart {
  std::uint64_t steps = 0;
  double spent = 0;                                             // sum of the weights so far
  Lanes log_r = all(-std::numeric_limits<double>::infinity());  // by component
  double log_peak = 0;                                          // the highest log E since the last reset

  // log_e.size() components, the same number at every step. Gives the new log E.
  double step(std::span<const double> log_e);
  // log of the mean of E_t over the first `components`; 0 before the first step.
  double log_e(std::size_t components) const;
  // min(1, 1 / max E): valid whenever it is read.
  double p_anytime() const;
  void reset() { *this = Restart{}; }

  static double weight(std::uint64_t step);  // w_t, t >= 1
  template <typename F>
  static void fields(auto& self, F&& f) {
    f(self.steps), f(self.spent), f(self.log_r), f(self.log_peak);
  }
  friend bool operator==(const Restart&, const Restart&) = default;

 private:
  static constexpr Lanes all(double value) {
    Lanes lanes{};
    lanes.fill(value);
    return lanes;
  }
};

// The restarting process of a monitor over several partitions or instances: it steps once a tick, on the
// product of all e-values closed since the last tick. On one partition step it at every closed batch instead.
template <std::size_t N>
struct TickedRestart {
  Restart restart;
  std::array<LogWealth, N> seen{};  // at the last tick
  std::uint64_t closed = 0;         // e-values closed by then

  // `wealth` and `closed_now` are merged over the partitions. No step where nothing was closed since.
  void tick(const std::array<LogWealth, N>& wealth, std::uint64_t closed_now) {
    if (closed_now == closed) return;
    std::array<double, N> log_e;
    for (std::size_t k = 0; k < N; ++k) log_e[k] = wealth[k].since(seen[k]);
    restart.step(log_e);
    seen = wealth;
    closed = closed_now;
  }
  template <typename F>
  static void fields(auto& self, F&& f) {
    f(self.restart), f(self.seen), f(self.closed);
  }
  friend bool operator==(const TickedRestart&, const TickedRestart&) = default;
};

}  // namespace gapwatch::stats
