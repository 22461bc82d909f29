#include "stats/simulate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

namespace gapwatch::stats {
namespace {

using testing::HasSubstr;

Simulation make(const SimulationOptions& options) {
  auto made = Simulation::make(options);
  EXPECT_TRUE(made) << (made ? "" : made.error().message);
  return std::move(made).value();
}

std::vector<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, bool>> take(Simulation& simulation,
                                                                                std::size_t most) {
  std::vector<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, bool>> out;
  while (out.size() < most) {
    const auto draw = simulation.next();
    if (!draw) break;
    out.emplace_back(draw->prompt, draw->policy, draw->draw, draw->success);
  }
  return out;
}

SimulationOptions options_of(SimulatedTraffic traffic, std::uint32_t draws) {
  SimulationOptions options;
  options.prompts = 37;
  options.policies = 3;
  options.draws = draws;
  options.traffic = traffic;
  options.effects.diffuse = 1;
  return options;
}

constexpr SimulatedTraffic kTraffics[] = {SimulatedTraffic::kRounds, SimulatedTraffic::kRandom,
                                          SimulatedTraffic::kUneven};

TEST(Simulate, FollowsFromTheSeed) {
  for (const auto traffic : kTraffics) {
    for (const std::uint32_t draws : {0u, 9u}) {
      auto options = options_of(traffic, draws);
      auto one = make(options), two = make(options);
      EXPECT_EQ(take(one, 5'000), take(two, 5'000));
      options.seed = 2;
      auto other = make(options), again = make(options_of(traffic, draws));
      EXPECT_NE(take(other, 5'000), take(again, 5'000));
    }
  }
}

TEST(Simulate, FiniteStreamsGiveEveryCellItsDraws) {
  for (const auto traffic : kTraffics) {
    auto simulation = make(options_of(traffic, 9));
    std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>> seen;
    while (const auto draw = simulation.next()) {
      EXPECT_TRUE(seen.emplace(draw->prompt, draw->policy, draw->draw).second);
      ASSERT_LT(draw->prompt, 37u);
      ASSERT_LT(draw->policy, 3u);
      ASSERT_LT(draw->draw, simulation.draws(draw->prompt, draw->policy));
    }
    std::size_t expected = 0;
    std::set<std::uint32_t> sizes;
    for (std::uint32_t i = 0; i < 37; ++i) {
      for (std::uint32_t m = 0; m < 3; ++m) {
        expected += simulation.draws(i, m);
        sizes.insert(simulation.draws(i, m));
      }
    }
    EXPECT_EQ(seen.size(), expected);
    EXPECT_EQ(simulation.total(), expected);
    EXPECT_EQ(simulation.events(), expected);
    EXPECT_EQ(simulation.next(), std::nullopt);
    if (traffic != SimulatedTraffic::kUneven) {
      EXPECT_EQ(expected, 37u * 3 * 9);
    } else {
      EXPECT_GT(sizes.size(), 4u);
      EXPECT_GE(*sizes.begin(), 2u);  // 9 / 4
      EXPECT_LE(*sizes.rbegin(), 9u);
    }
  }
}

TEST(Simulate, OrderDoesNotChangeOutcomes) {
  auto in_rounds = make(options_of(SimulatedTraffic::kRounds, 9)),
       at_random = make(options_of(SimulatedTraffic::kRandom, 9));
  auto first = take(in_rounds, 10'000), second = take(at_random, 10'000);
  EXPECT_NE(first, second);
  std::sort(first.begin(), first.end());
  std::sort(second.begin(), second.end());
  EXPECT_EQ(first, second);
}

TEST(Simulate, EndlessStreamsCountDrawsUp) {
  for (const auto traffic : kTraffics) {
    auto simulation = make(options_of(traffic, 0));
    EXPECT_EQ(simulation.total(), std::nullopt);
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> next;
    for (int e = 0; e < 20'000; ++e) {
      const auto draw = simulation.next();
      ASSERT_TRUE(draw);
      ASSERT_EQ(draw->draw, (next[{draw->prompt, draw->policy}]++));
    }
    std::uint32_t least = UINT32_MAX, most = 0;
    for (const auto& [cell, count] : next) {
      least = std::min(least, count);
      most = std::max(most, count);
    }
    // 20,000 events on 111 cells: 180 each; at random within six standard deviations (13.4).
    if (traffic == SimulatedTraffic::kRounds) {
      EXPECT_LE(most - least, 1u);
    }
    if (traffic == SimulatedTraffic::kRandom) {
      EXPECT_TRUE(least > 99 && most < 262) << least << " " << most;
    }
    if (traffic == SimulatedTraffic::kUneven) {
      EXPECT_GT(most, 5 * least);
    }
  }
}

// The chance that one of `cells` standardized frequencies is beyond 5.5 is below 1e-4 for 2,400 cells.
TEST(Simulate, FrequenciesAreTheTrueRates) {
  for (const auto& name : simulation_scenarios()) {
    auto options = simulation_scenario(name).value();
    options.prompts = 120;
    options.policies = 4;
    options.draws = 400;
    options.traffic = SimulatedTraffic::kRandom;
    auto simulation = make(options);
    std::vector<double> successes(480);
    while (const auto draw = simulation.next()) successes[draw->prompt * 4 + draw->policy] += draw->success;
    double squares = 0, informative = 0;
    for (std::uint32_t i = 0; i < 120; ++i) {
      for (std::uint32_t m = 0; m < 4; ++m) {
        const double rate = simulation.rate(i, m, 0), seen = successes[i * 4 + m];
        ASSERT_TRUE(rate >= 0 && rate <= 1);
        const double variance = 400 * rate * (1 - rate);
        if (variance <
            4) {  // too near an end for a normal bound; a Poisson count of mean 4 is never this far off
          EXPECT_LE(std::abs(seen - 400 * rate), 25) << name;
          continue;
        }
        const double z = (seen - 400 * rate) / std::sqrt(variance);
        EXPECT_LT(std::abs(z), 5.5) << name << " " << i << " " << m;
        squares += z * z;
        ++informative;
      }
    }
    // Sum of squares of about `informative` standardized counts: mean 1 each, sd sqrt(2/n), five of them.
    EXPECT_NEAR(squares / informative, 1, 5 * std::sqrt(2 / informative)) << name;
  }
}

TEST(Simulate, EffectsSetInAtTheirEvent) {
  auto options = simulation_scenario("specialist").value();
  options.prompts = 200;
  options.draws = 40;
  options.effects.specialist_share = 0.5;
  options.effects.specialist_gain = 1;  // to a rate of 1, so that no later failure is possible
  options.effects.specialist = 2;
  options.effects_from = 20'000;
  auto simulation = make(options);
  std::uint64_t early_failures = 0;
  for (std::uint64_t e = 0;; ++e) {
    const auto draw = simulation.next();
    if (!draw) break;
    const bool special = simulation.rate(draw->prompt, draw->policy, 20'000) == 1;
    if (!special || draw->policy != 2) continue;
    if (e < 20'000) early_failures += !draw->success;
    if (e >= 20'000) {
      ASSERT_TRUE(draw->success) << e;
    }
  }
  EXPECT_GT(early_failures, 500u);
  for (std::uint32_t i = 0; i < 200; ++i) {
    EXPECT_EQ(simulation.rate(i, 2, 19'999), simulation.rate(i, 0, 19'999));  // identical until then
    EXPECT_EQ(simulation.rate(i, 0, 19'999), simulation.rate(i, 0, 20'000));  // the others stay
  }
}

TEST(Simulate, DifficultiesHaveTheirMoments) {
  SimulationOptions options;
  options.prompts = 20'000;
  options.policies = 1;
  const auto simulation = make(options);
  double sum = 0, squares = 0;
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    const double rate = simulation.rate(i, 0, 0);
    sum += rate;
    squares += rate * rate;
  }
  // Beta(0.347, 0.601): mean 0.366034, variance 0.119122; standard errors 0.00244 and below 0.0008 (the
  // fourth central moment is at most the variance times 0.63^2).
  const double mean = sum / 20'000;
  EXPECT_NEAR(mean, 0.347 / 0.948, 5 * 0.00244);
  EXPECT_NEAR(squares / 20'000 - mean * mean, 0.347 * 0.601 / (0.948 * 0.948 * 1.948), 5 * 0.0009);
}

// The population gap at threshold 0.1 of [OG]'s planted specialists (five policies, 240 prompts, mean of 30
// pools). The paper's figures have the standard error of 30 pools, up to 0.0036; ours are means of 200.
TEST(Simulate, SpecialistsHaveThePublishedPopulationGap) {
  struct Row {
    double share, gain, gap;
  };
  constexpr Row kPublished[] = {{0.1, 0.05, 0.003}, {0.1, 0.1, 0.021}, {0.1, 0.2, 0.023},
                                {0.3, 0.05, 0.012}, {0.3, 0.1, 0.070}, {0.3, 0.2, 0.076},
                                {0.5, 0.05, 0.027}, {0.5, 0.1, 0.124}, {0.5, 0.2, 0.128}};
  for (const auto& row : kPublished) {
    double sum = 0, squares = 0;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
      SimulationOptions options;
      options.seed = seed;
      options.effects.specialist_share = row.share;
      options.effects.specialist_gain = row.gain;
      const auto pool = make(options);
      int oracle = 0, covers[5] = {};
      for (std::uint32_t i = 0; i < 240; ++i) {
        bool any = false;
        for (std::uint32_t m = 0; m < 5; ++m) {
          const bool cover = pool.rate(i, m, 0) >= 0.1;
          covers[m] += cover;
          any = any || cover;
        }
        oracle += any;
      }
      const double gap = (oracle - *std::max_element(covers, covers + 5)) / 240.0;
      sum += gap;
      squares += gap * gap;
    }
    const double mean = sum / 200, variance = squares / 200 - mean * mean;
    const double rounding = 0.0005, standard_error = std::sqrt(variance / 30 + variance / 200);
    EXPECT_NEAR(mean, row.gap, 4 * standard_error + rounding) << row.share << " " << row.gain;
  }
}

TEST(Simulate, EachEffectIsWhatItSays) {
  SimulationOptions options;
  options.prompts = 2'000;
  const auto base = make(options);
  const auto with = [&](auto change) {
    auto changed = options;
    change(changed.effects);
    return make(changed);
  };
  const auto logit = with([](auto& e) { e.shift = 1; });
  const auto probit = with([](auto& e) { e.shift = 1, e.shift_scale = ShiftScale::kProbit; });
  const auto additive = with([](auto& e) { e.shift = 0.2, e.shift_scale = ShiftScale::kAdditive; });
  const auto transfers = with([](auto& e) { e.transfer = 0.2; });
  const auto specialists = with([](auto& e) { e.specialist_share = 0.3, e.specialist_gain = 0.2; });
  const auto named = with([](auto& e) {
    e.specialist_share = 0.3, e.specialist_gain = 0.2, e.specialist = 1, e.specialist_loss = 0.1;
  });
  const auto cdf = [](double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; };
  std::map<std::uint32_t, int> gained;
  int named_gains = 0;
  for (std::uint32_t i = 0; i < 2'000; ++i) {
    const double p = base.rate(i, 0, 0);
    double sum = 0, base_sum = 0;
    int moved = 0;
    for (std::uint32_t m = 0; m < 5; ++m) {
      ASSERT_EQ(base.rate(i, m, 0), p);
      const double by = m / 4.0 - 0.5;
      if (p > 1e-12 && p < 1 - 1e-12) {
        EXPECT_NEAR(std::log(logit.rate(i, m, 0) / (1 - logit.rate(i, m, 0))), std::log(p / (1 - p)) + by,
                    1e-3);
      }
      EXPECT_NEAR(additive.rate(i, m, 0), std::clamp(p + 0.2 * by, 0.0, 1.0), 1e-12);
      sum += transfers.rate(i, m, 0);
      base_sum += p;
      moved += transfers.rate(i, m, 0) != p;
      if (const double gain = specialists.rate(i, m, 0) - p; gain > 0) {
        ++gained[m];
        EXPECT_NEAR(gain, std::min(0.2, 1 - p), 1e-12);
      }
    }
    EXPECT_NEAR(sum, base_sum, 1e-12);
    EXPECT_TRUE(moved == 2 || (moved == 0 && (p == 0 || p == 1))) << moved << " at " << p;
    // Phi(x - 1/2) and Phi(x + 1/2) for p = Phi(x): a step of 1 on the probit scale. x is found by bisection.
    double low = -40, high = 40;
    for (int step = 0; step < 80; ++step) (cdf((low + high) / 2) < p ? low : high) = (low + high) / 2;
    EXPECT_NEAR(probit.rate(i, 4, 0), cdf(low + 0.5), 1e-6);
    const bool is_own = named.rate(i, 1, 0) > p;
    named_gains += is_own;
    if (!is_own) {
      EXPECT_TRUE(p == 1 || std::abs(named.rate(i, 1, 0) - std::max(0.0, p - 0.1)) < 1e-12);
    }
    EXPECT_EQ(named.rate(i, 0, 0), p);
  }
  // 30% of 2,000, a fifth to each policy (sd 10.6 of 120); prompts already at 1 cannot gain.
  ASSERT_EQ(gained.size(), 5u);
  for (const auto& [policy, count] : gained) EXPECT_NEAR(count, 120, 53) << policy;
  EXPECT_NEAR(named_gains, 600, 5 * 20.5);
}

TEST(Simulate, RefusesWhatMakesNoSense) {
  const auto refusal = [](auto change) {
    SimulationOptions options;
    change(options);
    const auto made = Simulation::make(options);
    return made ? std::string() : made.error().message;
  };
  EXPECT_THAT(refusal([](auto& o) { o.prompts = 0; }), HasSubstr("at least one prompt"));
  EXPECT_THAT(refusal([](auto& o) { o.prompts = UINT64_MAX; }), HasSubstr("at most 2^31"));
  EXPECT_THAT(refusal([](auto& o) { o.alpha = 0; }), HasSubstr("alpha and beta"));
  EXPECT_THAT(refusal([](auto& o) { o.beta = std::nan(""); }), HasSubstr("alpha and beta"));
  EXPECT_THAT(refusal([](auto& o) { o.effects.specialist_share = 1.5; }), HasSubstr("share"));
  EXPECT_THAT(refusal([](auto& o) { o.effects.diffuse = std::nan(""); }), HasSubstr("diffuse"));
  EXPECT_THAT(refusal([](auto& o) { o.effects.specialist = 5; }), HasSubstr("not one of the policies"));
  EXPECT_THAT(refusal([](auto& o) { o.effects_before.specialist_loss = 0.1; }),
              HasSubstr("named specialist"));
  EXPECT_THAT(refusal([](auto& o) { o.policies = 1, o.effects.transfer = 0.1; }), HasSubstr("two policies"));
  EXPECT_THAT(simulation_scenario("specialists").error().message,
              HasSubstr("known: identical, shift, specialist"));
}

TEST(Simulate, Names) {
  EXPECT_EQ(simulated_prompt(0, 240), "prompt-0001");
  EXPECT_EQ(simulated_prompt(239, 240), "prompt-0240");
  EXPECT_EQ(simulated_prompt(0, 100'000), "prompt-000001");
  EXPECT_EQ(simulated_policy(0), "policy-a");
  EXPECT_EQ(simulated_policy(25), "policy-z");
  EXPECT_EQ(simulated_policy(26), "policy-aa");
  EXPECT_EQ(simulated_policy(702), "policy-aaa");
}

}  // namespace
}  // namespace gapwatch::stats
