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
constexpr double kPermutedOutcomes = 3e6;
constexpr std::uint32_t kPermutations = 10;
constexpr std::size_t kFolds = 5;
constexpr std::size_t kMostLikelihoodCells = 20'000;

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
  out.chain = nulls.chain;
}

void set_thresholds(Evaluation& out, const CountTable& table, const EvaluationSettings& settings, BetaPrior prior,
                    Executor& executor) {
  const auto& taus = settings.thresholds;
  const auto mixture = budget_mixture(table, taus, settings.band_low, settings.band_high);
  const auto halves = split_half(table, taus, {.replicates = 400, .seed = settings.seed}, executor);
  out.mixture_matched_rauc = mixture.area;
  out.mixture_matched_pass_at_1 = mixture.pass_at_1;
  out.mixture_budget = mixture.budget;
  if (settings.rates == config::RateKind::kPosterior) {
    out.posterior_area = band_area(table, settings.band_low, settings.band_high, prior);
  }
  const double affordable = 1e8 / static_cast<double>(table.cells.size());
  const auto spreads = static_cast<std::uint32_t>(std::clamp(affordable, 50.0, 1'000.0));
  for (std::size_t t = 0; t < taus.size(); ++t) {
    auto& at = out.thresholds[t];
    at.mixture_matched = mixture.coverage[t];
    const auto& half = halves[t];
    at.split_half = {half.matched,      half.scoring_half,  half.honest,
                     half.honest_exact, half.matched_error, half.scoring_half_error};
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
  out.moments_prior = fit_moments(rows.table);
  if (distinct_cells(rows.table, kMostLikelihoodCells) <= kMostLikelihoodCells) out.likelihood_prior = fit_likelihood(rows.table);
  NestedBootstrap options;
  options.prior = out.moments_prior.identified ? out.moments_prior.prior : prior;
  options.seed = settings.seed;
  const bool all_paired = !rows.paired.empty() && std::all_of(rows.paired.begin(), rows.paired.end(),
                                                              [](const PairedCount& p) { return p.aligned > 0; });
  auto intervals = noise_intervals(rows.table, all_paired ? std::span(rows.paired) : std::span<const PairedCount>(),
                                   options, executor);
  out.noise_share_product_interval = intervals.noise_share;
  out.noise_share_paired_interval = intervals.noise_share_paired;
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

void set_strata(Evaluation& out, const Rows& rows, bool by_draw) {
  constexpr double kLimit = 3;
  const auto add = [&](const char* by, Support support) {
    out.strata.push_back({by, kLimit, thin_support(rows.table, kLimit, support, rows.draws)});
  };
  if (by_draw) add("first draw", Support::kFirstDraw);
  add("any success", Support::kAnySuccess);
  add("expected successes", Support::kExpected);
}

// Where prompts have draws in common, k = 1, 2, 5, ... and all that every prompt has.
void set_paths(Evaluation& out, const Rows& rows, std::uint64_t seed) {
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
  const double outcomes = static_cast<double>(rows.draws.cells.size()) * static_cast<double>(most);
  if (outcomes <= kPermutedOutcomes) out.prefix_ranges = prefix_ranges(rows.draws, ks, kPermutations, seed);
}

void set_draw_statistics(Evaluation& out, const Rows& rows, std::uint64_t seed) {
  const bool by_draw = std::any_of(rows.paired.begin(), rows.paired.end(), [](const PairedCount& p) { return p.aligned > 0; });
  set_strata(out, rows, by_draw);
  if (by_draw) set_paths(out, rows, seed);
  if (rows.draws.empty()) return;
  constexpr std::size_t kBlocks = 4;
  out.draw_detail = {runs_test(rows.draws), kBlocks, block_dispersion(rows.draws, kBlocks)};
}

void set_bounds(Evaluation& out, const Rows& rows, std::uint32_t trials) {
  const auto pool = rows.table.pool_size();
  std::vector<double> rates(pool, 0.0);
  for (std::size_t i = 0; i < rows.table.cells.size(); ++i) {
    rates[i % pool] += raw_rate(rows.table.cells[i]) / static_cast<double>(rows.table.prompt_count());
  }
  out.conservative_premium_floor = conservative_premium_floor(rows.table, rows.paired);
  out.curse_trials = trials;
  out.curse_at_half = winners_curse(std::vector<double>(pool, 0.5), trials);
  out.curse_at_rates = winners_curse(rates, trials);
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

  if (settings.sample_nulls) {
    NullOptions nulls;
    nulls.replicates = settings.replicates;
    nulls.seed = settings.seed;
    set_nulls(out, compare_with_nulls(rows.table, settings.thresholds, nulls, executor));
    out.family = family_of(out);
  }
  set_thresholds(out, rows.table, settings, fitted.prior, executor);

  const auto typical = median_trials(rows.table);
  set_intervals(out, rows, settings, fitted.prior, executor);
  set_correlation(out, rows, settings, typical);
  set_draw_statistics(out, rows, settings.seed);
  set_best_of_r(out, rows.table);
  set_subpools(out, rows.table, settings, executor);
  out.checks = assumption_checks(rows.table, rows.draws);
  out.cross_fit = cross_fit(rows.table, rows.paired, kFolds, settings.seed);
  set_bounds(out, rows, typical);
  return out;
}

void keep_nulls(const Evaluation& from, Evaluation& to) {
  for (std::size_t t = 0; t < std::min(from.thresholds.size(), to.thresholds.size()); ++t) {
    to.thresholds[t].gap = from.thresholds[t].gap;
    to.thresholds[t].disagreement = from.thresholds[t].disagreement;
    to.thresholds[t].oracle_minus_mixture = from.thresholds[t].oracle_minus_mixture;
    to.thresholds[t].rise = from.thresholds[t].rise;
  }
  to.pass_at_1_gap = from.pass_at_1_gap;
  to.family = from.family;
  to.chain = from.chain;
}

}  // namespace gapwatch::stats
