#include "stats/running.h"

#include <cmath>
#include <random>

#include "tests/support/golden.h"
#include "tests/support/tables.h"

namespace gapwatch::stats {
namespace {

using testing::Golden;
using testing::RandomTable;

SumsSpec spec_for(std::size_t policies, std::vector<double> thresholds = {0.05, 0.1, 0.5, 1.0}) {
  SumsSpec spec;
  spec.pool_size = policies;
  spec.thresholds = std::move(thresholds);
  return spec;
}

// What the sums must be, written from the definitions, one statistic at a time.
struct Naive {
  explicit Naive(const SumsSpec& s) : spec(s) {}
  SumsSpec spec;
  std::vector<std::vector<CellCount>> rows;
  std::vector<PairedCount> paired;

  static double rate(CellCount c) { return c.trials == 0 ? 0 : double(c.successes) / double(c.trials); }
  bool complete(const std::vector<CellCount>& row) const { return is_complete(row, spec.completeness); }

  template <typename F>
  FixedSum sum(F&& term) const {
    FixedSum total;
    for (const auto& row : rows) {
      if (complete(row)) total.add(fixed_term(term(row)));
    }
    return total;
  }
  template <typename F>
  std::int64_t count(F&& holds) const {
    std::int64_t total = 0;
    for (const auto& row : rows) total += complete(row) && holds(row);
    return total;
  }
  double in_band(double p) const {
    return std::clamp((p - spec.band_low) * (1 / (spec.band_high - spec.band_low)), 0.0, 1.0);
  }
  static double best(const std::vector<CellCount>& row) {
    double most = 0;
    for (const auto c : row) most = std::max(most, rate(c));
    return most;
  }
  static double mean(const std::vector<CellCount>& row) {
    double total = 0, present = 0;
    for (const auto c : row) {
      total += rate(c);
      present += c.trials > 0;
    }
    return total / present;
  }
};

void expect_matches(const PoolSums& sums, const Naive& naive) {
  using Row = std::vector<CellCount>;
  const auto positives = [](const Row& row) {
    return std::count_if(row.begin(), row.end(), [](CellCount c) { return c.successes > 0; });
  };
  const auto certain = [](const Row& row) {
    return std::any_of(row.begin(), row.end(), [](CellCount c) { return c.trials > 0 && c.successes == c.trials; });
  };
  const auto all = [](const Row&) { return true; };
  EXPECT_EQ(sums.complete, naive.count(all));
  EXPECT_EQ(sums.certain, naive.count(certain));
  EXPECT_EQ(sums.dead, naive.count([&](const Row& row) { return positives(row) == 0; }));
  EXPECT_EQ(sums.lone, naive.count([&](const Row& row) { return positives(row) == 1 && !certain(row); }));
  EXPECT_EQ(sums.positive, naive.count([&](const Row& row) { return positives(row) > 1 && !certain(row); }));
  EXPECT_EQ(sums.ceiling, naive.sum(Naive::best));
  EXPECT_EQ(sums.frechet_upper, naive.sum([](const Row& row) {
    double total = 0;
    for (const auto c : row) total += Naive::rate(c);
    return std::min(1.0, total);
  }));
  EXPECT_EQ(sums.union_product, naive.sum([&](const Row& row) {
    double miss = 1;
    for (const auto c : row) miss *= 1 - Naive::rate(c);
    return positives(row) <= 1 ? Naive::best(row) : std::max(Naive::best(row), 1 - miss);
  }));
  EXPECT_EQ(sums.rauc_oracle, naive.sum([&](const Row& row) { return naive.in_band(Naive::best(row)); }));
  EXPECT_EQ(sums.rauc_mixture, naive.sum([&](const Row& row) { return naive.in_band(Naive::mean(row)); }));
  for (std::size_t m = 0; m < naive.spec.pool_size; ++m) {
    EXPECT_EQ(sums.rate[m], naive.sum([&](const Row& row) { return Naive::rate(row[m]); }));
    EXPECT_EQ(sums.rauc[m], naive.sum([&](const Row& row) { return naive.in_band(Naive::rate(row[m])); }));
  }
  for (std::size_t t = 0; t < naive.spec.thresholds.size(); ++t) {
    const double tau = naive.spec.thresholds[t];
    const auto covered = [&](CellCount c) { return covers(c, need(tau, c.trials)); };
    EXPECT_EQ(sums.at[t].oracle,
              naive.count([&](const Row& row) { return std::any_of(row.begin(), row.end(), covered); }));
    EXPECT_EQ(sums.at[t].all,
              naive.count([&](const Row& row) { return std::all_of(row.begin(), row.end(), covered); }));
    EXPECT_EQ(sums.at[t].mixture, naive.count([&](const Row& row) { return Naive::mean(row) >= tau - 1e-12; }));
    for (std::size_t m = 0; m < naive.spec.pool_size; ++m) {
      EXPECT_EQ(sums.covered(t, m), naive.count([&](const Row& row) { return covered(row[m]); }));
    }
  }
}

// A live stream: rows change one cell at a time, come and go; in two parts that are merged.
void expect_stream_equals_batch(const SumsSpec& spec, std::uint32_t most_trials, std::uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  RandomTable shape;
  shape.trials_to = most_trials;
  constexpr std::size_t kPrompts = 12;
  Naive naive(spec);
  naive.rows.assign(kPrompts, std::vector<CellCount>(spec.pool_size));
  naive.paired.resize(kPrompts);
  PoolSums parts[2] = {PoolSums(spec), PoolSums(spec)};
  for (int step = 0; step < 300; ++step) {
    const auto i = random() % kPrompts;
    const auto old_row = naive.rows[i];
    const auto old_paired = naive.paired[i];
    naive.rows[i][random() % spec.pool_size] = testing::random_cell(shape, random);
    if (random() % 20 == 0) naive.rows[i].assign(spec.pool_size, {});
    naive.paired[i].aligned = random() % 5;
    naive.paired[i].any_success = naive.paired[i].aligned == 0 ? 0 : random() % (naive.paired[i].aligned + 1);
    if (random() % 2 == 0) {
      parts[i % 2].replace({old_row, old_paired}, {naive.rows[i], naive.paired[i]});
    } else {
      parts[i % 2].remove({old_row, old_paired});
      parts[i % 2].add({naive.rows[i], naive.paired[i]});
    }
  }
  PoolSums whole;
  whole.merge(parts[1]);
  whole.merge(parts[0]);
  PoolSums other_order = parts[0];
  other_order.merge(parts[1]);
  EXPECT_EQ(whole, other_order);

  PoolSums batch(spec);
  for (std::size_t i = kPrompts; i-- > 0;) batch.add({naive.rows[i], naive.paired[i]});
  EXPECT_EQ(whole, batch);
  expect_matches(whole, naive);
  for (std::size_t i = 0; i < kPrompts; ++i) whole.remove({naive.rows[i], naive.paired[i]});
  EXPECT_EQ(whole, PoolSums(spec));
}

TEST(PoolSums, AStreamOfChangesEndsWithTheBitsOfOnePass) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    auto spec = spec_for(1 + seed % 6);
    spec.completeness.missing_as_fail = seed % 3 == 0;
    spec.completeness.min_trials = seed % 4 == 1 ? 3 : 1;
    expect_stream_equals_batch(spec, seed % 5 == 0 ? 3000 : 6, seed);
  }
  expect_stream_equals_batch(spec_for(70), 6, 41);
}

