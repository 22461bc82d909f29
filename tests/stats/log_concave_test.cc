#include "stats/log_concave.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "stats/margin_moves.h"
#include "stats/redeal_sampler.h"

namespace gapwatch::stats {
namespace {

// The law of the weights x(x - 1)...: hypergeometric, small enough to be summed.
struct Law {
  std::uint64_t total, successes, draws;
  std::int64_t low() const { return static_cast<std::int64_t>(draws + successes > total ? draws + successes - total : 0); }
  std::int64_t high() const { return static_cast<std::int64_t>(std::min(draws, successes)); }
  double ratio(std::int64_t x) const {
    const auto k = static_cast<double>(x), s = static_cast<double>(successes), d = static_cast<double>(draws);
    return (s - k) * (d - k) / ((k + 1) * (static_cast<double>(total) - s - d + k + 1));
  }
  double log_weight(std::int64_t x) const {
    const auto k = static_cast<std::uint64_t>(x);
    return -(log_factorial(k) + log_factorial(successes - k) + log_factorial(draws - k) +
             log_factorial(total + k - successes - draws));
  }
  std::map<std::int64_t, double> masses() const {
    std::map<std::int64_t, double> mass;
    double most = -1e300, sum = 0;
    for (auto x = low(); x <= high(); ++x) most = std::max(most, log_weight(x));
    for (auto x = low(); x <= high(); ++x) sum += mass[x] = std::exp(log_weight(x) - most);
    for (auto& [x, p] : mass) p /= sum;
    return mass;
  }
};

// Chi-square of the draws against the law, values below 10 expected pooled; as a normal deviate.
template <typename Draw>
double deviate(const std::map<std::int64_t, double>& masses, std::size_t draws, Draw draw) {
  std::map<std::int64_t, std::size_t> seen;
  for (std::size_t k = 0; k < draws; ++k) ++seen[draw()];
  double square = 0, bins = 0, pooled = 0, pooled_seen = 0;
  const auto close = [&] {
    if (pooled <= 0) return;
    square += (pooled_seen - pooled) * (pooled_seen - pooled) / pooled;
    bins += 1;
    pooled = pooled_seen = 0;
  };
  for (const auto& [x, p] : masses) {
    pooled += p * static_cast<double>(draws);
    pooled_seen += static_cast<double>(seen[x]);
    if (pooled >= 10) close();
  }
  close();
  return (square - (bins - 1)) / std::sqrt(2 * std::max(1.0, bins - 1));
}

TEST(LogConcave, BothWaysDrawTheLaw) {
  const Law laws[] = {{40, 18, 15}, {1'000, 500, 400}, {1'000, 3, 400}, {30'000, 14'000, 9'000}, {5'000, 4'990, 2'500}, {60, 60, 1}};
  FastRandom random(11);
  std::vector<double> scratch;
  for (const auto& law : laws) {
    SCOPED_TRACE(law.total);
    const auto masses = law.masses();
    const auto ratio = [&](std::int64_t x) { return law.ratio(x); };
    const auto weight = [&](std::int64_t x) { return law.log_weight(x); };
    const auto start = law.low();
    EXPECT_LT(deviate(masses, 40'000, [&] { return draw_narrow(random, law.low(), law.high(), start, scratch, ratio); }), 4.5);
    // A wrong guess of the deviation makes it slow, never wrong.
    for (const double guess : {1.0, 8.0, 300.0}) {
      EXPECT_LT(deviate(masses, 40'000, [&] { return draw_wide(random, law.low(), law.high(), start, guess, ratio, weight); }), 4.5)
          << guess;
    }
  }
}

TEST(LogConcave, TheModeIsFoundFromAnywhere) {
  const Law law{30'000, 14'000, 9'000};
  const auto ratio = [&](std::int64_t x) { return law.ratio(x); };
  std::int64_t naive = law.low();
  while (naive < law.high() && law.ratio(naive) > 1) ++naive;
  for (const std::int64_t start : {law.low(), std::int64_t{17}, naive - 1, naive, naive + 1, law.high()}) {
    EXPECT_EQ(log_concave_mode(law.low(), law.high(), start, 3, ratio), naive);
  }
  EXPECT_EQ(log_concave_mode(0, 9, 4, 1, [](std::int64_t) { return 2.0; }), 9);
  EXPECT_EQ(log_concave_mode(0, 9, 4, 1, [](std::int64_t) { return 0.5; }), 0);
}

// Mean and variance of the hypergeometric, known in closed form, where no table could be summed.
TEST(LogConcave, HypergeometricOfBillions) {
  const std::uint64_t total = 8'000'000'000, successes = 3'000'000'000, draws = 2'147'483'647;
  const double n = static_cast<double>(total), p = static_cast<double>(successes) / n, d = static_cast<double>(draws);
  const double mean = d * p, variance = d * p * (1 - p) * (n - d) / (n - 1);
  FastRandom random(5);
  constexpr int kDraws = 200'000;
  double sum = 0, squares = 0, beyond = 0;
  for (int k = 0; k < kDraws; ++k) {
    const double z = (static_cast<double>(hypergeometric_draw(random, total, successes, draws)) - mean) / std::sqrt(variance);
    sum += z / kDraws;
    squares += z * z / kDraws;
    beyond += (std::abs(z) > 1.959964) / static_cast<double>(kDraws);
  }
  EXPECT_NEAR(sum, 0, 4.5 / std::sqrt(kDraws));
  EXPECT_NEAR(squares, 1, 4.5 * std::sqrt(2.0 / kDraws));
  EXPECT_NEAR(beyond, 0.05, 4.5 * std::sqrt(0.05 * 0.95 / kDraws));
}

// The 2 x 2 law with equal rows is symmetric: the mean is half of the column's total.
TEST(LogConcave, HeatBathOfBillions) {
  const Margins2x2 margins{2'147'483'647, 2'147'483'647, 2'147'483'647, 2'147'483'647, 1'000'000'000, 1'000'000'000, 1'200'000'000};
  HeatBath bath;
  FastRandom random(6);
  std::uint32_t x = 200'000'000;  // the least possible
  double sum = 0, squares = 0;
  constexpr int kDraws = 100'000;
  for (int k = 0; k < kDraws; ++k) {
    x = bath.draw(random, margins, x);
    const double away = static_cast<double>(x) - 600'000'000.0;
    sum += away / kDraws;
    squares += away * away / kDraws;
  }
  const auto part = [](double c) { return 1 / c + 1 / (2'147'483'647.0 - c); };
  const double variance = 1 / (2 * part(6e8) + 2 * part(4e8));
  EXPECT_NEAR(sum / std::sqrt(variance), 0, 4.5 / std::sqrt(kDraws));
  EXPECT_NEAR(squares / variance, 1, 4.5 * std::sqrt(2.0 / kDraws));
}

}  // namespace
}  // namespace gapwatch::stats
