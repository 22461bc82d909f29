// Draws from log-concave laws on whole numbers, known up to a factor.
//
// draw_narrow walks the law outwards from its mode: exact to 1e-17 of the mode's weight, and as dear as the law is
// wide. draw_wide rejects from a hat of a flat middle and two geometric tails, tangent to the law about 1.4
// deviations from about its mode: some 1.2 tries a draw whatever the width. Its law is as exact as log_weight is: with
// log_factorial() of some 2^31 the weights are right to about 1e-4.
//
// Threads: pure but for the random numbers. Cost: 4 ns a value of the law, about 10 deviations of them (narrow);
// some ratios and four weights (wide). Source: Devroye, "Non-uniform random variate generation" (1986), VII.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/random.h"

namespace gapwatch::stats {

// Deviations from which the wide way is the cheaper one.
inline constexpr double kWideDeviation = 10;

// On [low, high], given weight(x + 1) / weight(x); `start` lies within. Cost: also the distance from start to the mode.
template <typename Ratio>
std::int64_t draw_narrow(FastRandom& random, std::int64_t low, std::int64_t high, std::int64_t start,
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

// The smallest x in [low, high] with ratio(x) <= 1 (high where there is none), looked for around `start`.
template <typename Ratio>
std::int64_t log_concave_mode(std::int64_t low, std::int64_t high, std::int64_t start, std::int64_t step, Ratio ratio) {
  const auto at_or_above = [&](std::int64_t x) { return x >= high || ratio(x) <= 1; };
  std::int64_t below = start, above = start;  // !at_or_above(below), at_or_above(above), once found
  if (at_or_above(start)) {
    while (below > low && at_or_above(below)) {
      above = below;
      below = std::max(low, below - step);
      step *= 2;
    }
    if (at_or_above(below)) return below;
  } else {
    while (!at_or_above(above)) {
      below = above;
      above = std::min(high, above + step);
      step *= 2;
    }
  }
  while (above - below > 1) {
    const auto middle = below + (above - below) / 2;
    (at_or_above(middle) ? above : below) = middle;
  }
  return above;
}

// One side of the hat: hat(mode + sign * d) = exp(level - slope * d) from d >= from on, for d up to `most`.
struct HatTail {
  std::int64_t from = 0, most = 0;
  double level = 0, slope = 1, mass = 0;  // mass: of the whole tail
};

// `touch`: the distance at which the hat is tangent, with the log weight `at` relative to the mode's, falling by
// `slope` to the next value.
inline HatTail hat_tail(std::int64_t touch, std::int64_t most, double at, double slope) {
  HatTail tail;
  tail.most = most;
  tail.from = most + 1;
  if (touch >= most || !(slope > 0)) return tail;  // the flat middle goes to the end
  tail.slope = slope;
  tail.level = at + tail.slope * static_cast<double>(touch);
  tail.from = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil(tail.level / tail.slope)), 1, most + 1);
  if (tail.from > most) return tail;
  tail.mass = std::exp(tail.level - tail.slope * static_cast<double>(tail.from)) / -std::expm1(-tail.slope);
  return tail;
}

// A value within about a hundredth of a deviation of the mode, by Newton's method from the curvature; else the mode.
template <typename Ratio, typename Deviation>
std::int64_t near_mode(std::int64_t low, std::int64_t high, std::int64_t start, Ratio ratio, Deviation deviation_at) {
  std::int64_t x = start;
  for (int step = 0; step < 12 && x < high; ++step) {
    const double deviation = deviation_at(x), away = std::log(ratio(x)) * deviation * deviation;
    if (!(std::abs(away) < 1e18)) break;
    if (std::abs(away) < 1 + 0.01 * deviation) return x;
    x = std::clamp(x + static_cast<std::int64_t>(away), low, high);
  }
  return log_concave_mode(low, high, start, 1, ratio);
}

// The hat about `middle`. rise: how far, in logarithms, the flat part lies above the weight of `middle`.
struct Hat {
  std::int64_t middle = 0;
  HatTail right, left;
  double peak = 0, rise = 0;
};

