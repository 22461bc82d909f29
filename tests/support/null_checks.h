// Judges samples of a null law against golden values with standard errors.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/golden.h"

namespace gapwatch::testing {

// How much worse than independent samples these are: the autocorrelation time of a chain.
struct SampleQuality {
  double autocorrelation_time = 1;
};

inline double share(const std::vector<std::int64_t>& samples, auto predicate) {
  return static_cast<double>(std::count_if(samples.begin(), samples.end(), predicate)) /
         static_cast<double>(samples.size());
}

// One functional of samples whose value is integer / scale; |v - mean| <= 4 sqrt(s^2 + se^2).
inline void expect_functional(const std::vector<std::int64_t>& samples, std::int64_t observed, double scale,
                              const std::string& functional, double mean, double se, const std::string& what,
                              const SampleQuality& quality = {}) {
  const double count = static_cast<double>(samples.size()) / quality.autocorrelation_time;
  double average = 0, square = 0;
  for (const auto x : samples) average += static_cast<double>(x) / static_cast<double>(samples.size());
  for (const auto x : samples) square += std::pow(static_cast<double>(x) - average, 2);
  const double sd = std::sqrt(square / static_cast<double>(samples.size())) / scale;
  const auto near = [&](double value, double s) {
    EXPECT_LE(std::abs(value - mean), 4 * std::sqrt(s * s + se * se) + 1e-12)
        << what << '.' << functional << ": " << value << " against " << mean << " +- " << se << ", own error "
        << s;
  };
  const auto near_share = [&](double p) {
    const double expected = std::clamp(mean, 1 / count, 1 - 1 / count);
    near(p, std::sqrt(expected * (1 - expected) / count));
  };
  // A quantile is right when its two sides hold the right shares; exact positions jump on a lattice.
  const auto at_quantile = [&](double level) {
    const double slack = 4 * std::sqrt(level * (1 - level) / count), near_by = (4 * se + 1e-9) * scale;
    EXPECT_GE(share(samples, [&](auto x) { return static_cast<double>(x) <= mean * scale + near_by; }),
              level - slack)
        << what << '.' << functional;
    EXPECT_LE(share(samples, [&](auto x) { return static_cast<double>(x) < mean * scale - near_by; }),
              level + slack)
        << what << '.' << functional;
  };
  // Rare values may not have been seen at all: their errors follow from the golden mean, one step at a time.
  if (functional == "mean")
    near(average / scale, std::max(sd, std::sqrt(std::abs(mean) / scale)) / std::sqrt(count));
  // 0.7 sd for a normal law, half a step where one step is all the variation.
  if (functional == "sd") near(sd, (sd + 0.5 / scale) / std::sqrt(count));
  if (functional == "p_upper") near_share(share(samples, [&](auto x) { return x >= observed; }));
  if (functional == "p_lower") near_share(share(samples, [&](auto x) { return x <= observed; }));
  if (functional == "p_equal") near_share(share(samples, [&](auto x) { return x == observed; }));
  if (functional == "q05") at_quantile(0.05);
  if (functional == "q95") at_quantile(0.95);
}

// A golden Monte Carlo key, "law.statistic@tau.functional" or "law.pass1_gap.functional".
struct GoldenKey {
  std::string law, statistic, functional;
  std::string tau;  // empty where the key has none
};

inline GoldenKey parse_key(std::string key) {
  GoldenKey out;
  const auto last = key.rfind('.');
  out.functional = key.substr(last + 1);
  key.resize(last);
  if (const auto at = key.find('@'); at != std::string::npos) {
    out.tau = key.substr(at + 1);
    key.resize(at);
  }
  const auto dot = key.find('.');
  out.law = key.substr(0, dot);
  out.statistic = dot == std::string::npos ? "" : key.substr(dot + 1);
  return out;
}

}  // namespace gapwatch::testing