TEST(PoolSums, EqualsOnlyTheSameSums) {
  PoolSums a(spec_for(2)), b(spec_for(2));
  EXPECT_EQ(a, b);
  const std::vector<CellCount> row{{4, 1}, {4, 2}};
  a.add({row, {}});
  EXPECT_NE(a, b);
  b.add({row, {4, 2}});
  EXPECT_NE(a, b) << "the paired union differs";
  EXPECT_NE(PoolSums(spec_for(2)), PoolSums(spec_for(3)));
}

TEST(PoolSums, AnEmptyCellNeverCovers) {
  auto spec = spec_for(2, {1e-10, 0.5});
  spec.completeness.missing_as_fail = true;
  PoolSums sums(spec);
  sums.add({std::vector<CellCount>{{0, 0}, {4, 0}}, {}});
  sums.add({std::vector<CellCount>{{0, 0}, {0, 0}}, {}});  // no trial: not a prompt at all
  EXPECT_EQ(sums.complete, 1);
  EXPECT_EQ(sums.covered(0, 0), 0);
  EXPECT_EQ(sums.covered(0, 1), 1) << "need is 0 at so low a threshold";
  EXPECT_EQ(summarize(sums, spec).pass_at_1[0], 0.0);
}

TEST(PoolSums, NothingCompleteHasNoNumbers) {
  const auto spec = spec_for(3);
  PoolSums sums(spec);
  sums.add({std::vector<CellCount>{{4, 1}, {0, 0}, {4, 2}}, {}});
  const auto summary = summarize(sums, spec);
  EXPECT_EQ(summary.complete, 0);
  EXPECT_EQ(summary.partial, 1);
  EXPECT_FALSE(summary.identifiable);
  EXPECT_FALSE(summary.union_paired || summary.premium_paired || summary.conditional_premium);
  EXPECT_FALSE(summary.oracle_noise_share_product || summary.oracle_noise_share_paired);
  const auto split = split_gap(summary, "product", "a", 0.5);
  EXPECT_FALSE(split.total || split.recoverable || split.noise || split.noise_share);
  EXPECT_FALSE(summarize(RouterSums(spec), spec).pass_at_1);
  EXPECT_EQ(summarize(PoolSums(), SumsSpec()).complete, 0);
}

