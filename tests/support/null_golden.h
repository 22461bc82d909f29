// Both null laws against one golden file: samples, exact parts and normal approximation.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/executor.h"
#include "stats/gaussian_null.h"
#include "stats/margin_chain.h"
#include "stats/null_bootstrap.h"
#include "stats/redeal.h"
#include "tests/support/null_checks.h"

namespace gapwatch::testing {

// A table, its laws sampled once, and what was observed.
struct SampledLaw {
  stats::CountTable table;
  stats::PromptClasses classes;
  stats::ScoreSpec spec;
  stats::TableStatistics observed;
  std::optional<stats::NullSamples> samples;
  SampleQuality quality;

  SampledLaw(stats::CountTable complete, const std::vector<double>& taus)
      : table(std::move(complete)),
        classes(stats::classify_prompts(table)),
        spec(stats::make_score_spec(classes, taus)),
        observed(statistics_of(observed_score(spec, table, classes), classes.pool_size, classes.prompts)) {}

  void redeal(std::uint32_t replicates, Executor& executor) {
    samples = stats::sample_redeal(classes, spec, replicates, 1, executor);
  }
  void margin(std::uint32_t replicates, Executor& executor) {
    stats::MarginChainOptions how;
    how.samples = replicates;
    auto chain = stats::sample_margin(table, classes, spec, how, executor);
    samples = std::move(chain.samples);
    quality.autocorrelation_time = chain.autocorrelation_time;
  }

  double prompts() const { return static_cast<double>(classes.prompts); }

  void expect(const GoldenKey& key, std::size_t t, double mean, double se, const std::string& what) const {
    const auto judge = [&](const auto& of_samples, const auto& of_observed) {
      expect_functional(of_samples[t], of_observed[t], prompts(), key.functional, mean, se, what, quality);
    };
    if (key.statistic == "L") judge(samples->gap, observed.gap);
    if (key.statistic == "D") judge(samples->disagreement, observed.disagreement);
    if (key.statistic == "orac") judge(samples->oracle, observed.oracle);
    if (key.statistic == "best") judge(samples->best, observed.best);
    if (key.statistic == "gap") judge(samples->oracle_minus_mixture, observed.oracle_minus_mixture);
    if (key.statistic == "pass1_gap") {
      expect_functional(samples->pass_at_1_gap, observed.pass_at_1_gap,
                        prompts() * static_cast<double>(spec.scale), key.functional, mean, se, what, quality);
    }
  }

