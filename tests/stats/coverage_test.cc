#include "stats/coverage.h"

#include "stats/prior.h"
#include "tests/support/golden.h"

namespace gapwatch::stats {
namespace {

using testing::Golden;
using testing::number;

class GoldenCoverage : public ::testing::TestWithParam<const char*> {};

void expect_area(const BandArea& area, simdjson::dom::element want) {
  const auto members = testing::numbers(want["members"]);
  ASSERT_EQ(area.policy.size(), members.size());
  for (std::size_t m = 0; m < members.size(); ++m) EXPECT_NEAR(area.policy[m], members[m], testing::kExact);
  EXPECT_NEAR(area.best, number(want["best"]), testing::kExact);
  EXPECT_EQ(area.best_policy, want["best_member"].get_uint64().value());
  EXPECT_NEAR(area.oracle, number(want["oracle"]), testing::kExact);
  EXPECT_NEAR(area.mixture, number(want["mixture"]), testing::kExact);
}

TEST_P(GoldenCoverage, AreasOverTheBand) {
  const Golden golden(testing::golden_path(GetParam()));
  const auto table = testing::table_of(golden);
  const auto rows = complete_rows(table, {});
  const auto band = testing::numbers(golden.input("band"));
  expect_area(band_area(rows, band[0], band[1]), golden.expected("rauc_raw"));
  expect_area(band_area(rows, band[0], band[1], fit_moments(table).prior), golden.expected("rauc_posterior_moments"));
}

TEST_P(GoldenCoverage, FloorAndCoverageAtEveryThreshold) {
  const Golden golden(testing::golden_path(GetParam()));
  const auto rows = complete_rows(testing::table_of(golden), {});
  for (const auto field : golden.expected("coverage").get_object()) {
    const double tau = std::stod(std::string(field.key));
    SCOPED_TRACE(std::string(field.key));
    const auto at = coverage_at(rows, tau);
    EXPECT_NEAR(at->gap, number(field.value["L"]), testing::kExact);
    EXPECT_NEAR(at->disagreement, number(field.value["D"]), testing::kExact);
    EXPECT_NEAR(at->mixture, number(field.value["C_mix"]), testing::kExact);
    const auto floor = mixing_floor(rows, tau);
    EXPECT_NEAR(floor->floor, number(field.value["floor_C_orac_Mtau"]), testing::kExact);
    EXPECT_NEAR(floor->certificate, floor->floor - at->best, testing::kExact);
    EXPECT_LE(floor->floor, at->mixture + 1e-12) << "the floor is a floor";
  }
}
INSTANTIATE_TEST_SUITE_P(Files, GoldenCoverage, ::testing::ValuesIn(testing::kTableFiles));

TEST(GoldenEdgeCases, Floor) {
  const Golden golden(testing::golden_path("edge_cases"));
  const auto cases = golden.root["input"]["cases"].get_array().value();
  const auto expected = golden.root["expected"]["cases"].get_array().value();
  for (std::size_t c = 0; c < cases.size(); ++c) {
    simdjson::dom::element block;
    if (expected.at(c)["coverage"].get(block) != simdjson::SUCCESS) continue;
    const auto rows = complete_rows(testing::table_of(cases.at(c).value()), {});
    for (const auto field : block.get_object()) {
      const auto floor = mixing_floor(rows, std::stod(std::string(field.key)));
      if (!floor) continue;
      EXPECT_NEAR(floor->floor, number(field.value["floor_C_orac_Mtau"]), testing::kExact) << c;
    }
  }
}

TEST(GoldenWorkedExamples, AreaOfRates) {
  const Golden golden(testing::golden_path("worked_examples"));
  const auto rates = testing::numbers(golden.input("rauc")["rates"]);
  CountTable table;
  table.policies = {"a"};
  for (const double rate : rates) table.cells.push_back({16, static_cast<std::uint32_t>(rate * 16)});
  std::size_t at = 0;
  const auto expected = testing::numbers(golden.expected("rauc"));
  for (const auto band : golden.input("rauc")["bands"].get_array()) {
    EXPECT_NEAR(band_area(table, number(band.at(0)), number(band.at(1))).best, expected[at++], testing::kExact);
  }
}

TEST(GoldenWorkedExamples, MixtureOfUnevenTrialsIsUniformOverPolicies) {
  const Golden golden(testing::golden_path("worked_examples"));
  const auto input = golden.input("mixture_uneven");
  const auto table = testing::table_of(input);
  EXPECT_EQ(coverage_at(table, number(input["tau"]))->mixture, number(golden.expected("mixture_uneven")["C_mix"]));
}

TEST(Coverage, AgreesWithTheRunningSums) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    auto table = testing::random_table({.prompts = 30, .policies = 1 + seed % 5}, seed);
    const Completeness rule{.min_trials = 1, .missing_as_fail = seed % 2 == 0};
    SumsSpec spec;
    spec.pool_size = table.pool_size();
    spec.thresholds = {0.1, 0.5, 1.0};
    spec.completeness = rule;
    const auto summary = summarize(sum_table(table, spec), spec);
    const auto rows = complete_rows(table, rule);
    for (std::size_t t = 0; t < spec.thresholds.size(); ++t) {
      const auto at = coverage_at(rows, spec.thresholds[t]);
      EXPECT_EQ(at->gap, summary.coverage[t].gap);
      EXPECT_EQ(at->mixture, summary.coverage[t].mixture);
      EXPECT_EQ(at->policy, summary.coverage[t].policy);
      EXPECT_EQ(at->break_even_error, summary.coverage[t].break_even_error);
    }
  }
}

TEST(Coverage, PosteriorCoverageIsThatOfPosteriorMeans) {
  const auto table = testing::random_table({.prompts = 50, .policies = 4, .trials_from = 1}, 5);
  const BetaPrior prior{0.4, 1.3};
  for (const double tau : {0.05, 0.2, 0.5, 0.9}) {
    std::size_t covered = 0;
    for (std::size_t i = 0; i < table.prompt_count(); ++i) {
      bool some = false;
      for (const auto cell : table.row(i)) some |= posterior_mean(cell, prior) >= tau - 1e-9;
      covered += some;
    }
    EXPECT_DOUBLE_EQ(coverage_at(table, tau, prior)->oracle, static_cast<double>(covered) / 50);
  }
}

TEST(Coverage, NoRowHasNoCoverage) {
  CountTable empty;
  empty.policies = {"a", "b"};
  EXPECT_FALSE(coverage_at(empty, 0.5));
  EXPECT_FALSE(mixing_floor(empty, 0.5));
  EXPECT_EQ(band_area(empty, 0.1, 0.2).prompts, 0u);
}

}  // namespace
}  // namespace gapwatch::stats