TEST(PoolSums, OnePolicyHasNoGapAndNoPremium) {
  const auto spec = spec_for(1);
  PoolSums sums(spec);
  for (std::uint32_t s = 0; s <= 7; ++s) sums.add({std::vector<CellCount>{{7, s}}, {}});
  const auto summary = summarize(sums, spec);
  EXPECT_EQ(summary.premium_product, 0.0);
  EXPECT_EQ(summary.union_product, summary.ceiling);
  EXPECT_EQ(summary.oracle_pass_at_1_gap, 0.0);
  EXPECT_FALSE(split_gap(summary, "product", "a", summary.pass_at_1[0]).noise_share);
  EXPECT_FALSE(split_gap(summary, "paired", "a", summary.pass_at_1[0]).total);
  for (const auto& at : summary.coverage) {
    EXPECT_EQ(at.gap, 0.0);
    EXPECT_FALSE(at.break_even_error);
  }
}

TEST(PoolSums, EqualRatesTieToTheFirstByName) {
  // 0.1 + 0.2 against 0.3 + 0: equal sums, unequal doubles.
  const auto spec = spec_for(2);
  PoolSums sums(spec);
  sums.add({std::vector<CellCount>{{10, 3}, {10, 1}}, {}});
  sums.add({std::vector<CellCount>{{10, 0}, {10, 2}}, {}});
  EXPECT_EQ(summarize(sums, spec).best_single, 0u);
  PoolSums swapped(spec);
  swapped.add({std::vector<CellCount>{{10, 1}, {10, 3}}, {}});
  swapped.add({std::vector<CellCount>{{10, 2}, {10, 0}}, {}});
  EXPECT_EQ(summarize(swapped, spec).best_single, 0u);
}

