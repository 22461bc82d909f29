#include "stats/evaluate.h"

#include <algorithm>

#include "stats/budget_mixture.h"
#include "stats/multiple_testing.h"
#include "stats/noise_interval.h"
#include "stats/nulls.h"
#include "stats/prior.h"
#include "stats/split_half.h"

namespace gapwatch::stats {
namespace {

constexpr double kWork = 4e9;  // operations that one optional statistic may take

// The rows that count, with their draws.
struct Rows {
  CountTable table;
  DrawTable draws;
  std::vector<PairedCount> paired;
};

Rows rows_that_count(const CountTable& table, const DrawTable& draws, const Completeness& rule) {
  Rows rows;
  rows.table = complete_rows(table, rule);
  if (draws.empty()) return rows;
  rows.draws.pool_size = draws.pool_size;
  for (std::size_t i = 0; i < table.prompt_count(); ++i) {
    if (!is_complete(table.row(i), rule)) continue;
    const auto row = draws.row(i);
    rows.draws.cells.insert(rows.draws.cells.end(), row.begin(), row.end());
    rows.paired.push_back(paired_count(row));
  }
  return rows;
}

double product(std::initializer_list<double> factors) {
  double result = 1;
  for (const double f : factors) result *= f;
  return result;
}

// ---- What each threshold has ----

void set_nulls(Evaluation& out, const NullResults& nulls) {
  for (std::size_t t = 0; t < nulls.thresholds.size(); ++t) {
    auto& at = out.thresholds[t];
    at.gap = nulls.thresholds[t].gap;
    at.disagreement = nulls.thresholds[t].disagreement;
    at.oracle_minus_mixture = nulls.thresholds[t].oracle_minus_mixture;
    at.rise = nulls.thresholds[t].rise;
  }
  out.pass_at_1_gap = nulls.pass_at_1_gap;
}

void set_thresholds(Evaluation& out, const CountTable& table, const EvaluationSettings& settings, BetaPrior prior,
                    Executor& executor) {
  const auto& taus = settings.thresholds;
  const auto mixture = budget_mixture(table, taus, settings.band_low, settings.band_high);
  const auto halves = split_half(table, taus, {.replicates = 400, .seed = settings.seed}, executor);
  const double affordable = 1e8 / static_cast<double>(table.cells.size());
  const auto spreads = static_cast<std::uint32_t>(std::clamp(affordable, 50.0, 1'000.0));
  for (std::size_t t = 0; t < taus.size(); ++t) {
    auto& at = out.thresholds[t];
    at.mixture_matched = mixture.coverage[t];
    at.split_half = {halves[t].matched, halves[t].scoring_half};
    at.mixing_floor = mixing_floor(table, taus[t]);
    at.member_spread = member_spread(table, taus[t], {.replicates = spreads, .seed = settings.seed}, executor);
    at.gap_by_size = rise(table, taus[t], {.seed = settings.seed, .samples = 200, .mixture_work = 20'000'000}).sizes;
    if (settings.rates == config::RateKind::kPosterior) at.posterior = coverage_at(table, taus[t], prior);
  }
}

// ---- The family of tests that are read together ----

void add_test(std::vector<FamilyTest>& family, const char* statistic, const char* null, double tau,
              const std::optional<NullComparison>& comparison) {
  if (comparison) family.push_back({statistic, null, tau, comparison->p_upper, 1});
}

std::vector<FamilyTest> family_of(const Evaluation& evaluation) {
  std::vector<FamilyTest> family;
  const auto add_both = [&](const char* statistic, double tau, const BothNulls& both) {
    add_test(family, statistic, "redeal", tau, both.redeal);
    add_test(family, statistic, "margin", tau, both.margin);
  };
  for (const auto& at : evaluation.thresholds) {
    add_both("gap", at.tau, at.gap);
    add_both("disagreement", at.tau, at.disagreement);
    add_test(family, "oracle_minus_mixture", "redeal", at.tau, at.oracle_minus_mixture);
    add_both("rise", at.tau, at.rise);
  }
  add_both("pass_at_1_gap", 0, evaluation.pass_at_1_gap);
  std::vector<double> p;
  for (const auto& test : family) p.push_back(test.p);
  const auto adjusted = benjamini_hochberg(p);
  for (std::size_t i = 0; i < family.size(); ++i) family[i].adjusted = adjusted[i];
  return family;
}

// ---- What the pool as a whole has ----

// Under the pool's own prior where the table identifies one (noise_interval.h says why).
void set_intervals(Evaluation& out, const Rows& rows, const EvaluationSettings& settings, BetaPrior prior,
                   Executor& executor) {
  const auto fitted = fit_moments(rows.table);
  NestedBootstrap options;
  options.prior = fitted.identified ? fitted.prior : prior;
  options.seed = settings.seed;
  const bool all_paired = !rows.paired.empty() && std::all_of(rows.paired.begin(), rows.paired.end(),
                                                              [](const PairedCount& p) { return p.aligned > 0; });
  auto intervals = noise_intervals(rows.table, all_paired ? std::span(rows.paired) : std::span<const PairedCount>(),
                                   options, executor);
  out.noise_share_interval = all_paired ? intervals.noise_share_paired : intervals.noise_share;
  out.premium_interval = intervals.premium;
  out.pass_at_1_intervals = std::move(intervals.pass_at_1);
}

void set_correlation(Evaluation& out, const Rows& rows, const EvaluationSettings& settings, double trials_median) {
  const auto prompts = static_cast<double>(rows.table.prompt_count());
  const auto pool = static_cast<double>(rows.table.pool_size());
  if (product({prompts, pool, pool}) > kWork) return;
  out.rate_correlation = rate_correlation(rows.table, settings.groups);
  out.effective_pool_size = out.rate_correlation.effective_pool_size;
  if (rows.draws.empty() || product({prompts, trials_median, pool, pool}) > kWork) return;
  out.draw_correlation = draw_correlation(rows.draws, rows.table.policies, settings.groups);
}

void set_subpools(Evaluation& out, const CountTable& table, const EvaluationSettings& settings, Executor& executor) {
  const auto pool = table.pool_size();
  const auto most = std::min(settings.most_subpool_policies, kMaxSubpoolPolicies);
  if (pool <= most && product({static_cast<double>(table.prompt_count()), static_cast<double>(std::uint64_t{1} << pool)}) <= kWork) {
    out.subpools = all_subpools(table, executor);
  }
  if (settings.groups.empty()) return;
  out.leave_one_group_out = leave_one_group_out(table, settings.groups);
  out.one_per_group = one_per_group(table, settings.groups);
}

void set_draw_statistics(Evaluation& out, const Rows& rows) {
  const bool by_draw = std::any_of(rows.paired.begin(), rows.paired.end(), [](const PairedCount& p) { return p.aligned > 0; });
  out.thin_support = thin_support(rows.table, 3, by_draw ? Support::kFirstDraw : Support::kAnySuccess, rows.draws);
  out.thin_support_by = by_draw ? "first draw" : "any success";
  if (!by_draw) return;
  std::uint64_t fewest = rows.paired[0].aligned, most = 0;
  for (const auto& paired : rows.paired) {
    fewest = std::min(fewest, paired.aligned);
    most = std::max(most, paired.aligned);
  }
  std::vector<std::uint32_t> ks;
  for (const std::uint32_t k : {1u, 2u, 5u, 10u, 20u, 50u, 100u, 200u, 500u, 1000u}) {
    if (k <= most) ks.push_back(k);
  }
  // All that every prompt has: there the path meets the whole table where trials are equal.
  if (fewest > 0 && fewest <= 10'000) ks.push_back(static_cast<std::uint32_t>(fewest));
  std::sort(ks.begin(), ks.end());
  ks.erase(std::unique(ks.begin(), ks.end()), ks.end());
  out.prefix_path = prefix_path(rows.draws, ks);
}

void set_best_of_r(Evaluation& out, const CountTable& table) {
  std::vector<std::uint32_t> rs{1, 2, 3, 5, 10, static_cast<std::uint32_t>(table.pool_size())};
  std::sort(rs.begin(), rs.end());
  rs.erase(std::unique(rs.begin(), rs.end()), rs.end());
  out.best_of_r = best_of_r(table, rs);
}

std::uint32_t median_trials(const CountTable& table) {
  TrialHistogram cells;
  for (const CellCount cell : table.cells) {
    if (cell.trials > 0) cells.add(cell.trials, 1);
  }
  const auto total = cells.total();
  return total == 0 ? 0 : cells.at_rank((total - 1) / 2);
}

}  // namespace

EvaluationSettings evaluation_settings(const config::Monitor& monitor) {
  EvaluationSettings settings;
  settings.thresholds = monitor.thresholds;
  settings.band_low = monitor.band_low;
  settings.band_high = monitor.band_high;
  settings.completeness = {monitor.min_trials, monitor.missing_as_fail};
  settings.rates = monitor.rates;
  settings.prior = monitor.prior;
  settings.groups = monitor.groups;
  settings.replicates = monitor.nulls.replicates;
  settings.seed = monitor.nulls.seed;
  return settings;
}

Evaluation evaluate(const CountTable& table, const DrawTable& draws, const EvaluationSettings& settings,
                    Executor& executor) {
  Evaluation out;
  const auto rows = rows_that_count(table, draws, settings.completeness);
  const auto fitted = resolve_prior(settings.prior, rows.table);
  out.prior = {settings.prior.kind, fitted.prior.alpha, fitted.prior.beta};
  out.prior_identified = fitted.identified;
  out.pass_at_1_intervals.resize(table.pool_size());
  for (const double tau : settings.thresholds) {
    out.thresholds.emplace_back();
    out.thresholds.back().tau = tau;
  }
  if (rows.table.prompt_count() == 0) return out;

  NullOptions nulls;
  nulls.replicates = settings.replicates;
  nulls.seed = settings.seed;
  set_nulls(out, compare_with_nulls(rows.table, settings.thresholds, nulls, executor));
  set_thresholds(out, rows.table, settings, fitted.prior, executor);
  out.family = family_of(out);

  const auto typical = median_trials(rows.table);
  set_intervals(out, rows, settings, fitted.prior, executor);
  set_correlation(out, rows, settings, typical);
  set_draw_statistics(out, rows);
  set_best_of_r(out, rows.table);
  set_subpools(out, rows.table, settings, executor);
  out.checks = assumption_checks(rows.table, rows.draws);
  out.conservative_premium_floor = conservative_premium_floor(rows.table, rows.paired);
  out.curse_at_half = winners_curse(std::vector<double>(rows.table.pool_size(), 0.5), typical);
  return out;
}

}  // namespace gapwatch::stats
