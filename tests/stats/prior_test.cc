#include "stats/prior.h"

#include <cmath>

#include "tests/support/golden.h"

namespace gapwatch::stats {
namespace {

using testing::Golden;
using testing::number;

void expect_moments(const FittedPrior& fit, simdjson::dom::element want) {
  EXPECT_EQ(fit.identified, want["identified"].get_bool().value());
  EXPECT_NEAR(fit.prior.alpha, number(want["alpha"]), testing::kExact);
  EXPECT_NEAR(fit.prior.beta, number(want["beta"]), testing::kExact);
}

// 1e-6 relative (tests/golden/README.md).
void expect_likelihood(const FittedPrior& fit, simdjson::dom::element want) {
  const double alpha = number(want["alpha"]), beta = number(want["beta"]);
  EXPECT_NEAR(fit.prior.alpha, alpha, 1e-6 * alpha);
  EXPECT_NEAR(fit.prior.beta, beta, 1e-6 * beta);
  EXPECT_NEAR(fit.log_likelihood, number(want["loglik"]), 1e-6 * std::abs(number(want["loglik"])));
}

class GoldenPrior : public ::testing::TestWithParam<const char*> {};

TEST_P(GoldenPrior, Moments) {
  const Golden golden(testing::golden_path(GetParam()));
  expect_moments(fit_moments(testing::table_of(golden)), golden.expected("prior_moments"));
}

TEST_P(GoldenPrior, Likelihood) {
  const Golden golden(testing::golden_path(GetParam()));
  expect_likelihood(fit_likelihood(testing::table_of(golden)), golden.expected("prior_mle"));
}
INSTANTIATE_TEST_SUITE_P(Files, GoldenPrior, ::testing::ValuesIn(testing::kTableFiles));

TEST(GoldenEdgeCases, Priors) {
  const Golden golden(testing::golden_path("edge_cases"));
  const auto cases = golden.root["input"]["cases"].get_array().value();
  const auto expected = golden.root["expected"]["cases"].get_array().value();
  for (std::size_t c = 0; c < cases.size(); ++c) {
    SCOPED_TRACE(std::string(cases.at(c)["about"].get_string().value()));
    const auto table = testing::table_of(cases.at(c).value());
    simdjson::dom::element want;
    if (expected.at(c)["prior_moments"].get(want) != simdjson::SUCCESS) continue;
    expect_moments(fit_moments(table), want);
    const auto likelihood = expected.at(c)["prior_mle"].value();
    // With one trial a cell the likelihood has no maximum; the reference stops where it stops.
    const bool one_trial = c == 0;
    if (likelihood["converged"].get_bool().value() && !one_trial) expect_likelihood(fit_likelihood(table), likelihood);
  }
}

TEST(Prior, NothingToFitFallsBack) {
  EXPECT_FALSE(fit_moments({}).identified);
  CountTable one;
  one.policies = {"a"};
  one.cells = {{10, 3}};
  for (const auto& fit : {fit_moments(one), fit_likelihood(one)}) {
    EXPECT_FALSE(fit.identified);
    EXPECT_EQ(fit.prior.alpha, 0.5);
    EXPECT_EQ(fit.prior.beta, 0.5);
  }
}

TEST(Prior, OneTrialACellStaysFinite) {
  CountTable table;
  table.policies = {"a", "b"};
  table.cells = {{1, 1}, {1, 0}, {1, 0}, {1, 0}};
  const auto fit = fit_likelihood(table);
  EXPECT_TRUE(std::isfinite(fit.prior.alpha) && fit.prior.alpha > 0);
  EXPECT_TRUE(std::isfinite(fit.prior.beta) && fit.prior.beta > 0);
}

TEST(Prior, ResolvesWhatTheSettingSays) {
  const auto table = testing::random_table({.prompts = 40, .policies = 3, .trials_from = 4}, 11);
  EXPECT_EQ(resolve_prior({config::PriorKind::kUniform, 7, 7}, table).prior.alpha, 1);
  EXPECT_EQ(resolve_prior({config::PriorKind::kJeffreys, 7, 7}, table).prior.beta, 0.5);
  EXPECT_EQ(resolve_prior({config::PriorKind::kGiven, 2, 7}, table).prior.beta, 7);
  EXPECT_EQ(resolve_prior({config::PriorKind::kMoments, 2, 7}, table).prior.alpha, fit_moments(table).prior.alpha);
  EXPECT_EQ(resolve_prior({config::PriorKind::kLikelihood, 2, 7}, table).prior.alpha,
            fit_likelihood(table).prior.alpha);
}

}  // namespace
}  // namespace gapwatch::stats
