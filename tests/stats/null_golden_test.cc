// Both null laws against the golden files (tests/golden/README.md): an independent reference's simulations,
// with their standard errors, and laws by enumeration.
#include "tests/support/null_golden.h"

namespace gapwatch::testing {
namespace {

class NullGolden : public ::testing::TestWithParam<const char*> {};

TEST_P(NullGolden, SamplesAgreeWithinFourStandardErrors) {
  const Golden golden(golden_path(GetParam()));
  expect_golden_samples(golden, table_of(golden), 20'000, 8'000);
}

TEST_P(NullGolden, ExactProbabilitiesAndMomentsAgree) {
  const Golden golden(golden_path(GetParam()));
  const auto taus = numbers(golden.input("taus"));
  const SampledLaw complete(complete_rows(table_of(golden), {}), taus);
  expect_golden_exact(complete, golden.expected("redeal_exact"), 100'000);
  if (!golden.expects("redeal_exact_missing_as_fail")) return;
  const SampledLaw missing(complete_rows(table_of(golden), {1, true}), taus);
  expect_golden_exact(missing, golden.expected("redeal_exact_missing_as_fail"), 100'000);
}

TEST_P(NullGolden, BootstrapIntervalsOfTheExcessAgree) {
  const Golden golden(golden_path(GetParam()));
  const auto taus = numbers(golden.input("taus"));
  const SampledLaw law(complete_rows(table_of(golden), {}), taus);
  const auto executor = make_thread_executor(2);
  const auto moments = class_moments(law.classes, taus, {}, stats::MomentSet::kAll, *executor);
  const std::uint32_t replicates = 4'000;
  const auto found =
      bootstrap_excess(law.table, law.classes, taus, moments, {}, {replicates, 0.95, 1}, *executor);
  for (std::size_t t = 0; t < taus.size(); ++t) {
    for (const auto [name, value] : golden.root["monte_carlo"].get_object()) {
      const GoldenKey key = parse_key(std::string(name));
      if (key.law != "bootstrap_excess_gauss_null" || tau_index(taus, key.tau) != t || key.functional == "sd")
        continue;
      const double mean = number(value["mean"]), se = number(value["se"]);
      // The 2.5% point of a normal law has 2.7 sd / sqrt(replicates) of error; sd = width / 3.92. Few prompts
      // make the bootstrap law a lattice of its own: half a prompt more.
      const double width = found.gap[t]->high - found.gap[t]->low;
      const double own = 2.7 * width / 3.92 / std::sqrt(replicates);
      const double value_found = key.functional == "lo" ? found.gap[t]->low : found.gap[t]->high;
      EXPECT_NEAR(value_found, mean, 4 * std::sqrt(own * own + se * se) + 0.5 / law.prompts()) << name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Files, NullGolden, ::testing::ValuesIn(kTableFiles),
                         [](const auto& file) { return std::string(file.param); });

TEST(NullGolden, TheHandTableFollowsBothEnumeratedLaws) {
  const Golden golden(golden_path("hand_6x3x4"));
  const auto taus = numbers(golden.input("taus"));
  InlineExecutor executor;
  SampledLaw redeal(table_of(golden), taus), margin(table_of(golden), taus);
  redeal.redeal(100'000, executor);
  margin.margin(40'000, executor);
  expect_golden_joint(redeal, golden.expected("redeal_joint_exact"));
  expect_golden_joint(margin, golden.expected("margin_joint_exact"));
}

TEST(NullGolden, EdgeCasesHaveTheirExactProbabilities) {
  const Golden golden(golden_path("edge_cases"));
  std::size_t k = 0, judged = 0;
  for (const auto input : golden.input("cases").get_array()) {
    const auto expected = golden.expected("cases").at(k++).value();
    if (expected["redeal_exact"].error() != simdjson::SUCCESS) continue;
    const SampledLaw law(table_of(input), numbers(input["taus"]));  // rows without any trial included
    expect_golden_exact(law, expected["redeal_exact"], 100'000);
    ++judged;
  }
  EXPECT_GE(judged, 10u);
}

// Three missing cells on a diagonal: no 2 x 2 move is possible, and the exact p of L is 1/33.
TEST(NullGolden, TheChainConnectsTablesThatTwoByTwoMovesCannot) {
  const Golden golden(golden_path("edge_cases"));
  const auto input = golden.input("cases").at(11).value(), expected = golden.expected("cases").at(11).value();
  ASSERT_TRUE(expected["chain_is_stuck"].get_bool().value());
  InlineExecutor executor;
  SampledLaw law(complete_rows(table_of(input), {1, true}), numbers(input["taus"]));
  EXPECT_TRUE(needs_long_cycles(law.classes));
  law.margin(40'000, executor);
  const auto exact = expected["margin_joint_exact"];
  for (const char* name : {"L", "D", "orac"}) {
    const GoldenKey key{"", name, "p_upper", ""};
    law.expect(key, 0, number(exact[name]["p_upper"]), 0, name);
    law.expect({"", name, "mean", ""}, 0, number(exact[name]["mean"]), 0, name);
  }
}

}  // namespace
}  // namespace gapwatch::testing
