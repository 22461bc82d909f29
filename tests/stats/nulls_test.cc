#include "stats/nulls.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <numeric>

#include "base/random.h"
#include "stats/gaussian_null.h"
#include "stats/margin_chain.h"
#include "stats/null_classes.h"
#include "stats/redeal_sampler.h"
#include "tests/support/tables.h"

namespace gapwatch::stats {
namespace {

using testing::policy_names;

const std::vector<double> kTaus{0.05, 0.1, 0.2, 0.3};

// Prompts of Beta(0.6, 1.4) difficulty; policy m's logit is shifted by m * shift.
CountTable simulated(std::size_t prompts, std::size_t policies, std::uint32_t trials, double shift = 0,
                     bool uneven = false) {
  CounterRandom random(11);
  CountTable table;
  table.policies = policy_names(policies);
  for (std::size_t i = 0; i < prompts; ++i) {
    const double p = beta_draw(random, 0.6, 1.4), logit = std::log(p / (1 - p));
    for (std::size_t m = 0; m < policies; ++m) {
      const double rate = 1 / (1 + std::exp(-logit - shift * static_cast<double>(m)));
      const auto n = uneven ? trials - static_cast<std::uint32_t>(m % 3) : trials;
      table.cells.push_back({n, binomial_draw(random, n, rate)});
    }
  }
  return table;
}

void for_each_comparison(const NullResults& results,
                         const std::function<void(const NullComparison&)>& visit) {
  const auto both = [&](const BothNulls& nulls) {
    if (nulls.redeal) visit(*nulls.redeal);
    if (nulls.margin) visit(*nulls.margin);
  };
  for (const auto& at : results.thresholds) {
    both(at.gap);
    both(at.disagreement);
    both(at.rise);
    if (at.oracle_minus_mixture) visit(*at.oracle_minus_mixture);
  }
  both(results.pass_at_1_gap);
}

void expect_defined(const NullResults& results, std::size_t at_least) {
  std::size_t seen = 0;
  for_each_comparison(results, [&](const NullComparison& c) {
    ++seen;
    for (const double x : {c.observed, c.mean, c.p05, c.p95, c.excess})
      EXPECT_TRUE(std::isfinite(x)) << c.method;
    for (const double p : {c.p_upper, c.p_lower, c.fraction_upper, c.fraction_lower}) {
      EXPECT_TRUE(p >= 0 && p <= 1 + 1e-9) << c.method << ' ' << p;
    }
    EXPECT_LE(c.p05, c.p95);
    if (c.excess_interval) {
      EXPECT_TRUE(std::isfinite(c.excess_interval->low) && std::isfinite(c.excess_interval->high));
      EXPECT_LE(c.excess_interval->low, c.excess_interval->high);
    }
    EXPECT_FALSE(c.method.empty());
  });
  EXPECT_GE(seen, at_least);
}

NullResults compare(const CountTable& table, NullOptions options = {}) {
  InlineExecutor executor;
  return compare_with_nulls(table, kTaus, options, executor);
}

std::vector<double> flatten(const NullResults& results) {
  std::vector<double> out;
  for_each_comparison(results, [&](const NullComparison& c) {
    out.insert(out.end(), {c.observed, c.mean, c.p05, c.p95, c.p_upper, c.p_lower});
    if (c.excess_interval) out.insert(out.end(), {c.excess_interval->low, c.excess_interval->high});
  });
  return out;
}

TEST(Nulls, AnyNumberOfThreadsGivesTheSameNumbers) {
  const auto table = simulated(60, 4, 8, 0.3, true);
  const NullOptions options{300, 100};
  const auto alone = flatten(compare(table, options));
  for (const std::size_t threads : {2, 5}) {
    const auto executor = make_thread_executor(threads);
    EXPECT_EQ(flatten(compare_with_nulls(table, kTaus, options, *executor)), alone) << threads;
  }
}

TEST(Nulls, TheOrderOfPromptsDoesNotMoveTheRedeal) {
  auto table = simulated(40, 3, 6);
  const NullOptions options{200, 0};
  const auto before = compare(table, options);
  for (std::size_t m = 0; m < 3; ++m) std::swap(table.cells[m], table.cells[39 * 3 + m]);
  const auto after = compare(table, options);
  EXPECT_EQ(before.thresholds[1].gap.redeal->mean, after.thresholds[1].gap.redeal->mean);
  EXPECT_EQ(before.pass_at_1_gap.redeal->p_upper, after.pass_at_1_gap.redeal->p_upper);
}

TEST(Nulls, DegenerateTablesGetDefinedAnswers) {
  const NullOptions options{50, 20};
  const auto all_equal = [](std::size_t prompts, std::size_t policies, CellCount cell) {
    CountTable table;
    table.policies = policy_names(policies);
    table.cells.assign(prompts * policies, cell);
    return table;
  };
  EXPECT_FALSE(compare(CountTable{}, options).thresholds[0].gap.redeal.has_value());
  EXPECT_FALSE(compare(all_equal(0, 3, {}), options).pass_at_1_gap.margin.has_value());
  expect_defined(compare(all_equal(1, 1, {5, 2}), options), 10);
  expect_defined(compare(all_equal(30, 1, {5, 2}), options), 10);
  expect_defined(compare(all_equal(1, 4, {5, 2}), options), 18);
  expect_defined(compare(all_equal(20, 4, {5, 0}), options), 18);
  expect_defined(compare(all_equal(20, 4, {5, 5}), options), 18);
  expect_defined(compare(all_equal(20, 4, {5, 3}), options), 18);
  expect_defined(compare(all_equal(20, 4, {0, 0}), options), 18);
  expect_defined(compare(all_equal(20, 4, {1, 1}), options), 18);
  expect_defined(compare(all_equal(3, 200, {1, 0}), options), 18);
}

// A single prompt fixes all margins but the policies' own: under the margin law nothing can move.
TEST(Nulls, OnePromptCannotMoveUnderItsMargins) {
  CountTable table;
  table.policies = policy_names(3);
  table.cells = {{4, 3}, {4, 1}, {4, 0}};
  const auto results = compare(table, {100, 20});
  EXPECT_EQ(results.thresholds[2].gap.margin->mean, results.thresholds[2].gap.margin->observed);
  EXPECT_EQ(results.thresholds[2].gap.margin->p_upper, 1);
}

TEST(Nulls, TwoHundredPoliciesAndTrialsOfEverySizeStayDefined) {
  CounterRandom random(5);
  CountTable table;
  table.policies = policy_names(200);
  for (std::size_t i = 0; i < 12 * 200; ++i) table.cells.push_back({4, binomial_draw(random, 4, 0.3)});
  expect_defined(compare(table, {60, 10}), 18);

  CountTable wide;
  wide.policies = policy_names(4);
  for (const std::uint32_t n : {1u, 7u, 1'500u, 100'000u}) {
    for (const double rate : {0.001, 0.3, 0.999}) {
      for (int m = 0; m < 4; ++m) {
        wide.cells.push_back({n, static_cast<std::uint32_t>(std::lround(rate * n))});
      }
    }
  }
  wide.cells.push_back({1, 1});
  wide.cells.push_back({100'000, 3});
  wide.cells.push_back({33, 12});
  wide.cells.push_back({1'030, 1'030});
  expect_defined(compare(wide, {60, 10}), 18);
}

TEST(Nulls, OneSuccessNeededKeepsTheOracleConstantUnderBothLaws) {
  const auto table = simulated(50, 4, 10);
  const auto classes = classify_prompts(table);
  const std::vector<double> tau{0.05};
  const auto spec = make_score_spec(classes, tau);
  InlineExecutor executor;
  const auto redeal = sample_redeal(classes, spec, 200, 1, executor);
  MarginChainOptions how;
  how.samples = 200;
  const auto margin = sample_margin(table, classes, spec, how, executor);
  const auto observed = statistics_of(observed_score(spec, table, classes), 4, 50);
  for (const auto x : redeal.oracle[0]) EXPECT_EQ(x, observed.oracle[0]);
  for (const auto x : margin.samples.oracle[0]) EXPECT_EQ(x, observed.oracle[0]);
}

// Naive: enumerate every way to deal S successes to the policies' trials.
void enumerate(const std::vector<std::uint32_t>& trials, std::uint32_t left,
               std::vector<std::uint32_t>& counts, double weight, const std::function<void(double)>& visit) {
  if (counts.size() == trials.size()) {
    if (left == 0) visit(weight);
    return;
  }
  const std::uint32_t n = trials[counts.size()];
  double choose = 1;
  for (std::uint32_t c = 0; c <= std::min(n, left); ++c) {
    counts.push_back(c);
    enumerate(trials, left - c, counts, weight * choose, visit);
    counts.pop_back();
    choose = choose * (n - c) / (c + 1);
  }
}

TEST(Redeal, ProbabilitiesEqualEnumeration) {
  CounterRandom random(3);
  for (int round = 0; round < 60; ++round) {
    std::vector<std::uint32_t> trials;
    for (int m = 0; m < 4; ++m) trials.push_back(static_cast<std::uint32_t>(bounded(random, 6)));
    const TrialPattern pattern = make_pattern(trials);
    if (pattern.total == 0) continue;
    const double tau = 0.05 + 0.95 * uniform(random);
    const std::vector<std::uint64_t> totals{bounded(random, pattern.total + 1)};
    const auto found = redeal_cover_probabilities(pattern, totals, tau)[0];
    double whole = 0, any = 0, all = 0;
    std::vector<std::uint32_t> counts;
    std::vector<double> policy(trials.size(), 0.0);
    enumerate(trials, static_cast<std::uint32_t>(totals[0]), counts, 1, [&](double weight) {
      std::size_t covering = 0;
      for (std::size_t m = 0; m < trials.size(); ++m) {
        const bool hit = covers({trials[m], counts[m]}, need(tau, trials[m]));
        covering += hit ? 1 : 0;
        policy[m] += hit ? weight : 0;
      }
      whole += weight;
      any += covering > 0 ? weight : 0;
      all += covering == trials.size() ? weight : 0;
    });
    EXPECT_NEAR(found.any, any / whole, 1e-12);
    EXPECT_NEAR(found.all, all / whole, 1e-12);
    for (std::size_t m = 0; m < policy.size(); ++m) EXPECT_NEAR(found.policy[m], policy[m] / whole, 1e-12);
  }
}

// Counts drawn, against their enumerated law.
TEST(Redeal, WholePromptsAreDrawnFromTheirLaw) {
  const TrialPattern pattern = make_pattern({3, 0, 5, 2});
  const RowSampler sampler(pattern, 1, 9);
  EXPECT_TRUE(RowSampler::fits(pattern, 9));
  FastRandom random(4);
  const int draws = 200'000;
  std::map<std::vector<std::uint32_t>, double> seen;
  std::vector<std::uint32_t> drawn(4, 0);
  for (int k = 0; k < draws; ++k) {
    sampler.draw(random, 4, drawn.data());
    seen[drawn] += 1.0 / draws;
  }
  double whole = 0;
  std::map<std::vector<std::uint32_t>, double> exact;
  std::vector<std::uint32_t> counts;
  enumerate(pattern.trials, 4, counts, 1, [&](double weight) { exact[counts] += weight, whole += weight; });
  EXPECT_EQ(seen.size(), exact.size());
  for (const auto& [key, weight] : exact) {
    const double p = weight / whole;
    EXPECT_NEAR(seen[key], p, 5 * std::sqrt(p * (1 - p) / draws));
  }
}

// Trials too many for tables are drawn by inversion: the moments of the multivariate hypergeometric law, within 4.5 of the
// standard errors that nearly normal counts give. Few successes keep every draw narrow, many make it wide.
TEST(Redeal, PromptsBeyondTheTablesHaveTheMomentsOfTheirLaw) {
  const TrialPattern pattern = make_pattern({70'000, 0, 3'000, 40'000, 500});
  constexpr int kDraws = 40'000;
  for (const std::uint64_t successes : {400, 30'000, 113'000}) {
    ASSERT_FALSE(RowSampler::fits(pattern, successes));
    const RowSampler sampler(pattern, successes, successes);
    FastRandom random(6, 0, successes);
    const double t = static_cast<double>(pattern.total), rate = static_cast<double>(successes) / t;
    const auto n = [&](std::size_t m) { return static_cast<double>(pattern.trials[m]); };
    std::vector<std::uint32_t> drawn(5, 0);
    std::vector<double> mean(5, 0);
    std::vector<std::vector<double>> product(5, mean);
    for (int k = 0; k < kDraws; ++k) {
      sampler.draw(random, successes, drawn.data());
      ASSERT_EQ(std::accumulate(drawn.begin(), drawn.end(), std::uint64_t{0}), successes);
      for (std::size_t a = 0; a < 5; ++a) {
        mean[a] += (drawn[a] - n(a) * rate) / kDraws;
        for (std::size_t b = 0; b <= a; ++b) product[a][b] += (drawn[a] - n(a) * rate) * (drawn[b] - n(b) * rate) / kDraws;
      }
    }
    const auto covariance = [&](std::size_t a, std::size_t b) {
      return n(a) * ((a == b ? t : 0) - n(b)) / t * rate * (1 - rate) * t / (t - 1);
    };
    for (std::size_t a = 0; a < 5; ++a) {
      EXPECT_NEAR(mean[a], 0, 4.5 * std::sqrt(covariance(a, a) / kDraws)) << successes << " successes, policy " << a;
      for (std::size_t b = 0; b <= a; ++b) {
        const double square = covariance(a, a) * covariance(b, b) + covariance(a, b) * covariance(a, b);
        // The fourth moment of a count of few successes is that of a normal one and its mean.
        const double error = std::sqrt((square + (a == b ? covariance(a, a) : 0)) / kDraws);
        EXPECT_NEAR(product[a][b], covariance(a, b), 4.5 * error) << successes << " successes, policies " << a << ", " << b;
      }
    }
  }
}

TEST(Redeal, LargeHypergeometricNumbersHaveTheirMoments) {
  FastRandom random(8);
  const double n = 400'000, s = 120'000, d = 100'000;
  double sum = 0, square = 0;
  const int draws = 4'000;
  for (int k = 0; k < draws; ++k) {
    const double x = static_cast<double>(hypergeometric_draw(random, 400'000, 120'000, 100'000)) - d * s / n;
    sum += x / draws;
    square += x * x / draws;
  }
  const double variance = d * (s / n) * (1 - s / n) * (n - d) / (n - 1);
  EXPECT_NEAR(sum, 0, 5 * std::sqrt(variance / draws));
  EXPECT_NEAR(square / variance, 1, 5 * std::sqrt(2.0 / draws));
}

TEST(Redeal, PoissonBinomialTailsEqualTheBinomialAndTheirDefinition) {
  const PoissonBinomial::Group fair[] = {{0.5, 10}};
  const PoissonBinomial ten(fair);
  EXPECT_NEAR(ten.upper(8), 56.0 / 1024, 1e-14);
  EXPECT_NEAR(ten.lower(2), 56.0 / 1024, 1e-14);
  EXPECT_EQ(ten.quantile(0.5), 5);
  const PoissonBinomial::Group mixed[] = {{0.2, 1}, {0.7, 1}, {1, 2}, {0, 5}};
  const PoissonBinomial three(mixed);
  EXPECT_NEAR(three.probability(2), 0.8 * 0.3, 1e-15);
  EXPECT_NEAR(three.probability(4), 0.2 * 0.7, 1e-15);
  EXPECT_EQ(three.upper(5), 0);
  EXPECT_EQ(PoissonBinomial().upper(0), 1);
  // A million prompts: the tail of a normal law, with its continuity correction.
  const PoissonBinomial::Group many[] = {{0.3, 400'000}, {0.01, 300'000}, {0.5, 300'000}};
  const PoissonBinomial large(many);
  const double sd = std::sqrt(large.variance()), at = std::round(large.mean() + 2 * sd);
  EXPECT_NEAR(large.upper(static_cast<std::int64_t>(at)),
              0.5 * std::erfc((at - 0.5 - large.mean()) / (sd * std::sqrt(2.0))), 5e-5);
}

// Printed digits of the design's test vectors, by brute force there.
TEST(GaussianNull, MomentsOfOnePromptEqualTheTestVectors) {
  const TrialPattern pattern = make_pattern({6, 5, 4});
  const std::vector<std::uint64_t> total{3};
  const std::vector<double> tau{0.3};  // two successes for each
  const auto plain = prompt_moments(pattern, total, tau, {}, MomentSet::kAll)[0];
  const double kPrinted = 5e-9;
  EXPECT_NEAR(1 - plain.oracle[0], 0.26373626, kPrinted);
  const double mean[] = {0.39560440, 0.49450549, 0.58241758},
               covariance[] = {0.23910156, -0.04178239, 0.01135129};
  for (int m = 0; m < 3; ++m) {
    EXPECT_NEAR(plain.gap[0].mean[m], mean[m], kPrinted);
    EXPECT_NEAR(plain.gap[0].covariance[m], covariance[m], kPrinted);
  }
  const std::vector<double> weights{std::log(1.5), 0, std::log(0.7)};
  const auto tilted = prompt_moments(pattern, total, tau, weights, MomentSet::kAll)[0];
  EXPECT_NEAR(1 - tilted.oracle[0], 0.20086660, kPrinted);
  const double tilted_mean[] = {0.27185859, 0.59507845, 0.73132977},
               counts[] = {1.54868145, 0.91737050, 0.53394805};
  for (int m = 0; m < 3; ++m) {
    EXPECT_NEAR(tilted.gap[0].mean[m], tilted_mean[m], kPrinted);
    EXPECT_NEAR(tilted.count_mean[m], counts[m], kPrinted);
  }
}

TEST(GaussianNull, TheTiltReproducesThePolicyTotals) {
  const auto table = simulated(200, 5, 12, 0.4, true);
  const auto classes = classify_prompts(table);
  std::vector<std::uint64_t> totals(5, 0);
  for (std::size_t i = 0; i < 200; ++i) {
    if (classes.degenerate(classes.classes[classes.class_of_row[i]])) continue;
    for (std::size_t m = 0; m < 5; ++m) totals[m] += table.row(i)[m].successes;
  }
  InlineExecutor executor;
  const auto tilt = fit_margin_tilt(classes, totals, executor);
  ASSERT_TRUE(tilt.has_value());
  const auto moments = class_moments(classes, kTaus, tilt->log_weights, MomentSet::kCountsOnly, executor);
  std::vector<double> expected(5, 0.0);
  for (std::size_t k = 0; k < moments.size(); ++k) {
    for (std::size_t m = 0; m < moments[k].count_mean.size(); ++m) {
      expected[m] += static_cast<double>(classes.classes[k].prompts) * moments[k].count_mean[m];
    }
  }
  for (std::size_t m = 0; m < 5; ++m) EXPECT_NEAR(expected[m], static_cast<double>(totals[m]), 1e-4);
}

// What the normal approximation costs, against samples of the law itself: `bias` of the law's standard deviations in the mean
// and at the quantiles, where one step of the lattice comes on top, and a tenth of p. Beyond that 4.5 standard errors of the
// samples, `time` of which count as one: a mean's is one deviation, a 5% point's sqrt(.05 * .95) / 0.103 = 2.1 of them.
void expect_close(const NullComparison& normal, const NullComparison& sampled, double time, double bias, double step,
                  const std::string& what) {
  EXPECT_EQ(normal.method, "gaussian") << what;
  EXPECT_EQ(sampled.method, "monte-carlo") << what;
  const double sd = (sampled.p95 - sampled.p05) / 3.29, error = 4.5 * std::sqrt(time / static_cast<double>(sampled.samples));
  EXPECT_NEAR(normal.mean, sampled.mean, (bias + error) * sd) << what;
  EXPECT_NEAR(normal.p05, sampled.p05, (bias + 2.1 * error) * sd + step) << what;
  EXPECT_NEAR(normal.p95, sampled.p95, (bias + 2.1 * error) * sd + step) << what;
  const double p = sampled.p_upper;
  EXPECT_NEAR(normal.p_upper, p, 0.1 * p + error * std::sqrt(p * (1 - p))) << what;
}

TEST(GaussianNull, AgreesWithSamplesOfBothLaws) {
  constexpr std::size_t kPrompts = 400;
  for (const bool uneven : {false, true}) {
    const auto table = simulated(kPrompts, 5, 12, 0.25, uneven);
    NullOptions sampled{20'000, 0}, normal{3'000, 0};
    sampled.redeal = sampled.margin = NullRoute::kSampled;
    normal.redeal = normal.margin = NullRoute::kGaussian;
    const auto by_samples = compare(table, sampled), by_moments = compare(table, normal);
    const double time = by_samples.chain.autocorrelation_time, step = 1.0 / kPrompts;
    for (std::size_t t = 0; t < kTaus.size(); ++t) {
      const auto what = "tau " + std::to_string(kTaus[t]) + (uneven ? " uneven" : " even");
      const auto &a = by_moments.thresholds[t], &b = by_samples.thresholds[t];
      expect_close(*a.gap.redeal, *b.gap.redeal, 1, 0.03, step, what + " L redeal");
      expect_close(*a.gap.margin, *b.gap.margin, time, 0.03, step, what + " L margin");
      expect_close(*a.disagreement.margin, *b.disagreement.margin, time, 0.03, step, what + " D margin");
    }
    // It forgets half as fast, is farther from normal, and has values far closer than a prompt.
    const auto &a = by_moments.pass_at_1_gap, &b = by_samples.pass_at_1_gap;
    expect_close(*a.redeal, *b.redeal, 1, 0.03, 0.01 * step, "pass@1 redeal");
    expect_close(*a.margin, *b.margin, 2 * time, 0.06, 0.01 * step, "pass@1 margin");
  }
}

TEST(Nulls, LargeTablesTakeTheNormalRouteAndSayso) {
  const auto table = simulated(6'000, 6, 8);
  const auto results = compare(table, {2'000, 50});
  EXPECT_EQ(results.thresholds[1].gap.redeal->method, "gaussian");
  EXPECT_EQ(results.thresholds[1].gap.margin->method, "gaussian");
  EXPECT_EQ(results.thresholds[1].disagreement.redeal->method, "exact");
  EXPECT_EQ(results.thresholds[1].oracle_minus_mixture->method, "exact");
  EXPECT_FALSE(results.thresholds[1].rise.redeal.has_value());
  expect_defined(results, 18);
}

}  // namespace
}  // namespace gapwatch::stats