  void expect_rise(const GoldenKey& key, std::size_t t, double mean, double se,
                   const std::string& what) const {
    const double pool = static_cast<double>(classes.pool_size);
    expect_functional(samples->rise[t], observed.rise[t], prompts() * pool * (pool - 1) / 2, key.functional,
                      mean, se, what, quality);
  }
};

inline std::size_t tau_index(const std::vector<double>& taus, std::string_view text) {
  const double tau = std::stod(std::string(text));
  return static_cast<std::size_t>(std::find(taus.begin(), taus.end(), tau) - taus.begin());
}

// Every monte_carlo and monte_carlo_pmf key of the null laws.
inline void expect_golden_samples(const Golden& golden, const stats::CountTable& table,
                                  std::uint32_t redeal_samples, std::uint32_t margin_samples) {
  const auto taus = numbers(golden.input("taus"));
  const auto executor = make_thread_executor(2);
  const stats::Completeness complete, as_fail{1, true};
  SampledLaw redeal(complete_rows(table, complete), taus), margin(complete_rows(table, complete), taus);
  SampledLaw missing(complete_rows(table, as_fail), taus);
  redeal.redeal(redeal_samples, *executor);
  margin.margin(margin_samples, *executor);
  missing.redeal(redeal_samples, *executor);
  std::size_t judged = 0;
  for (const auto [name, value] : golden.root["monte_carlo"].get_object()) {
    const GoldenKey key = parse_key(std::string(name));
    const double mean = number(value["mean"]), se = number(value["se"]);
    const std::size_t t = key.tau.empty() ? 0 : tau_index(taus, key.tau);
    const std::string what(name);
    if (key.law == "redeal") redeal.expect(key, t, mean, se, what), ++judged;
    if (key.law == "margin") margin.expect(key, t, mean, se, what), ++judged;
    if (key.law == "redeal_missing_as_fail") missing.expect(key, t, mean, se, what), ++judged;
    if (key.law == "rise") redeal.expect_rise(key, t, mean, se, what), ++judged;
  }
  EXPECT_GT(judged, 200u);
  if (golden.root["monte_carlo_pmf"].error() != simdjson::SUCCESS) return;
  for (const auto [name, law] : golden.root["monte_carlo_pmf"].get_object()) {
    const std::string what(name);
    const auto tau = what.substr(what.find('@') + 1);
    const bool is_margin = what.starts_with("margin");
    if (!is_margin && !what.starts_with("redeal.")) continue;
    const SampledLaw& sampled = is_margin ? margin : redeal;
    const auto values = numbers(law["times_n"]), masses = numbers(law["prob"]);
    for (std::size_t k = 0; k < values.size(); ++k) {
      const double count = 2e5, se = std::sqrt(masses[k] * (1 - masses[k]) / count * (is_margin ? 1.5 : 1));
      expect_functional(sampled.samples->gap[tau_index(taus, tau)], static_cast<std::int64_t>(values[k]), 1,
                        "p_equal", masses[k], se, what, sampled.quality);
    }
  }
}

// One entry of redeal_exact, at golden precision.
inline void expect_golden_tails(const stats::PoissonBinomial& law, std::int64_t observed, double prompts,
                                simdjson::dom::element expected, const std::string& what) {
  EXPECT_NEAR(static_cast<double>(observed) / prompts, number(expected["obs"]), kExact) << what;
  EXPECT_NEAR(law.mean() / prompts, number(expected["mean"]), kExact) << what;
  EXPECT_NEAR(std::sqrt(law.variance()) / prompts, number(expected["sd"]), kExact) << what;
  EXPECT_NEAR(law.upper(observed), number(expected["p_upper"]), kExact) << what;
  EXPECT_NEAR(law.lower(observed), number(expected["p_lower"]), kExact) << what;
  EXPECT_NEAR(law.probability(observed), number(expected["p_equal"]), kExact) << what;
  EXPECT_NEAR(static_cast<double>(law.quantile(0.05)) / prompts, number(expected["q05"]), kExact) << what;
  EXPECT_NEAR(static_cast<double>(law.quantile(0.95)) / prompts, number(expected["q95"]), kExact) << what;
}

// The normal approximation of L and the moments it rests on. `draws` standard normals.
inline void expect_golden_normal(const SampledLaw& law, std::size_t t, simdjson::dom::element expected,
                                 std::size_t draws, const std::string& what) {
  InlineExecutor executor;
  const std::size_t pool = law.classes.pool_size;
  const auto moments = class_moments(law.classes, law.spec.thresholds, {}, stats::MomentSet::kAll, executor);
  const auto exact = stats::redeal_exact(law.classes, law.spec.thresholds[t], executor);
  double with_oracle = 0, variance = 0, with_next = 0;
  for (std::size_t k = 0; k < moments.size(); ++k) {
    if (moments[k].count_mean.empty()) continue;
    const double times = static_cast<double>(law.classes.classes[k].prompts), any = moments[k].oracle[t];
    const auto& gap = moments[k].gap[t];
    const auto covers = [&](std::size_t m) { return any - gap.mean[m]; };
    with_oracle += times * covers(0) * (1 - any);
    variance += times * covers(0) * (1 - covers(0));
    if (pool < 2) continue;
    const double neither = gap.covariance[1] + gap.mean[0] * gap.mean[1] + 1 - any;
    with_next += times * (covers(0) + covers(1) - 1 + neither - covers(0) * covers(1));
  }
  EXPECT_NEAR(exact.oracle.variance(), number(expected["var_sum_orac"]), kExact) << what;
  EXPECT_NEAR(with_oracle, number(expected["cov_orac_member0"]), kExact) << what;
  EXPECT_NEAR(variance, number(expected["var_member0"]), kExact) << what;
  if (expected["cov_member01"].error() == simdjson::SUCCESS && pool >= 2) {
    EXPECT_NEAR(with_next, number(expected["cov_member01"]), kExact) << what;
  }
  if (expected["L_gauss_approx"].error() != simdjson::SUCCESS) return;
  const auto sums = sum_moments(law.classes, moments);
  stats::NormalVector normal{sums.gap[t].mean, sums.gap[t].covariance};
  const auto constant = constant_score(law.spec, law.classes);
  for (std::size_t m = 0; m < pool; ++m) {
    normal.mean[m] += static_cast<double>(constant.any[t]) - constant.policy[t * pool + m];
  }
  const auto minima = stats::minimum_draws(normal, draws);
  double mean = 0, square = 0;
  for (const double x : minima) mean += x / static_cast<double>(draws);
  for (const double x : minima) square += (x - mean) * (x - mean) / static_cast<double>(draws);
  const auto value = [&](const char* key) { return number(expected["L_gauss_approx"][key]); };
  const double n = law.prompts(), error = 1 / std::sqrt(static_cast<double>(draws));
  // Golden values are themselves from 2e6 draws; a quantile's error is 2.1 sd / sqrt(draws).
  const double slack = 5e-4 + 4 * 2.1 * std::sqrt(square) / n * error;
  EXPECT_NEAR(mean / n, value("mean"), slack) << what;
  EXPECT_NEAR(std::sqrt(square) / n, value("sd"), slack) << what;
  EXPECT_NEAR(minima[draws / 20] / n, value("q05"), slack) << what;
  EXPECT_NEAR(minima[draws - draws / 20] / n, value("q95"), slack) << what;
  const double observed = static_cast<double>(law.observed.gap[t]) - 0.5;
  const auto upper =
      static_cast<double>(minima.end() - std::lower_bound(minima.begin(), minima.end(), observed));
  EXPECT_NEAR(upper / static_cast<double>(draws), value("p_upper"), 5e-4 + 4 * 0.5 * error) << what;
}

// redeal_exact (or redeal_exact_missing_as_fail) at every threshold of the file.
inline void expect_golden_exact(const SampledLaw& law, simdjson::dom::element expected, std::size_t draws) {
  InlineExecutor executor;
  const double n = law.prompts();
  for (const auto [tau, at] : expected.get_object()) {
    const std::size_t t = tau_index(law.spec.thresholds, tau);
    const std::string what = "tau " + std::string(tau);
    const auto exact = stats::redeal_exact(law.classes, law.spec.thresholds[t], executor);
    EXPECT_NEAR(exact.mean_oracle, number(at["mean_C_orac"]), kExact) << what;
    EXPECT_NEAR(exact.mean_disagreement, number(at["mean_D"]), kExact) << what;
    const auto members = numbers(at["mean_C_m"]);
    for (std::size_t m = 0; m < members.size(); ++m)
      EXPECT_NEAR(exact.mean_policy[m], members[m], kExact) << what;
    if (at["D"].error() == simdjson::SUCCESS) {
      expect_golden_tails(exact.disagreement, law.observed.disagreement[t], n, at["D"], what + " D");
      expect_golden_tails(exact.oracle, law.observed.oracle[t], n, at["orac"], what + " orac");
    }
    if (at["var_sum_orac"].error() == simdjson::SUCCESS) expect_golden_normal(law, t, at, draws, what);
  }
}

// redeal_joint_exact or margin_joint_exact: laws by enumeration.
inline void expect_golden_joint(const SampledLaw& law, simdjson::dom::element expected) {
  for (const auto [tau, statistics] : expected.get_object()) {
    const std::size_t t = tau_index(law.spec.thresholds, tau);
    for (const auto [name, exact] : statistics.get_object()) {
      const std::string what = std::string(name) + "@" + std::string(tau);
      const GoldenKey key{"", std::string(name), "mean", std::string(tau)};
      law.expect(key, t, number(exact["mean"]), 0, what);
      law.expect({"", key.statistic, "p_upper", key.tau}, t, number(exact["p_upper"]), 0, what);
      law.expect({"", key.statistic, "p_lower", key.tau}, t, number(exact["p_lower"]), 0, what);
      const auto& samples = name == "L"   ? law.samples->gap[t]
                            : name == "D" ? law.samples->disagreement[t]
                                          : law.samples->oracle[t];
      for (const auto [value, mass] : exact["pmf_times_n"].get_object()) {
        expect_functional(samples, std::stoll(std::string(value)), 1, "p_equal", number(mass), 0, what,
                          law.quality);
      }
    }
  }
}

}  // namespace gapwatch::testing
