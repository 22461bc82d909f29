#include "stats/split_half_exact.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace gapwatch::stats {
namespace {

struct Nodes {
  std::vector<double> at, weight;
};

// Gauss-Legendre on [0, 1]: exact for polynomials up to degree 2 count - 1.
Nodes legendre(std::size_t count) {
  Nodes nodes;
  for (std::size_t i = 0; i < count; ++i) {
    const auto n = static_cast<double>(count);
    double x = std::cos(std::numbers::pi * (static_cast<double>(i) + 0.75) / (n + 0.5)), slope = 1;
    for (int step = 0; step < 100; ++step) {
      double p = 1, before = 0;
      for (std::size_t k = 1; k <= count; ++k) {
        const auto j = static_cast<double>(k);
        const double next = ((2 * j - 1) * x * p - (j - 1) * before) / j;
        before = p;
        p = next;
      }
      slope = n * (x * p - before) / (x * x - 1);
      const double change = p / slope;
      x -= change;
      if (std::abs(change) < 1e-15) break;
    }
    nodes.at.push_back((1 - x) / 2);
    nodes.weight.push_back(1 / ((1 - x * x) * slope * slope));
  }
  return nodes;
}

const Nodes& nodes_for(std::size_t policies) {
  thread_local std::map<std::size_t, Nodes> made;
  const auto count = (policies + 1) / 2;
  const auto at = made.find(count);
  return at != made.end() ? at->second : made.emplace(count, legendre(count)).first->second;
}

// A number of choosing-half successes of one policy.
struct Value {
  std::uint64_t successes, half;
  std::size_t policy;
  double probability;
};

// What the policies do at one rate: probability to lie below it, and at it.
struct AtRate {
  std::vector<double> below, equal;
};

// By policy, the expected share of the choice it gets at this rate: ties averaged, over the
// others' independent values, E[1/(1+K)] = integral of prod (below + equal x).
void shares(const AtRate& rate, bool first, std::vector<double>& share) {
  const auto pool = rate.below.size();
  std::vector<double> prefix(pool + 1, 1), suffix(pool + 1, 1);
  share.assign(pool, 0);
  const auto add = [&](double x, double weight) {
    const auto factor = [&](std::size_t m) { return rate.below[m] + rate.equal[m] * x; };
    for (std::size_t m = 0; m < pool; ++m) prefix[m + 1] = prefix[m] * (first ? rate.below[m] : factor(m));
    for (std::size_t m = pool; m-- > 0;) suffix[m] = suffix[m + 1] * factor(m);
    for (std::size_t m = 0; m < pool; ++m) share[m] += weight * prefix[m] * suffix[m + 1];
  };
  if (first) {
    add(1, 1);
    return;
  }
  const auto& nodes = nodes_for(pool);
  for (std::size_t i = 0; i < nodes.at.size(); ++i) add(nodes.at[i], nodes.weight[i]);
}

}  // namespace

double half_deviation(CellCount cell) {
  const double p = static_cast<double>(cell.successes) / cell.trials;
  return std::sqrt(cell.trials * p * (1 - p)) / 2;
}

HalfLaw half_law(CellCount cell) {
  HalfLaw law;
  law.half = cell.trials / 2;
  const auto failures = cell.trials - cell.successes;
  const auto low = law.half > failures ? law.half - failures : 0;
  const auto high = std::min(cell.successes, law.half);
  const double s = cell.successes, f = failures, h = law.half;
  const auto ratio = [&](double x) { return (s - x) * (h - x) / ((x + 1) * (f - h + x + 1)); };
  const auto mode = std::clamp(static_cast<std::uint32_t>((h + 1) * (s + 1) / (s + f + 2)), low, high);
  constexpr double kNegligible = 1e-18;
  std::vector<double> below;
  double weight = 1;
  for (auto x = mode; x > low && (weight /= ratio(x - 1.0)) >= kNegligible; --x) below.push_back(weight);
  law.from = mode - static_cast<std::uint32_t>(below.size());
  law.probability.assign(below.rbegin(), below.rend());
  law.probability.push_back(weight = 1);
  for (auto x = mode; x < high && (weight *= ratio(x)) >= kNegligible; ++x) law.probability.push_back(weight);
  const double sum = std::accumulate(law.probability.begin(), law.probability.end(), 0.0);
  double up_to = 0;
  for (double& p : law.probability) {
    p /= sum;
    law.cumulative.push_back(up_to += p);
  }
  law.cumulative.back() = 1;
  return law;
}

const HalfLaw& HalfLaws::of(CellCount cell) {
  auto& law = laws_[{cell.trials, cell.successes}];
  if (law == nullptr) law = std::make_unique<HalfLaw>(half_law(cell));
  return *law;
}

std::vector<double> honest_coverage(std::span<const CellCount> row, std::span<const double> thresholds, bool first,
                                    HalfLaws& laws) {
  std::vector<Value> values;
  for (std::size_t m = 0; m < row.size(); ++m) {
    const auto& law = laws.of(row[m]);
    for (std::size_t i = 0; i < law.probability.size(); ++i) {
      values.push_back({law.from + i, law.half, m, law.probability[i]});
    }
  }
  std::sort(values.begin(), values.end(), [](const Value& a, const Value& b) {
    return a.successes * b.half < b.successes * a.half;
  });
  AtRate rate{std::vector<double>(row.size()), std::vector<double>(row.size())};
  std::vector<double> share, expected(thresholds.size());
  for (std::size_t from = 0; from < values.size();) {
    auto to = from;
    std::fill(rate.equal.begin(), rate.equal.end(), 0.0);
    while (to < values.size() && values[to].successes * values[from].half == values[from].successes * values[to].half) {
      rate.equal[values[to].policy] = values[to].probability;
      ++to;
    }
    shares(rate, first, share);
    for (auto at = from; at < to; ++at) {
      const auto& value = values[at];
      const auto& cell = row[value.policy];
      const CellCount scoring{cell.trials - static_cast<std::uint32_t>(value.half),
                              cell.successes - static_cast<std::uint32_t>(value.successes)};
      for (std::size_t t = 0; t < thresholds.size(); ++t) {
        if (covers(scoring, need(thresholds[t], scoring.trials))) expected[t] += value.probability * share[value.policy];
      }
    }
    for (auto at = from; at < to; ++at) rate.below[values[at].policy] += values[at].probability;
    from = to;
  }
  return expected;
}

}  // namespace gapwatch::stats
