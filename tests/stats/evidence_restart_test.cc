#include "stats/evidence_restart.h"

#include <cmath>
#include <functional>
#include <random>

namespace gapwatch::stats {
namespace {

double uniform01(std::mt19937_64& random) {
  return (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53;
}

TEST(Restart, WeightsSumToAtMostOne) {
  double sum = 0;
  for (std::uint64_t t = 1; t <= 2'000'000; ++t) {
    const double w = Restart::weight(t);
    EXPECT_GT(w, 0);
    sum += w;
  }
  // The integral from 0 to T of the weight is 1 - log(30) / log(T + 30), and bounds the sum.
  EXPECT_LE(sum, 1 - std::log(30.0) / std::log(2'000'030.0));
  EXPECT_GT(sum, 0.75);
  EXPECT_NEAR(Restart::weight(1), std::log(30.0) / (31 * std::log(31.0) * std::log(31.0)), 1e-15);
}

// Every component's e-values take one of two values with mean 1: the mean of E over all paths is exactly 1.
TEST(Restart, IsAMartingaleFromOne) {
  constexpr std::size_t kSteps = 12;
  for (std::size_t length = 1; length <= kSteps; ++length) {
    double mean = 0;
    for (unsigned path = 0; path < 1u << length; ++path) {
      Restart restart;
      double p = 1;
      for (std::size_t t = 0; t < length; ++t) {
        const bool up = (path >> t & 1) != 0;
        const double bet = 0.2 + 0.06 * static_cast<double>(t);  // of either component, opposite ways
        p *= up ? 0.4 : 0.6;
        const double e0 = up ? 1 + 0.6 * bet : 1 - 0.4 * bet, e1 = up ? 1 - 0.6 * bet : 1 + 0.4 * bet;
        restart.step(std::array{std::log(e0), std::log(e1)});
      }
      mean += p * std::exp(restart.log_e(2));
    }
    EXPECT_NEAR(mean, 1, 1e-12) << length;
  }
}

TEST(Restart, LogDomainIsTheDirectRecursion) {
  std::mt19937_64 random(1);
  Restart restart;
  std::array<double, 3> r{};
  double spent = 0, peak = 1;
  for (std::uint64_t t = 1; t <= 400; ++t) {
    const double w = Restart::weight(t);
    spent += w;
    std::array<double, 3> log_e;
    double sum = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      log_e[k] = 0.6 * (uniform01(random) - 0.48);
      r[k] = (r[k] + w) * std::exp(log_e[k]);
      sum += r[k] + 1 - spent;
    }
    restart.step(log_e);
    EXPECT_NEAR(std::exp(restart.log_e(3)) / (sum / 3), 1, 1e-11) << t;
    peak = std::max(peak, sum / 3);
  }
  EXPECT_NEAR(restart.p_anytime(), 1 / peak, 1e-11);
  EXPECT_EQ(restart.steps, 400u);
}

TEST(Restart, SurvivesWhatOverflowsDoubles) {
  Restart restart;
  for (int t = 0; t < 2'000; ++t) restart.step(std::array{2.0});
  EXPECT_GT(restart.log_e(1), 3'900);
  for (int t = 0; t < 4'000; ++t) restart.step(std::array{-3.0});
  EXPECT_GT(restart.log_e(1), std::log(0.05));  // what is unspent is never lost
  EXPECT_LT(restart.log_e(1), 0);
  EXPECT_EQ(restart.p_anytime(), 0);  // its peak is remembered, and exp(-4000) is zero
}

TEST(Restart, BeginsAtOneAndAgainAfterAReset) {
  Restart restart;
  EXPECT_EQ(restart.log_e(11), 0);
  EXPECT_EQ(restart.p_anytime(), 1);
  for (int t = 0; t < 50; ++t) restart.step(std::array{1.0, -0.5});
  EXPECT_LT(restart.p_anytime(), 1e-3);
  restart.reset();
  EXPECT_TRUE(restart == Restart{});
}

// A change after 2,000 steps is seen much sooner than by the wealth since the start.
TEST(Restart, NoticesALateChange) {
  Restart restart;
  double wealth = 0;
  for (int t = 0; t < 2'000; ++t) {
    restart.step(std::array{-0.02});
    wealth -= 0.02;
  }
  int steps = 0;
  while (restart.log_e(1) < std::log(20)) {
    restart.step(std::array{0.1});
    wealth += 0.1;
    ++steps;
  }
  EXPECT_LT(steps, 130);
  EXPECT_LT(wealth, 0);
}

TEST(LogWealth, SumsExactlyInAnyOrderAndGrouping) {
  std::mt19937_64 random(2);
  std::vector<double> terms;
  for (int i = 0; i < 1'000; ++i) terms.push_back(400 * (uniform01(random) - 0.5));
  LogWealth forward, backward;
  std::array<LogWealth, 7> parts{};
  for (std::size_t i = 0; i < terms.size(); ++i) {
    forward.add(terms[i]);
    backward.add(terms[terms.size() - 1 - i]);
    parts[i % 7].add(terms[i]);
  }
  LogWealth merged;
  for (const auto& part : parts) merged.add(part);
  EXPECT_TRUE(forward == backward);
  EXPECT_TRUE(forward == merged);
  double sum = 0;
  for (const double term : terms) sum += term;
  EXPECT_NEAR(forward.nats(), sum, 1e-9);
  EXPECT_TRUE(LogWealth::of(forward.high(), forward.low()) == forward);
  LogWealth negative;
  negative.add(-1234.5);
  EXPECT_TRUE(LogWealth::of(negative.high(), negative.low()) == negative);
  EXPECT_EQ(negative.nats(), -1234.5);
}

TEST(LogMixture, IsTheLogOfTheMean) {
  std::array<LogWealth, 3> wealth{};
  EXPECT_EQ(log_mixture(wealth), 0);
  wealth[0].add(2);
  wealth[1].add(-1);
  EXPECT_NEAR(log_mixture(wealth), std::log((std::exp(2.0) + std::exp(-1.0) + 1) / 3), 1e-12);
  const std::array log_e{-0.5, 3.0, 0.25};
  const auto gain = mixture_gain(wealth, log_e);
  const double before = log_mixture(wealth);
  for (std::size_t k = 0; k < 3; ++k) wealth[k].add(log_e[k]);
  EXPECT_NEAR(gain.log_gain, log_mixture(wealth) - before, 1e-12);
  EXPECT_NEAR(gain.share[0] + gain.share[1] + gain.share[2], 1, 1e-12);
  EXPECT_NEAR(gain.share[1] / gain.share[0], std::exp(2 - 1.5), 1e-9);
}

TEST(TickedRestart, StepsOnTheProductSinceTheLastTick) {
  TickedRestart<2> ticked;
  Restart direct;
  std::array<LogWealth, 2> wealth{};
  std::uint64_t closed = 0;
  std::mt19937_64 random(3);
  for (int tick = 0; tick < 50; ++tick) {
    std::array<double, 2> product{};
    const auto batches = random() % 4;
    for (std::uint64_t b = 0; b < batches; ++b, ++closed) {
      for (std::size_t k = 0; k < 2; ++k) {
        const double log_e = uniform01(random) - 0.5;
        wealth[k].add(log_e);
        product[k] += log_e;
      }
    }
    if (batches > 0) direct.step(product);
    ticked.tick(wealth, closed);
    ticked.tick(wealth, closed);  // nothing closed since: no step
  }
  EXPECT_EQ(ticked.restart.steps, direct.steps);
  EXPECT_NEAR(ticked.restart.log_e(2), direct.log_e(2), 1e-10);
}

}  // namespace
}  // namespace gapwatch::stats
