// Short calibrations. Rates are judged by binomial limits that chance passes in all but one case in 10,000;
// the long runs are a program's.

#include "stats/calibrate.h"

#include <atomic>

#include <boost/math/distributions/binomial.hpp>

namespace gapwatch::stats {
namespace {

CalibrationScenario small_scenario() {
  CalibrationScenario scenario;
  scenario.stream.prompts = 40;
  scenario.stream.policies = 4;
  scenario.stream.alpha = 1;
  scenario.stream.beta = 1.5;
  scenario.stream.traffic = SimulatedTraffic::kRandom;
  scenario.responses_per_cell = 16;
  return scenario;
}

CalibrationOptions of_streams(std::uint64_t streams) {
  CalibrationOptions options;
  options.streams = streams;
  options.seed = 7;
  return options;
}

Calibration run(const CalibrationScenario& scenario, const CalibrationOptions& options) {
  InlineExecutor executor;
  return calibrate(scenario, options, executor).value();
}

// Not above alpha, as far as so many streams can tell.
void expect_guaranteed(const AlarmCalibration& alarm, double alpha) {
  const boost::math::binomial_distribution<> law(static_cast<double>(alarm.streams), alpha);
  EXPECT_LE(static_cast<double>(alarm.alarms), boost::math::quantile(boost::math::complement(law, 1e-4)) + 1);
}

TEST(Calibrate, IdenticalPoliciesRarelyAlarm) {
  for (const auto traffic : {SimulatedTraffic::kRandom, SimulatedTraffic::kUneven}) {
    auto scenario = small_scenario();
    scenario.stream.traffic = traffic;
    const auto result = run(scenario, of_streams(150));
    for (const auto* alarm : {&result.plain, &result.plain_restart, &result.margin, &result.margin_restart}) {
      EXPECT_EQ(alarm->streams, 150u);
      expect_guaranteed(*alarm, 0.05);
    }
  }
  auto bursty = small_scenario();
  bursty.routing = Routing::kBursty;
  expect_guaranteed(run(bursty, of_streams(100)).plain, 0.05);
}

TEST(Calibrate, AQualityShiftAlarmsOnlyAgainstTheRedeal) {
  for (const bool pairs : {false, true}) {
    auto scenario = small_scenario();
    scenario.group_shift = 1.6;
    auto options = of_streams(100);
    options.evidence.margin = pairs ? MarginDesign::kPairs : MarginDesign::kBlocks;
    options.evidence.block_batches = 4;
    const auto result = run(scenario, options);
    expect_guaranteed(result.margin, 0.05);
    expect_guaranteed(result.margin_restart, 0.05);
    EXPECT_GT(result.plain.rate, 0.9);
  }
}

TEST(Calibrate, KnownPropensitiesCoverAdaptiveRouters) {
  auto scenario = small_scenario();
  scenario.propensities = true;
  scenario.stay = 0.8;
  auto options = of_streams(80);
  options.evidence.margin = MarginDesign::kOff;
  for (const auto router : {Routing::kWinStayPerBatch, Routing::kWinStay}) {
    scenario.routing = router;
    const auto result = run(scenario, options);
    expect_guaranteed(result.plain, 0.05);
    expect_guaranteed(result.plain_restart, 0.05);
  }
}

// sequential.md, S2: the router that begins anew in every batch makes batches alarm in .43 of null streams. If it
// did not here, the test above would show nothing.
TEST(Calibrate, AnAdaptiveRouterBreaksBatches) {
  CalibrationScenario scenario;  // 240 prompts, 5 policies
  scenario.stream.traffic = SimulatedTraffic::kRandom;
  scenario.responses_per_cell = 32;
  scenario.routing = Routing::kWinStayPerBatch;
  scenario.stay = 0.8;
  auto options = of_streams(30);
  options.evidence.margin = MarginDesign::kOff;
  EXPECT_GT(run(scenario, options).plain.rate, 0.3);  // .61 of 2,000 streams
}

TEST(Calibrate, FindsDifferencesAboutAsSoonAsItShould) {
  CalibrationScenario scenario;  // 240 prompts, 5 policies
  scenario.stream.traffic = SimulatedTraffic::kRandom;
  scenario.stream.effects.diffuse = 1;
  scenario.responses_per_cell = 8;
  const auto result = run(scenario, of_streams(60));
  // sequential.md, "Time to detection", sigma = 1: A mixture 2.8, weighted SR 2.9, B5 (G = 8) 3.0.
  ASSERT_TRUE(result.plain.median_delay && result.plain_restart.median_delay && result.margin.median_delay);
  EXPECT_LT(result.plain.median_interval->low, 2.8);
  EXPECT_LT(*result.plain.median_delay, 3.1);
  EXPECT_LT(*result.plain_restart.median_delay, 3.3);
  EXPECT_LT(*result.margin.median_delay, 3.3);
  EXPECT_GT(*result.plain.median_delay, 2);
}

TEST(Calibrate, RestartsFindALateChangeSooner) {
  auto scenario = small_scenario();
  scenario.stream.effects.diffuse = 1.5;
  scenario.change_at = 24;
  scenario.responses_per_cell = 60;
  auto options = of_streams(60);
  options.evidence.margin = MarginDesign::kOff;
  const auto result = run(scenario, options);
  ASSERT_TRUE(result.plain.median_delay && result.plain_restart.median_delay);
  EXPECT_LT(*result.plain_restart.median_delay, *result.plain.median_delay);
  EXPECT_LE(result.plain.before_change, 10u);
}

TEST(Calibrate, DoesNotDependOnThreadsNorOnStoppingEarly) {
  auto scenario = small_scenario();
  scenario.stream.effects.diffuse = 1;
  scenario.responses_per_cell = 6;
  auto options = of_streams(12);
  const auto one = run(scenario, options);
  std::atomic<int> streams = 0;
  options.on_stream = [&] { ++streams; };
  options.stop_at_alarm = false;
  const auto executor = make_thread_executor(3);
  const auto three = calibrate(scenario, options, *executor).value();
  EXPECT_EQ(streams, 12);
  EXPECT_EQ(one.plain.alarms, three.plain.alarms);
  EXPECT_EQ(one.plain.median_delay, three.plain.median_delay);
  EXPECT_EQ(one.margin_restart.median_delay, three.margin_restart.median_delay);
  EXPECT_LT(one.responses, three.responses);
}

TEST(Calibrate, UnevenTrafficHasPropensitiesToo) {
  auto scenario = small_scenario();
  scenario.propensities = true;
  scenario.stream.traffic = SimulatedTraffic::kUneven;
  auto options = of_streams(80);
  options.evidence.margin = MarginDesign::kOff;
  expect_guaranteed(run(scenario, options).plain, 0.05);
  scenario.stream.effects.diffuse = 1.5;
  EXPECT_GT(run(scenario, options).plain.rate, 0.9);
}

TEST(Calibrate, RefusesWhatMakesNoSense) {
  InlineExecutor executor;
  auto scenario = small_scenario();
  EXPECT_FALSE(calibrate(scenario, of_streams(0), executor).ok());
  scenario.change_at = 16;
  EXPECT_FALSE(calibrate(scenario, of_streams(1), executor).ok());
  scenario = small_scenario();
  scenario.propensities = true;
  scenario.stream.traffic = SimulatedTraffic::kRounds;
  EXPECT_FALSE(calibrate(scenario, of_streams(1), executor).ok());
  scenario = small_scenario();
  scenario.stream.prompts = 0;
  EXPECT_FALSE(calibrate(scenario, of_streams(1), executor).ok());
  auto options = of_streams(1);
  options.alpha = 1;
  EXPECT_FALSE(calibrate(small_scenario(), options, executor).ok());
}

}  // namespace
}  // namespace gapwatch::stats