TEST(PoolSums, ManyTrialsAndPolicies) {
  const auto spec = spec_for(200);
  PoolSums sums(spec);
  std::vector<CellCount> row;
  for (std::uint32_t m = 0; m < 200; ++m) row.push_back({m % 2 == 0 ? 1u : 100'000u, m % 2 == 0 ? 0u : 12'345u});
  sums.add({row, {}});
  const auto summary = summarize(sums, spec);
  EXPECT_EQ(summary.trials_min, 1u);
  EXPECT_EQ(summary.trials_median, 1u);
  EXPECT_EQ(summary.trials_max, 100'000u);
  EXPECT_DOUBLE_EQ(summary.ceiling, 0.12345);
  EXPECT_NEAR(summary.union_product, 1 - std::pow(1 - 0.12345, 100), 1e-12);
  EXPECT_EQ(summary.frechet_upper, 1.0);
}

TEST(RouterSums, AStreamOfDecisionsEndsWithTheBitsOfOnePass) {
  std::mt19937_64 random(7);
  const auto spec = spec_for(4);
  RandomTable shape;
  struct Entry {
    std::vector<CellCount> cells;
    std::vector<double> weights;
  };
  std::vector<Entry> entries(10);
  for (auto& entry : entries) entry.cells.resize(4);
  RouterSums sums(spec);
  for (int step = 0; step < 400; ++step) {
    auto& entry = entries[random() % entries.size()];
    sums.remove({entry.cells, {}}, entry.weights);
    if (step % 3 == 0) {
      const double w = double(random() % 1001) / 1000;
      entry.weights = {0, w, 0, 1 - w};
      if (random() % 5 == 0) entry.weights.clear();
    }
    entry.cells[random() % 4] = testing::random_cell(shape, random);
    sums.add({entry.cells, {}}, entry.weights);
  }
  RouterSums batch(spec), empty;
  for (const auto& entry : entries) batch.add({entry.cells, {}}, entry.weights);
  EXPECT_EQ(sums, batch);
  empty.merge(sums);
  EXPECT_EQ(empty, batch);
}

// ---- Golden values: an independent reference (tests/golden/README.md) ----

std::vector<PairedCount> paired_of(const Golden& golden) {
  std::vector<PairedCount> paired;
  for (const auto& row : testing::draws_of(golden)) {
    PairedCount count;
    count.aligned = row[0].size();
    for (std::size_t j = 0; j < row[0].size(); ++j) {
      count.any_success += std::any_of(row.begin(), row.end(), [&](const std::string& d) { return d[j] == '1'; });
    }
    paired.push_back(count);
  }
  return paired;
}

void expect_coverage(const CoverageSummary& at, simdjson::dom::element expected, const std::string& what) {
  EXPECT_NEAR(at.oracle, testing::number(expected["C_orac"]), testing::kExact) << what;
  EXPECT_NEAR(at.best, testing::number(expected["C_best"]), testing::kExact) << what;
  EXPECT_EQ(at.best_policy, expected["best_member"].get_uint64().value()) << what;
  EXPECT_NEAR(at.mixture, testing::number(expected["C_mix"]), testing::kExact) << what;
  EXPECT_NEAR(at.gap, testing::number(expected["L"]), testing::kExact) << what;
  EXPECT_NEAR(at.disagreement, testing::number(expected["D"]), testing::kExact) << what;
  testing::expect_number(at.break_even_error, expected["L_over_D"], what + " L/D");
  EXPECT_NEAR(at.oracle_minus_mixture, testing::number(expected["oracle_minus_mixture"]), testing::kExact) << what;
  const auto members = testing::numbers(expected["C_m"]);
  ASSERT_EQ(at.policy.size(), members.size());
  for (std::size_t m = 0; m < members.size(); ++m) EXPECT_NEAR(at.policy[m], members[m], testing::kExact) << what;
}

// A block {tau: {...}} against the sums of `table`.
void expect_coverage_block(const CountTable& table, simdjson::dom::element block, bool missing_as_fail) {
  SumsSpec spec = spec_for(table.pool_size(), {});
  spec.completeness.missing_as_fail = missing_as_fail;
  std::vector<simdjson::dom::element> expected;
  for (const auto field : block.get_object()) {
    spec.thresholds.push_back(std::stod(std::string(field.key)));
    expected.push_back(field.value);
  }
  const auto sums = sum_table(table, spec);
  const auto summary = summarize(sums, spec);
  for (std::size_t t = 0; t < expected.size(); ++t) {
    const auto counts = expected[t]["counts"].value();
    const std::string what = "tau " + std::to_string(spec.thresholds[t]);
    // The reference counts prompts without any trial as prompts; they are none to the sums.
    EXPECT_EQ(sums.at[t].oracle, counts["orac"].get_int64().value()) << what;
    EXPECT_EQ(sums.at[t].mixture, counts["mix"].get_int64().value()) << what;
    EXPECT_EQ(sums.at[t].all, counts["all"].get_int64().value()) << what;
    if (sums.complete == counts["n"].get_int64().value()) {
      expect_coverage(summary.coverage[t], expected[t], what);
    } else {
      EXPECT_TRUE(missing_as_fail) << what;
    }
  }
}

void expect_union(const PoolSummary& summary, simdjson::dom::element expected) {
  EXPECT_NEAR(summary.ceiling, testing::number(expected["O_repro"]), testing::kExact);
  EXPECT_NEAR(summary.union_product, testing::number(expected["O_exp_product"]), testing::kExact);
  EXPECT_NEAR(summary.premium_product, testing::number(expected["premium_product"]), testing::kExact);
  EXPECT_NEAR(summary.frechet_upper, testing::number(expected["frechet_upper"]), testing::kExact);
  EXPECT_NEAR(summary.frechet_width, testing::number(expected["premium_frechet_upper"]), testing::kExact);
  EXPECT_NEAR(summary.positive_fraction, testing::number(expected["positive_fraction"]), testing::kExact);
  testing::expect_number(summary.conditional_premium, expected["conditional_mean_premium"], "conditional premium");
  testing::expect_number(summary.oracle_noise_share_product, expected["S_ratio_of_means"], "oracle noise share");
  EXPECT_EQ(summary.certain, expected["zero_cases"]["saturated"].get_int64().value());
  EXPECT_EQ(summary.dead, expected["zero_cases"]["all_zero"].get_int64().value());
  EXPECT_EQ(summary.lone, expected["zero_cases"]["single_positive"].get_int64().value());
  if (expected["O_exp_paired"].error() == simdjson::SUCCESS) {
    testing::expect_number(summary.union_paired, expected["O_exp_paired"], "paired union");
    testing::expect_number(summary.premium_paired, expected["premium_paired"], "paired premium");
  }
}

void expect_pass1(const PoolSummary& summary, simdjson::dom::element expected) {
  const auto members = testing::numbers(expected["members"]);
  for (std::size_t m = 0; m < members.size(); ++m) EXPECT_NEAR(summary.pass_at_1[m], members[m], testing::kExact);
  EXPECT_EQ(summary.best_single, expected["best_member"].get_uint64().value());
  EXPECT_NEAR(summary.oracle_pass_at_1_gap, testing::number(expected["gap"]), testing::kExact);
}

void expect_split(const GapSplit& split, simdjson::dom::element expected) {
  testing::expect_number(split.total, expected["G"], "G");
  testing::expect_number(split.recoverable, expected["G_rec"], "G_rec");
  testing::expect_number(split.noise, expected["G_noise"], "G_noise");
  testing::expect_number(split.noise_share, expected["share"], "share");
}

class GoldenSums : public ::testing::TestWithParam<const char*> {};

TEST_P(GoldenSums, DeterministicValues) {
  const Golden golden(testing::golden_path(GetParam()));
  const auto table = testing::table_of(golden);
  auto spec = spec_for(table.pool_size(), testing::numbers(golden.input("taus")));
  spec.band_low = testing::numbers(golden.input("band"))[0];
  spec.band_high = testing::numbers(golden.input("band"))[1];
  const auto sums = sum_table(table, spec, paired_of(golden));
  const auto summary = summarize(sums, spec);

  expect_coverage_block(table, golden.expected("coverage"), false);
  if (golden.expects("coverage_missing_as_fail")) {
    expect_coverage_block(table, golden.expected("coverage_missing_as_fail"), true);
  }
  expect_union(summary, golden.expected("union"));
  expect_pass1(summary, golden.expected("pass1"));
  const auto shape = golden.expected("shape");
  EXPECT_EQ(summary.complete, shape["complete_prompts"].get_int64().value());
  EXPECT_EQ(summary.degenerate, golden.expected("degenerate")["total"].get_int64().value());
  EXPECT_TRUE(summary.identifiable);
  const auto rauc = golden.expected("rauc_raw");
  EXPECT_NEAR(summary.rauc_oracle, testing::number(rauc["oracle"]), testing::kExact);
  EXPECT_NEAR(summary.rauc_mixture, testing::number(rauc["mixture"]), testing::kExact);
  EXPECT_NEAR(summary.rauc_best, testing::number(rauc["best"]), testing::kExact);
  const auto members = testing::numbers(rauc["members"]);
  for (std::size_t m = 0; m < members.size(); ++m) EXPECT_NEAR(summary.rauc[m], members[m], testing::kExact);

  const auto best = golden.expected("decomposition")["best_single"].value();
  for (const auto field : best.get_object()) {
    expect_split(split_gap(summary, std::string(field.key), "best", summary.pass_at_1[summary.best_single]), field.value);
  }
}

// A named or randomized router of the file; "argmax_plugin" picks the policy of the highest rate,
// "best_single" the best policy.
std::vector<std::vector<double>> weights_of(const Golden& golden, std::string_view router, const CountTable& table,
                                            std::size_t best_single) {
  std::vector<std::vector<double>> weights(table.prompt_count(), std::vector<double>(table.pool_size()));
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (router == "best_single") {
      weights[i][best_single] = 1;
    } else if (router == "argmax_plugin") {
      std::size_t best = 0;
      for (std::size_t m = 1; m < weights[i].size(); ++m) {
        if (Naive::rate(table.row(i)[m]) > Naive::rate(table.row(i)[best])) best = m;
      }
      weights[i][best] = 1;
    } else {
      const auto choice = golden.input("routers")[router].at(i).value();
      if (choice.is_array()) {
        weights[i] = testing::numbers(choice);
      } else {
        weights[i][choice.get_uint64().value()] = 1;
      }
    }
  }
  return weights;
}

