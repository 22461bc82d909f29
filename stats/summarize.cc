// Sums into numbers: the only place where they are divided.
#include <algorithm>
#include <cmath>

#include "stats/running.h"

namespace gapwatch::stats {
namespace {

// Of the policies whose sum over `prompts` is the largest up to rounding, the first.
std::size_t first_best(const std::vector<FixedSum>& sums, std::int64_t prompts) {
  const auto lead = [](FixedSum a, const FixedSum& b) {
    a.subtract(b);
    return a.value();
  };
  std::size_t best = 0;
  for (std::size_t m = 1; m < sums.size(); ++m) {
    if (lead(sums[m], sums[best]) > 0) best = m;
  }
  // A rate is rounded by at most 2^-54, so equal sums of fractions end this close.
  const double rounding = std::ldexp(static_cast<double>(prompts), -52);
  for (std::size_t m = 0; m < best; ++m) {
    if (lead(sums[best], sums[m]) <= rounding) return m;
  }
  return best;
}

Number ratio(double numerator, double denominator) {
  if (!(denominator > 0)) return std::nullopt;
  return numerator / denominator;
}

CoverageSummary coverage_of(const PoolSums& pool, std::size_t threshold, double tau) {
  const auto n = static_cast<double>(pool.complete);
  const auto& sums = pool.at[threshold];
  CoverageSummary out;
  out.tau = tau;
  std::int64_t best = -1;
  for (std::size_t m = 0; m < pool.rate.size(); ++m) {
    const auto covered = pool.covered(threshold, m);
    out.policy.push_back(static_cast<double>(covered) / n);
    if (covered > best) {
      best = covered;
      out.best_policy = m;
    }
  }
  out.oracle = static_cast<double>(sums.oracle) / n;
  out.best = static_cast<double>(best) / n;
  out.mixture = static_cast<double>(sums.mixture) / n;
  out.gap = static_cast<double>(sums.oracle - best) / n;
  out.disagreement = static_cast<double>(sums.oracle - sums.all) / n;
  out.break_even_error = ratio(static_cast<double>(sums.oracle - best), static_cast<double>(sums.oracle - sums.all));
  out.oracle_minus_mixture = static_cast<double>(sums.oracle - sums.mixture) / n;
  return out;
}

void set_trials(PoolSummary& out, const TrialHistogram& cells) {
  const auto total = cells.total();
  if (total == 0) return;
  out.trials_min = cells.at_rank(0);
  out.trials_median = cells.at_rank((total - 1) / 2);
  out.trials_max = cells.at_rank(total - 1);
  out.identifiable = out.trials_max > 1;
}

double difference(FixedSum a, const FixedSum& b, std::uint64_t n) {
  a.subtract(b);
  return a.mean(n);
}

void set_union(PoolSummary& out, const PoolSums& sums, std::uint64_t n) {
  out.ceiling = sums.ceiling.mean(n);
  out.union_product = sums.union_product.mean(n);
  out.frechet_upper = sums.frechet_upper.mean(n);
  out.premium_product = difference(sums.union_product, sums.ceiling, n);
  out.frechet_width = difference(sums.frechet_upper, sums.ceiling, n);
  if (sums.paired_prompts == sums.complete) {
    out.union_paired = sums.union_paired.mean(n);
    out.premium_paired = difference(sums.union_paired, sums.ceiling, n);
    out.oracle_noise_share_paired = ratio(*out.premium_paired, *out.union_paired);
  }
  out.oracle_noise_share_product = ratio(out.premium_product, out.union_product);
  out.positive_fraction = static_cast<double>(sums.positive) / static_cast<double>(n);
  if (sums.positive > 0) {
    out.conditional_premium =
        difference(sums.union_product, sums.ceiling, static_cast<std::uint64_t>(sums.positive));
  }
  out.certain = sums.certain;
  out.dead = sums.dead;
  out.lone = sums.lone;
}

}  // namespace

PoolSummary summarize(const PoolSums& sums, const SumsSpec& spec) {
  PoolSummary out;
  out.complete = sums.complete;
  out.partial = sums.partial;
  out.degenerate = sums.all_fail + sums.all_pass;
  out.trials_total = sums.trials;
  set_trials(out, sums.cells_by_trials);
  if (sums.complete <= 0) return out;

  const auto n = static_cast<std::uint64_t>(sums.complete);
  for (const auto& sum : sums.rate) out.pass_at_1.push_back(sum.mean(n));
  for (const auto& sum : sums.rauc) out.rauc.push_back(sum.mean(n));
  out.best_single = first_best(sums.rate, sums.complete);
  set_union(out, sums, n);
  out.oracle_pass_at_1_gap = difference(sums.ceiling, sums.rate[out.best_single], n);
  out.rauc_best = *std::max_element(out.rauc.begin(), out.rauc.end());
  out.rauc_oracle = sums.rauc_oracle.mean(n);
  out.rauc_mixture = sums.rauc_mixture.mean(n);
  for (std::size_t t = 0; t < sums.at.size(); ++t) {
    out.coverage.push_back(coverage_of(sums, t, spec.thresholds[t]));
  }
  return out;
}

GapSplit split_gap(const PoolSummary& summary, const std::string& coupling, const std::string& comparator,
                   double comparator_rate) {
  GapSplit split;
  split.coupling = coupling;
  split.comparator = comparator;
  if (summary.complete <= 0) return split;
  const Number any = coupling == "paired" ? summary.union_paired : Number(summary.union_product);
  const Number premium = coupling == "paired" ? summary.premium_paired : Number(summary.premium_product);
  if (!any) return split;
  split.total = *any - comparator_rate;
  split.recoverable = summary.ceiling - comparator_rate;
  split.noise = premium;
  // Below this a difference of two means is rounding, not a gap.
  if (*split.total > 1e-12) split.noise_share = *premium / *split.total;
  return split;
}

RouterSummary summarize(const RouterSums& sums, const SumsSpec& spec) {
  RouterSummary out;
  out.routed = summarize(sums.routed, spec);
  out.prompts = sums.routed.complete;
  const auto thresholds = spec.thresholds.size();
  out.disagreement_error.resize(thresholds);
  out.gain.resize(thresholds);
  if (out.prompts <= 0) return out;
  const auto n = static_cast<std::uint64_t>(out.prompts);
  out.pass_at_1 = sums.rate.mean(n);
  for (std::size_t t = 0; t < thresholds; ++t) {
    const auto& at = sums.routed.at[t];
    const auto disagreeing = at.oracle - at.all;
    if (disagreeing > 0) out.disagreement_error[t] = sums.misrouted[t].mean(static_cast<std::uint64_t>(disagreeing));
    out.gain[t] = out.routed.coverage[t].gap - sums.misrouted[t].mean(n);
  }
  return out;
}

}  // namespace gapwatch::stats
