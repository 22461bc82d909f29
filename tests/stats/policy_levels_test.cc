#include "stats/policy_levels.h"

#include "stats/simulate.h"

namespace gapwatch::stats {
namespace {

TEST(PolicyLevels, AreThoseOfAPoolThatDiffersInQuality) {
  SimulationOptions options;
  options.prompts = 400;
  options.policies = 3;
  options.draws = 30;
  options.effects.shift = 0.8;  // -0.4, 0, 0.4
  auto simulation = Simulation::make(options).value();
  CountTable table;
  table.policies = {"a", "b", "c"};
  table.cells.resize(1'200);
  while (const auto draw = simulation.next()) {
    auto& cell = table.cells[draw->prompt * 3 + draw->policy];
    ++cell.trials;
    cell.successes += draw->success;
  }
  const auto levels = policy_levels(table);
  EXPECT_NEAR(levels[0], -0.4, 0.06);
  EXPECT_NEAR(levels[1], 0, 0.06);
  EXPECT_NEAR(levels[2], 0.4, 0.06);
}

TEST(PolicyLevels, OfOnePolicyOrOfNothingAreZero) {
  CountTable table;
  table.policies = {"a"};
  table.cells = {{8, 3}, {8, 5}};
  EXPECT_EQ(policy_levels(table), std::vector<double>{0});
  table.policies = {"a", "b"};
  table.cells = {{8, 0}, {8, 0}, {8, 8}, {8, 8}};
  EXPECT_EQ(policy_levels(table), (std::vector<double>{0, 0}));
}

}  // namespace
}  // namespace gapwatch::stats