TEST_P(GoldenSums, Routers) {
  const Golden golden(testing::golden_path(GetParam()));
  const auto table = testing::table_of(golden);
  const auto paired = paired_of(golden);
  const auto best_single = golden.expected("pass1")["best_member"].get_uint64().value();
  for (const auto router : golden.expected("router_coverage").get_object()) {
    SCOPED_TRACE(std::string(router.key));
    auto spec = spec_for(table.pool_size(), {});
    for (const auto field : router.value.get_object()) spec.thresholds.push_back(std::stod(std::string(field.key)));
    RouterSums sums(spec);
    const auto weights = weights_of(golden, router.key, table, best_single);
    for (std::size_t i = 0; i < table.prompt_count(); ++i) {
      sums.add({table.row(i), paired.empty() ? PairedCount{} : paired[i]}, weights[i]);
    }
    const auto summary = summarize(sums, spec);
    std::size_t t = 0;
    for (const auto field : router.value.get_object()) {
      testing::expect_number(summary.gain[t], field.value["gain"], "gain");
      testing::expect_number(summary.disagreement_error[t], field.value["e_D"], "e_D");
      const auto& at = summary.routed.coverage[t];
      EXPECT_NEAR(at.disagreement, testing::number(field.value["D"]), testing::kExact);
      testing::expect_number(at.break_even_error, field.value["break_even"], "break-even");
      EXPECT_NEAR(at.best + *summary.gain[t], testing::number(field.value["C_r"]), testing::kExact);
      ++t;
    }
    for (const auto field : golden.expected("decomposition")[router.key].get_object()) {
      EXPECT_NEAR(*summary.pass_at_1, testing::number(field.value["q"]), testing::kExact);
      expect_split(split_gap(summary.routed, std::string(field.key), std::string(router.key), *summary.pass_at_1),
                   field.value);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Files, GoldenSums,
                         ::testing::Values("hand_6x3x4", "quickstart_240x5x16", "uneven_missing_80x5",
                                           "draws_60x11x30"));

TEST(GoldenEdgeCases, CoverageUnionPass1) {
  const Golden golden(testing::golden_path("edge_cases"));
  const auto cases = golden.root["input"]["cases"].get_array().value();
  const auto expected = golden.root["expected"]["cases"].get_array().value();
  for (std::size_t c = 0; c < cases.size(); ++c) {
    const auto want = expected.at(c).value();
    const auto table = testing::table_of(cases.at(c).value());
    SCOPED_TRACE(std::string(cases.at(c)["about"].get_string().value()));
    const auto spec = spec_for(table.pool_size());
    const auto summary = summarize(sum_table(table, spec), spec);
    simdjson::dom::element block;
    if (want["coverage"].get(block) == simdjson::SUCCESS) expect_coverage_block(table, block, false);
    if (want["coverage_missing_as_fail"].get(block) == simdjson::SUCCESS) expect_coverage_block(table, block, true);
    if (want["union"].get(block) == simdjson::SUCCESS) expect_union(summary, block);
    if (want["pass1"].get(block) == simdjson::SUCCESS) expect_pass1(summary, block);
    if (want["decomposition_best_single"].get(block) == simdjson::SUCCESS) {
      expect_split(split_gap(summary, "product", "best", summary.pass_at_1[summary.best_single]), block);
    }
    if (want["degenerate"].get(block) == simdjson::SUCCESS && summary.complete == std::int64_t(table.prompt_count())) {
      EXPECT_EQ(summary.degenerate, block["total"].get_int64().value());
    }
  }
}

TEST(GoldenWorkedExamples, Need) {
  const Golden golden(testing::golden_path("worked_examples"));
  const auto expected = golden.expected("need").get_array().value();
  std::size_t at = 0;
  for (const auto pair : golden.input("need").get_array()) {
    EXPECT_EQ(need(testing::number(pair.at(0)), static_cast<std::uint32_t>(pair.at(1).get_uint64().value())),
              expected.at(at++).get_uint64().value());
  }
}

// Rates with at most four decimals as counts.
std::vector<CellCount> row_of_rates(const std::vector<double>& rates) {
  std::vector<CellCount> row;
  for (const double rate : rates) row.push_back({10'000, static_cast<std::uint32_t>(std::lround(rate * 10'000))});
  return row;
}

