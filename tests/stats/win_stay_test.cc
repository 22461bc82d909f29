#include "stats/win_stay.h"

#include <array>
#include <cmath>
#include <random>

namespace gapwatch::stats {
namespace {

TEST(WinStay, AWorkedCell) {
  // One policy a; responses a+ a+ a- b+ a-: of a followed 3, wins 2, stays 2 (a+ a+, a+ a-), both after a win.
  StayPrompt prompt;
  StaySum sum;
  for (const auto& [policy, success] : {std::pair{0u, true}, {0u, true}, {0u, false}, {1u, true}, {0u, false}}) {
    prompt.next(policy, success);
  }
  sum.add(prompt);
  EXPECT_EQ(prompt.cells[0], (StayCell{3, 2, 2, 2}));
  EXPECT_EQ(prompt.cells[1], (StayCell{1, 1, 0, 0}));
  // deviation 2 - 2 2 / 3, variance 2 1 2 1 / (9 2), to 2^-17
  EXPECT_NEAR(sum.deviation, 2.0 / 3, 0x1p-17);
  EXPECT_NEAR(sum.variance, 2.0 / 9, 0x1p-17);
  EXPECT_EQ(sum.followed, 4u);
  EXPECT_FALSE(sum.z()) << "too little to say anything";
}

// `stay` gives the chance of the same policy again after a success and after a failure.
StaySum run(std::uint64_t seed, double after_win, double after_loss) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform;
  StaySum sum;
  for (int p = 0; p < 50; ++p) {
    StayPrompt prompt;
    // Policies differ on the prompt and get unequal traffic: that alone must not count.
    const double rate[] = {0.1, 0.5, 0.9};
    std::uint32_t policy = 0;
    for (int t = 0; t < 200; ++t) {
      const bool success = uniform(random) < rate[policy];
      prompt.next(policy, success);
      if (uniform(random) >= (success ? after_win : after_loss)) policy = uniform(random) < 0.8 ? 2 : static_cast<std::uint32_t>(random() % 2);
    }
    sum.add(prompt);
  }
  return sum;
}

TEST(WinStay, TrafficThatDoesNotLookIsStandardNormal) {
  double square = 0;
  const int runs = 60;
  for (int seed = 1; seed <= runs; ++seed) {
    const auto z = run(static_cast<std::uint64_t>(seed), 0.5, 0.5).z();
    ASSERT_TRUE(z);
    EXPECT_LT(std::abs(*z), kStayLimit);
    square += *z * *z / runs;
  }
  // The mean of 60 chi squares of one degree lies within 1 +- 3 sqrt(2 / 60).
  EXPECT_NEAR(square, 1, 0.55);
}

TEST(WinStay, ARouterThatStaysAfterASuccessOrLeavesIsSeen) {
  EXPECT_GT(run(1, 0.9, 0.1).z().value(), kStayLimit);
  EXPECT_LT(run(1, 0.1, 0.9).z().value(), -kStayLimit);
}

TEST(WinStay, FixedRoundsSayNothing) {
  StayPrompt prompt;
  StaySum sum;
  for (std::uint32_t t = 0; t < 300; ++t) prompt.next(t % 3, t % 7 < 3);
  sum.add(prompt);
  EXPECT_EQ(sum.variance, 0);
  EXPECT_FALSE(sum.z());
}

TEST(WinStay, SumsOverPartitionsAdd) {
  // Prompts of three partitions one by one, and each partition by itself: the same to the last bit.
  std::mt19937_64 random(1);
  std::vector<StayPrompt> prompts(99);
  for (int t = 0; t < 50'000; ++t) {
    prompts[random() % prompts.size()].next(static_cast<std::uint32_t>(random() % 7), random() % 3 == 0);
  }
  StaySum whole;
  std::array<StaySum, 3> parts;
  for (std::size_t p = 0; p < prompts.size(); ++p) {
    whole.add(prompts[p]);
    parts[p % 3].add(prompts[p]);
  }
  StaySum sum = parts[2];
  sum.add(parts[0]), sum.add(parts[1]);
  EXPECT_EQ(sum, whole);
  EXPECT_EQ(sum.followed, 50'000u - 99);
}

}  // namespace
}  // namespace gapwatch::stats