template <typename Ratio, typename LogWeight>
Hat hat_about(std::int64_t low, std::int64_t high, std::int64_t middle, double deviation, Ratio ratio,
              LogWeight log_weight) {
  Hat hat;
  hat.middle = middle;
  hat.peak = log_weight(middle);
  const auto touch = std::max<std::int64_t>(1, static_cast<std::int64_t>(deviation * 1.4142));
  const auto side = [&](std::int64_t most, int sign) {
    if (touch >= most) return hat_tail(touch, most, 0, 0);
    const auto at = middle + sign * touch;
    // From ratios: differences of log weights would lose it where the law is wide.
    const double slope = sign > 0 ? -std::log(ratio(at)) : std::log(ratio(at - 1));
    return hat_tail(touch, most, log_weight(at) - hat.peak, slope);
  };
  hat.right = side(high - middle, 1);
  hat.left = side(middle - low, -1);
  // Weights lie below the tangents of `middle`.
  const double up = middle < high ? std::log(ratio(middle)) : 0, down = middle > low ? -std::log(ratio(middle - 1)) : 0;
  hat.rise = std::max({0.0, up * static_cast<double>(hat.right.from - 1), down * static_cast<double>(hat.left.from - 1)});
  return hat;
}

// On [low, high]. `middle` is about the mode and `deviation` about the law's own: they decide about speed only.
template <typename Ratio, typename LogWeight>
std::int64_t draw_wide(FastRandom& random, std::int64_t low, std::int64_t high, std::int64_t middle, double deviation,
                       Ratio ratio, LogWeight log_weight) {
  if (low >= high) return low;
  auto hat = hat_about(low, high, middle, deviation, ratio, log_weight);
  constexpr double kMostRise = 0.5;
  if (!(hat.rise < kMostRise)) {
    const auto mode = log_concave_mode(low, high, middle, 1, ratio);
    hat = hat_about(low, high, mode, deviation, ratio, log_weight);
  }
  const auto first = hat.middle - (hat.left.from - 1), last = hat.middle + hat.right.from - 1;
  const double width = static_cast<double>(last - first + 1), flat = width * std::exp(hat.rise);
  for (;;) {
    const double u = uniform(random) * (flat + hat.right.mass + hat.left.mass);
    if (u < flat) {
      const auto x = std::min(first + static_cast<std::int64_t>(u / flat * width), last);
      if (std::log(uniform_open(random)) <= log_weight(x) - hat.peak - hat.rise) return x;
      continue;
    }
    const bool on_right = u - flat < hat.right.mass;
    const auto& tail = on_right ? hat.right : hat.left;
    const double further = std::floor(-std::log(uniform_open(random)) / tail.slope);
    if (!(further <= static_cast<double>(tail.most - tail.from))) continue;
    const auto distance = tail.from + static_cast<std::int64_t>(further);
    const auto x = on_right ? hat.middle + distance : hat.middle - distance;
    const double level = tail.level - tail.slope * static_cast<double>(distance);
    if (std::log(uniform_open(random)) <= log_weight(x) - hat.peak - level) return x;
  }
}

// Either way: by the law's deviation about its mode. `deviation_at(x)`: from the curvature at x.
template <typename Ratio, typename LogWeight, typename Deviation>
std::int64_t draw_log_concave(FastRandom& random, std::int64_t low, std::int64_t high, std::int64_t start,
                              std::vector<double>& scratch, Ratio ratio, LogWeight log_weight, Deviation deviation_at) {
  constexpr std::int64_t kFewValues = 256;  // never wide
  if (high - low <= kFewValues) return draw_narrow(random, low, high, start, scratch, ratio);
  const auto middle = near_mode(low, high, start, ratio, deviation_at);
  const double deviation = deviation_at(middle);
  if (deviation > kWideDeviation) return draw_wide(random, low, high, middle, deviation, ratio, log_weight);
  return draw_narrow(random, low, high, middle, scratch, ratio);
}

}  // namespace gapwatch::stats