TEST(GoldenWorkedExamples, Union) {
  const Golden golden(testing::golden_path("worked_examples"));
  const auto expected = golden.expected("union").get_array().value();
  std::size_t at = 0;
  for (const auto rates : golden.input("union").get_array()) {
    const auto row = row_of_rates(testing::numbers(rates));
    const auto spec = spec_for(row.size(), {});
    PoolSums sums(spec);
    sums.add({row, {}});
    const auto summary = summarize(sums, spec);
    const auto want = expected.at(at++).value();
    EXPECT_NEAR(summary.union_product, testing::number(want["product"]), testing::kExact);
    EXPECT_NEAR(summary.ceiling, testing::number(want["ceiling"]), testing::kExact);
    EXPECT_NEAR(summary.premium_product, testing::number(want["premium"]), testing::kExact);
    EXPECT_NEAR(summary.frechet_upper, testing::number(want["frechet"].at(1)), testing::kExact);
    EXPECT_NEAR(summary.ceiling, testing::number(want["frechet"].at(0)), testing::kExact);
  }
}

TEST(GoldenWorkedExamples, OnePremiumThreeShares) {
  const Golden golden(testing::golden_path("worked_examples"));
  const auto input = golden.input("share_vs_router");
  const auto row = row_of_rates(testing::numbers(input["rates"].at(0)));
  const auto spec = spec_for(row.size(), {});
  PoolSums sums(spec);
  sums.add({row, {}});
  const auto summary = summarize(sums, spec);
  const auto expected = golden.expected("share_vs_router").get_array().value();
  std::size_t at = 0;
  for (const double q : testing::numbers(input["q"])) {
    expect_split(split_gap(summary, "product", "router", q), expected.at(at++));
  }
}

}  // namespace
}  // namespace gapwatch::stats
