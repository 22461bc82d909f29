#include "stats/power.h"

#include <cmath>

#include "tests/support/tables.h"

namespace gapwatch::stats {
namespace {

PowerPool small_pool(std::uint32_t trials = 8) {
  PowerPool pool;
  pool.prompts = 40;
  pool.policies = 4;
  pool.trials = trials;
  return pool;
}

PowerOptions quick(std::uint32_t tables = 40) {
  PowerOptions options;
  options.tables = tables;
  options.replicates = 39;
  options.tau = 0.3;
  return options;
}

SimulatedEffects diffuse(double sigma) {
  SimulatedEffects effects;
  effects.diffuse = sigma;
  return effects;
}

// ---- Tables ----

TEST(PowerTables, ATablesFirstDrawsDoNotDependOnItsTrials) {
  const auto few = draw_power_table(small_pool(3), diffuse(1), 0.3, 5), many = draw_power_table(small_pool(9), diffuse(1), 0.3, 5);
  EXPECT_DOUBLE_EQ(few.population_gap, many.population_gap) << "the true rates are the same";
  for (std::size_t c = 0; c < few.table.cells.size(); ++c) {
    EXPECT_EQ(few.table.cells[c].trials, 3u);
    EXPECT_LE(few.table.cells[c].successes, many.table.cells[c].successes) << "the same three draws and six more";
    EXPECT_LE(many.table.cells[c].successes - few.table.cells[c].successes, 6u);
  }
}

TEST(PowerTables, ALargerSpecialistOnlyAddsSuccesses) {
  const Alternative specialists{AlternativeKind::kSpecialist, 0.4};
  auto before = draw_power_table(small_pool(), effects_of(specialists, 0), 0.3, 9);
  EXPECT_EQ(before.population_gap, 0) << "identical policies have no gap";
  for (const double size : {0.1, 0.3, 0.6}) {
    const auto more = draw_power_table(small_pool(), effects_of(specialists, size), 0.3, 9);
    for (std::size_t c = 0; c < more.table.cells.size(); ++c) {
      EXPECT_GE(more.table.cells[c].successes, before.table.cells[c].successes);
    }
    EXPECT_GE(more.population_gap, before.population_gap);
    before = more;
  }
}

TEST(PowerTables, UnevenCellsKeepTheirTrials) {
  auto pool = small_pool();
  for (std::size_t c = 0; c < 160; ++c) pool.cell_trials.push_back(static_cast<std::uint32_t>(c % 5));
  const auto drawn = draw_power_table(pool, {}, 0.3, 1);
  for (std::size_t c = 0; c < 160; ++c) EXPECT_EQ(drawn.table.cells[c].trials, c % 5);
}

// A pool simulated with known difficulty and quality is found again.
TEST(PowerTables, APoolComesBackFromItsTable) {
  PowerPool truth;
  truth.prompts = 1'500;
  truth.policies = 3;
  truth.trials = 20;
  truth.alpha = 2;
  truth.beta = 3;
  truth.quality = {-0.6, 0, 0.6};
  const auto drawn = draw_power_table(truth, {}, 0.3, 4);
  InlineExecutor executor;
  const auto pool = power_pool_of(drawn.table, executor);
  EXPECT_EQ(pool.prompts, 1'500u);
  ASSERT_EQ(pool.quality.size(), 3u);
  EXPECT_NEAR(pool.quality[2] - pool.quality[0], 1.2, 0.1);
  EXPECT_NEAR(pool.alpha / (pool.alpha + pool.beta), 0.4, 0.03);
  EXPECT_NEAR(pool.alpha + pool.beta, 5, 1);
  EXPECT_TRUE(pool.difficulty_identified);
}

TEST(PowerTables, RefusesWhatCannotBeTested) {
  for (const auto& change : std::vector<std::function<void(PowerPool&)>>{
           [](PowerPool& p) { p.prompts = 0; }, [](PowerPool& p) { p.policies = 1; }, [](PowerPool& p) { p.trials = 0; },
           [](PowerPool& p) { p.alpha = 0; }, [](PowerPool& p) { p.quality = {1}; }, [](PowerPool& p) { p.cell_trials = {1, 2}; }}) {
    auto pool = small_pool();
    change(pool);
    EXPECT_FALSE(check_power_pool(pool));
  }
  EXPECT_TRUE(check_power_pool(small_pool()));
}

// ---- Tests ----

TEST(PowerTests, X2OnOneValueTablesRejectsNothingAndOnSplitPoliciesEverything) {
  CountTable alike, split;
  alike.policies = split.policies = {"a", "b"};
  for (int i = 0; i < 30; ++i) {
    alike.cells.insert(alike.cells.end(), {{8, 4}, {8, 4}});
    split.cells.insert(split.cells.end(), {{8, 8}, {8, 0}});
  }
  EXPECT_EQ(heterogeneity_p_value(alike, 99, 1).p, 1) << "no table has less";
  EXPECT_EQ(heterogeneity_p_value(split, 99, 1).p, 0.01) << "1 of 100";
  EXPECT_EQ(heterogeneity_p_value({}, 99, 1).p, 1);
}

// A closed form: two policies, one prompt, 2 trials each, S = 2: counts 2|0, 1|1, 0|2 with 1/6, 4/6, 1/6; X2 is largest
// at the ends. By hand p = 1/3 there, all of it ties.
TEST(PowerTests, X2ByHand) {
  CountTable table;
  table.policies = {"a", "b"};
  table.cells = {{2, 2}, {2, 0}};
  constexpr std::uint32_t kSamples = 20'000;
  const auto found = heterogeneity_p_value(table, kSamples, 3);
  EXPECT_NEAR(found.p, 1.0 / 3, 4.5 * std::sqrt(2.0 / 9 / kSamples));
  EXPECT_DOUBLE_EQ(found.mid, (found.p + 1 / (1.0 + kSamples)) / 2);
}

TEST(PowerTests, EveryTestHasItsPValue) {
  const auto drawn = draw_power_table(small_pool(), diffuse(2), 0.3, 2);
  const auto p = power_p_values(drawn.table, 0.3, 99, 1);
  // 99 samples, or 100 from four chains.
  for (const auto& [value, mid] : p) {
    EXPECT_TRUE(value >= 1.0 / 101 - 1e-12 && value <= 1) << value;
    EXPECT_TRUE(mid > 0 && mid <= value) << mid << " of " << value;
  }
  const auto& x2 = p[static_cast<std::size_t>(PowerTest::kHeterogeneity)];
  EXPECT_EQ(x2.p, heterogeneity_p_value(drawn.table, 99, 1).p);
  EXPECT_EQ(x2.p, 0.01) << "plain differences";
}

// ---- Rates ----

TEST(Power, ARateIsACountWithItsInterval) {
  InlineExecutor executor;
  const auto level = power_at(small_pool(), diffuse(1), quick(), executor);
  ASSERT_TRUE(level);
  EXPECT_EQ(level->trials, 8u);
  EXPECT_GT(level->population_gap, 0);
  EXPECT_GT(level->population_gap_error, 0);
  for (const auto& rate : level->tests) {
    EXPECT_EQ(rate.tables, 40u);
    EXPECT_DOUBLE_EQ(rate.rate, rate.found / 40.0);
    EXPECT_EQ(rate.interval, clopper_pearson({rate.tables, rate.found}));
  }
}

TEST(Power, DoesNotDependOnThreads) {
  InlineExecutor one;
  const auto three = make_thread_executor(3);
  const auto a = power_at(small_pool(), diffuse(1), quick(), one), b = power_at(small_pool(), diffuse(1), quick(), *three);
  ASSERT_TRUE(a && b);
  for (std::size_t t = 0; t < kPowerTests; ++t) EXPECT_EQ(a->tests[t].found, b->tests[t].found);
  EXPECT_EQ(a->population_gap, b->population_gap);
}

// Where nothing is planted a test of level 5% on 400 tables rejects at most 5% + 4.5 standard errors.
TEST(Power, TestsKeepTheirLevelOnIdenticalPolicies) {
  InlineExecutor executor;
  const auto level = power_at(small_pool(), {}, quick(400), executor);
  ASSERT_TRUE(level);
  for (std::size_t t = 0; t < kPowerTests; ++t) {
    EXPECT_LE(level->tests[t].rate, 0.05 + 4.5 * std::sqrt(0.05 * 0.95 / 400)) << t;
  }
}

TEST(Power, TheSmallestEffectIsFoundAndLessIsNot) {
  InlineExecutor executor;
  int rates = 0;
  auto options = quick(60);
  options.on_rate = [&] { ++rates; };
  const auto found = smallest_effects(small_pool(16), {AlternativeKind::kDiffuse, 1}, options, executor);
  ASSERT_TRUE(found);
  EXPECT_LE(rates, 31);
  const auto& x2 = found->tests[static_cast<std::size_t>(PowerTest::kHeterogeneity)];
  ASSERT_TRUE(x2.size);
  EXPECT_GE(x2.power.rate, options.power);
  EXPECT_LT(x2.size_low, *x2.size);
  ASSERT_TRUE(x2.size_high);
  EXPECT_GE(*x2.size_high, *x2.size);
  const auto less = power_at(small_pool(16), diffuse(*x2.size / 3), options, executor);
  EXPECT_LT(less->tests[static_cast<std::size_t>(PowerTest::kHeterogeneity)].rate, options.power);
}

// Far from the wanted power 40 tables decide; near it all are simulated.
TEST(Power, ASearchStopsWhereItIsClear) {
  InlineExecutor executor;
  const auto found = trials_needed(small_pool(), {AlternativeKind::kDiffuse, 1}, 3.2, quick(120), executor);
  ASSERT_TRUE(found);
  const auto sure = power_at(small_pool(32), diffuse(3.2), quick(300), executor);
  EXPECT_EQ(sure->tests[4].tables, 300u) << "a rate that is asked for has all tables";
  const auto& x2 = found->tests[static_cast<std::size_t>(PowerTest::kHeterogeneity)];
  ASSERT_TRUE(x2.trials);
  EXPECT_LE(*x2.trials, 8u);
  EXPECT_LT(x2.not_with, *x2.trials);
  const auto none = smallest_effects(small_pool(1), {AlternativeKind::kSpecialist, 0.05}, quick(120), executor);
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->tests[0].size) << "one trial and few specialists";
  EXPECT_EQ(none->tests[0].power.tables, 40u);
  EXPECT_EQ(none->tests[0].size_low, largest_size(AlternativeKind::kSpecialist));
}

TEST(Power, MoreEffectTakesFewerTrials) {
  InlineExecutor executor;
  const auto trials = [&](double size) {
    const auto found = trials_needed(small_pool(), {AlternativeKind::kSpecialist, 0.5}, size, quick(40), executor);
    return found->tests[static_cast<std::size_t>(PowerTest::kHeterogeneity)].trials.value_or(1'000);
  };
  EXPECT_LT(trials(0.6), trials(0.15));
}

TEST(Power, NullSizesSayWhichLawHolds) {
  InlineExecutor executor;
  auto pool = small_pool();
  pool.quality = {-1, -0.3, 0.3, 1};
  const auto sizes = null_sizes(pool, quick(60), executor);
  ASSERT_TRUE(sizes);
  ASSERT_EQ(sizes->size(), 5u);
  EXPECT_TRUE(sizes->at(0).redeal_holds && sizes->at(0).margin_holds);
  EXPECT_TRUE(!sizes->at(1).redeal_holds && sizes->at(1).margin_holds);
  EXPECT_FALSE(sizes->at(2).margin_holds || sizes->at(3).margin_holds);
  EXPECT_EQ(sizes->at(4).shift, 2);
  for (const auto& size : *sizes) {
    for (std::size_t test = 0; test < kPowerTests; ++test) EXPECT_GE(size.mid[test].found, size.tests[test].found);
  }
  const auto x2 = static_cast<std::size_t>(PowerTest::kHeterogeneity);
  EXPECT_GT(sizes->at(4).tests[x2].rate, 0.8) << "quality is a difference";
  EXPECT_LE(sizes->at(4).tests[static_cast<std::size_t>(PowerTest::kGapMargin)].rate, 0.2);
}

TEST(Power, RefusesWhatMakesNoSense) {
  InlineExecutor executor;
  for (const auto& change : std::vector<std::function<void(PowerOptions&)>>{
           [](PowerOptions& o) { o.tau = 0; }, [](PowerOptions& o) { o.alpha = 1; }, [](PowerOptions& o) { o.power = 0; },
           [](PowerOptions& o) { o.tables = 0; }, [](PowerOptions& o) { o.replicates = 18; }}) {
    auto options = quick();
    change(options);
    EXPECT_FALSE(power_at(small_pool(), {}, options, executor));
  }
  EXPECT_FALSE(smallest_effects(small_pool(), {AlternativeKind::kSpecialist, 0}, quick(), executor));
  SimulatedEffects wrong;
  wrong.diffuse = -1;
  EXPECT_FALSE(power_at(small_pool(), wrong, quick(), executor));
}

// The tables are fewer where a rate would take too long, never below the fewest.
TEST(Power, ItsCostGrowsWithThePool) {
  auto large = small_pool();
  large.prompts = 4'000;
  EXPECT_GT(power_cost(large, 199), 10 * power_cost(small_pool(), 199));
  EXPECT_GT(power_cost(small_pool(64), 199), power_cost(small_pool(16), 199));
}

}  // namespace
}  // namespace gapwatch::stats
