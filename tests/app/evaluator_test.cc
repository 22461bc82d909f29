// When evaluations are due, and which of them sample the null laws.
#include "app/evaluator.h"

#include "stats/simulate.h"
#include "tests/support/eventually.h"

namespace gapwatch::app {
namespace {

using testing::eventually;

state::TableSnapshot snapshot(std::uint32_t draws) {
  stats::SimulationOptions options;
  options.prompts = 100;
  options.policies = 4;
  options.draws = draws;
  auto simulation = stats::Simulation::make(options).value();
  state::TableSnapshot out;
  for (std::uint32_t m = 0; m < options.policies; ++m) out.table.policies.push_back(stats::simulated_policy(m));
  for (std::uint32_t i = 0; i < options.prompts; ++i) out.table.prompts.push_back(stats::simulated_prompt(i, options.prompts));
  out.table.cells.resize(options.prompts * options.policies);
  while (const auto draw = simulation.next()) {
    auto& cell = out.table.cells[draw->prompt * options.policies + draw->policy];
    ++cell.trials;
    cell.successes += draw->success;
  }
  out.slices.assign(options.prompts, "");
  return out;
}

state::MonitorMoment moment(const state::TableSnapshot& of, std::uint32_t draws) {
  state::MonitorMoment out;
  out.config.name = "m";
  out.config.thresholds = {0.1};
  out.config.nulls.replicates = 400;
  out.config.evaluate_every = std::chrono::milliseconds(1'000);
  out.pool = of.table.policies;
  out.sums.pool.complete = 100;
  out.sums.unscored = draws;  // anything that says that counts have moved
  return out;
}

class EvaluatorTest : public ::testing::Test {
 protected:
  // Moves on an interval and evaluates counts of so many draws; false where nothing is due.
  bool tick(std::uint32_t draws, bool idle = false) {
    clock_.advance(std::chrono::milliseconds(1'000));
    auto table = snapshot(draws);
    const auto now = moment(table, draws);
    if (!evaluator_.due(now, idle)) return false;
    const auto before = evaluator_.finished();
    evaluator_.deliver(now, std::make_shared<const state::TableSnapshot>(std::move(table)));
    return eventually([&] { return evaluator_.finished() > before; });
  }
  const stats::NullComparison& checked() { return *evaluator_.result("m")->evaluation->thresholds[0].gap.margin; }
  const stats::NullComparison& live() { return *evaluator_.result("m")->live_nulls->thresholds[0].gap.margin; }

  ManualClock clock_{1'000'000};
  Evaluator evaluator_{clock_, 1};
};

TEST_F(EvaluatorTest, EveryEvaluationHasTheNormalLawAndEveryTenthSamples) {
  std::vector<bool> sampled;
  for (std::uint32_t draws = 4; draws < 4 + kCheckEvery + 1; ++draws) {
    ASSERT_TRUE(tick(draws)) << draws;
    const auto result = *evaluator_.result("m");
    sampled.push_back(result.checked_at == result.at);
    EXPECT_EQ(live().method, "gaussian");
    EXPECT_EQ(checked().method, "monte-carlo");
    EXPECT_EQ(result.evaluation->family.size(), 9u);
    if (sampled.back()) {
      EXPECT_EQ(live().observed, checked().observed);
      EXPECT_NEAR(live().mean, checked().mean, 0.006);
      EXPECT_NEAR(live().p_upper, checked().p_upper, 0.15);
    }
  }
  std::vector<bool> wanted(sampled.size(), false);
  for (const std::size_t at : {0, kCheckEvery}) wanted[at] = true;
  EXPECT_EQ(sampled, wanted);
}

TEST_F(EvaluatorTest, AtRestTheCheckFollowsOnce) {
  ASSERT_TRUE(tick(4));
  ASSERT_TRUE(tick(5));
  EXPECT_NE(evaluator_.result("m")->checked_at, evaluator_.result("m")->at);
  EXPECT_FALSE(tick(5)) << "nothing changed, and the stream may go on at once";
  ASSERT_TRUE(tick(5, true));
  EXPECT_EQ(evaluator_.result("m")->checked_at, evaluator_.result("m")->at);
  EXPECT_EQ(live().observed, checked().observed);
  EXPECT_FALSE(tick(5, true));
}

}  // namespace
}  // namespace gapwatch::app
