#include "stats/confirmatory_looks.h"

#include <boost/math/distributions/binomial.hpp>
#include <gtest/gtest.h>

#include "base/random.h"
#include "stats/nulls.h"
#include "stats/power_tests.h"
#include "stats/simulate.h"

namespace gapwatch::stats {
namespace {

constexpr std::size_t kPolicies = 4;

// `draws` of every cell, prompts x policies.
std::vector<DrawSet> stream(SimulationOptions options) {
  options.policies = kPolicies;
  auto simulation = Simulation::make(options).value();
  std::vector<DrawSet> cells(options.prompts * kPolicies);
  while (const auto draw = simulation.next()) {
    cells[draw->prompt * kPolicies + draw->policy].exchange(
        draw->draw, draw->success ? DrawOutcome::kSuccess : DrawOutcome::kFailure);
  }
  return cells;
}

SimulationOptions null_stream(std::uint64_t seed, std::uint32_t draws = 8) {
  SimulationOptions options;
  options.prompts = 60;
  options.draws = draws;
  options.seed = seed;
  return options;
}

LookPlan plan() {
  LookPlan plan;
  plan.draws = {8, 2, 4, 4, 0};
  plan.alpha = 0.06;
  plan.replicates = 199;
  return plan;
}

std::vector<ConfirmatoryLook> look_at(const std::vector<DrawSet>& draws, const LookPlan& plan) {
  InlineExecutor executor;
  return confirmatory_looks(draws, kPolicies, plan, executor);
}

// The first `k` draws of every cell, all judged.
CountTable cut_by_hand(const std::vector<DrawSet>& draws, std::uint32_t k) {
  CountTable table;
  table.policies = {"a", "b", "c", "d"};
  for (const auto& cell : draws) {
    CellCount first;
    for (std::uint64_t j = 0; j < k; ++j) {
      ++first.trials;
      first.successes += cell.get(j) == DrawOutcome::kSuccess;
    }
    table.cells.push_back(first);
  }
  return table;
}

TEST(ConfirmatoryLooks, EachUsesTheFirstJudgedDrawsOfEveryCell) {
  constexpr std::uint32_t kLookSeed = 0x100c;  // the stream from which a look's seed is drawn
  const auto draws = stream(null_stream(3));
  const auto looks = look_at(draws, plan());
  ASSERT_EQ(looks.size(), 3u);
  const std::uint32_t schedule[] = {2, 4, 8};
  for (std::size_t l = 0; l < 3; ++l) {
    EXPECT_EQ(looks[l].draws, schedule[l]);
    EXPECT_DOUBLE_EQ(looks[l].level, 0.02);
    const auto table = cut_by_hand(draws, schedule[l]);
    const std::uint64_t seed = CounterRandom(plan().seed, kLookSeed, schedule[l])();
    InlineExecutor executor;
    const double taus[] = {0.1};
    const auto nulls =
        compare_with_nulls(table, taus, {.replicates = plan().replicates, .bootstrap = 0, .seed = seed}, executor);
    EXPECT_EQ(looks[l].gap.p_value, nulls.thresholds[0].gap.redeal->p_upper);
    EXPECT_EQ(looks[l].margin_gap.p_value, nulls.thresholds[0].gap.margin->p_upper);
    EXPECT_EQ(looks[l].heterogeneity.p_value, heterogeneity_p_value(table, plan().replicates, seed).p);
  }
}

TEST(ConfirmatoryLooks, LaterDrawsDoNotTouchALookTaken) {
  auto draws = stream(null_stream(4));
  const auto before = look_at(draws, plan());
  for (auto& cell : draws) {
    cell.exchange(7, DrawOutcome::kSuccess);
    cell.exchange(100, DrawOutcome::kFailure);
    cell.exchange(std::uint64_t{1} << 40, DrawOutcome::kSuccess);
  }
  const auto after = look_at(draws, plan());
  for (const std::size_t look : {0, 1}) {
    EXPECT_EQ(after[look].heterogeneity.p_value, before[look].heterogeneity.p_value);
    EXPECT_EQ(after[look].gap.p_value, before[look].gap.p_value);
    EXPECT_EQ(after[look].margin_gap.p_value, before[look].margin_gap.p_value);
  }
}

TEST(ConfirmatoryLooks, UnscoredDrawsAreNoDrawsAndAMissingOneMakesLooksWait) {
  auto draws = stream(null_stream(5));
  const auto all = look_at(draws, plan());
  EXPECT_TRUE(all[2].taken);
  draws[7].exchange(0, DrawOutcome::kUnscored);
  const auto looks = look_at(draws, plan());
  EXPECT_TRUE(looks[0].taken);
  EXPECT_TRUE(looks[1].taken);
  EXPECT_FALSE(looks[2].taken);
  EXPECT_EQ(looks[2].ready, 59u);
  EXPECT_EQ(looks[2].prompts, 60u);
  EXPECT_FALSE(looks[2].gap.rejects);
  draws[7].exchange(std::uint64_t{1} << 40, DrawOutcome::kFailure);  // far away, and the eighth all the same
  EXPECT_TRUE(look_at(draws, plan())[2].taken);
  for (const auto& look : look_at({}, plan())) EXPECT_FALSE(look.taken);
}

TEST(ConfirmatoryLooks, SeldomRejectATrueNullAtAnyLook) {
  constexpr int kStreams = 150;
  int heterogeneity = 0, gap = 0, margin_gap = 0;
  for (int i = 0; i < kStreams; ++i) {
    bool any[3] = {};
    for (const auto& look : look_at(stream(null_stream(1'000 + static_cast<std::uint64_t>(i))), plan())) {
      any[0] |= look.heterogeneity.rejects;
      any[1] |= look.gap.rejects;
      any[2] |= look.margin_gap.rejects;
    }
    heterogeneity += any[0];
    gap += any[1];
    margin_gap += any[2];
  }
  const boost::math::binomial_distribution<> law(kStreams, plan().alpha);
  const auto most = static_cast<int>(boost::math::quantile(boost::math::complement(law, 1e-4)));
  EXPECT_LE(heterogeneity, most);
  EXPECT_LE(gap, most);
  EXPECT_LE(margin_gap, most);
}

TEST(ConfirmatoryLooks, FindSpecialists) {
  auto options = null_stream(6, 8);
  options.prompts = 200;
  options.effects.specialist_share = 0.5;
  options.effects.specialist_gain = 0.5;
  const auto looks = look_at(stream(options), plan());
  EXPECT_TRUE(looks[2].heterogeneity.rejects);
  EXPECT_TRUE(looks[2].margin_gap.rejects);
}

}  // namespace
}  // namespace gapwatch::stats
