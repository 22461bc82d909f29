#include "exporters/json_detail.h"

#include "exporters/comparators.h"
#include "exporters/json_parts.h"
#include "exporters/report_facts.h"

namespace gapwatch::exporters {
namespace {

using stats::Evaluation;

void write_comparators(JsonWriter& json, const MonitorReport& monitor) {
  json.key("comparators").begin_array();
  for (const auto& one : comparators(monitor)) {
    json.begin_object().member("comparator", one.split.comparator).member("kind", one.kind);
    json.member("chosen_on", one.chosen_on).member("best_single", one.best_single);
    json.member("same_data", one.same_data).member("coupling", one.split.coupling);
    json.member("pass_at_1", one.pass_at_1).member("total", one.split.total);
    json.member("recoverable", one.split.recoverable).member("noise", one.split.noise);
    json.member("noise_share", one.split.noise_share).end_object();
  }
  json.end_array();
}

void write_cross_fit(JsonWriter& json, const MonitorReport& monitor, const stats::CrossFit& fit) {
  json.begin_object().member("folds", fit.folds).key("chosen").begin_array();
  for (const auto chosen : fit.chosen) {
    if (chosen < monitor.pool.size()) json.value(monitor.pool[chosen]);
  }
  json.end_array().member("pass_at_1", fit.rate).member("same_data_pass_at_1", fit.same_data_rate).end_object();
}

void write_fitted(JsonWriter& json, const char* name, const std::optional<stats::FittedPrior>& found) {
  json.key(name);
  if (!found) {
    json.null();
    return;
  }
  const auto& fitted = *found;
  json.begin_object().member("alpha", fitted.prior.alpha).member("beta", fitted.prior.beta);
  json.member("identified", fitted.identified).end_object();
}

void write_intervals(JsonWriter& json, const MonitorReport& monitor, const Evaluation& e) {
  json.key("intervals").begin_object().member("level", 0.95);
  write_interval(json, "noise_share_product", e.noise_share_product_interval);
  write_interval(json, "noise_share_paired", e.noise_share_paired_interval);
  write_interval(json, "premium_product", e.premium_interval);
  json.end_object().key("priors").begin_object();
  write_fitted(json, "moments", e.moments_prior);
  write_fitted(json, "likelihood", e.likelihood_prior);
  json.end_object().key("cross_fit");
  if (e.cross_fit) {
    write_cross_fit(json, monitor, *e.cross_fit);
  } else {
    json.null();
  }
}

void write_family(JsonWriter& json, const Evaluation& e) {
  json.key("family").begin_object().member("adjustment", "Benjamini-Hochberg").member("tail", "upper");
  json.key("tests").begin_array();
  for (const auto& test : e.family) {
    json.begin_object().member("statistic", test.statistic).member("null", test.null);
    json.member("tau", test.tau > 0 ? stats::Number(test.tau) : std::nullopt);
    json.member("p", test.p).member("adjusted", test.adjusted).end_object();
  }
  json.end_array().end_object();
  json.key("chain").begin_object().member("chains", e.chain.chains).member("burn_in_sweeps", e.chain.burn_in_sweeps);
  json.member("sweeps_per_sample", e.chain.sweeps_per_sample);
  json.member("autocorrelation_time", e.chain.autocorrelation_time);
  json.member("effective_samples", e.chain.effective_samples);
  json.member("long_cycles", e.chain.needs_long_cycles).end_object();
}

// ---- By threshold ----

void write_spread(JsonWriter& json, const std::optional<stats::MemberSpread>& spread) {
  json.key("member_spread");
  if (!spread) {
    json.null();
    return;
  }
  json.begin_object().member("observed", spread->observed).member("mean", spread->mean).member("p05", spread->p05);
  json.member("p95", spread->p95).member("p_upper", spread->p_upper).member("p_lower", spread->p_lower);
  json.member("fraction_upper", spread->fraction_upper).member("fraction_lower", spread->fraction_lower);
  json.member("samples", spread->samples).member("approximate", spread->approximate).end_object();
}

void write_posterior(JsonWriter& json, const MonitorReport& monitor, const std::optional<stats::CoverageSummary>& at) {
  json.key("posterior");
  if (!at) {
    json.null();
    return;
  }
  json.begin_object().member("oracle", at->oracle).member("best", at->best).key("best_policy");
  if (at->best_policy < monitor.pool.size()) {
    json.value(monitor.pool[at->best_policy]);
  } else {
    json.null();
  }
  json.member("mixture", at->mixture).member("gap", at->gap).member("disagreement", at->disagreement).end_object();
}

void write_sizes(JsonWriter& json, const std::vector<stats::SizeGap>& sizes) {
  json.key("gap_by_size").begin_array();
  for (const auto& size : sizes) {
    json.begin_object().member("size", size.size).member("gap", size.gap);
    json.member("oracle_minus_mixture", size.oracle_minus_mixture).member("subsets", size.subsets);
    json.member("sampled", size.sampled).end_object();
  }
  json.end_array();
}

void write_threshold(JsonWriter& json, const MonitorReport& monitor, const stats::ThresholdNulls& at) {
  json.begin_object().member("tau", at.tau);
  write_nulls(json, "rise_nulls", at.rise);
  write_sizes(json, at.gap_by_size);
  json.key("mixing_floor");
  if (at.mixing_floor) {
    json.begin_object().member("floor", at.mixing_floor->floor).member("certificate", at.mixing_floor->certificate);
    json.end_object();
  } else {
    json.null();
  }
  write_spread(json, at.member_spread);
  const auto& half = at.split_half;
  json.key("split_half").begin_object().member("honest", half.honest).member("honest_exact", half.honest_exact);
  json.member("matched", half.matched).member("matched_error", half.matched_error);
  json.member("scoring_half", half.scoring_half).member("scoring_half_error", half.scoring_half_error).end_object();
  write_posterior(json, monitor, at.posterior);
  json.end_object();
}

void write_thresholds(JsonWriter& json, const MonitorReport& monitor, const Evaluation& e) {
  json.key("thresholds").begin_array();
  for (const auto& at : e.thresholds) write_threshold(json, monitor, at);
  json.end_array();
  json.key("mixture_matched").begin_object().member("budget", e.mixture_budget);
  json.member("rauc", e.mixture_matched_rauc).member("pass_at_1", e.mixture_matched_pass_at_1).end_object();
  json.key("posterior_rauc");
  if (e.posterior_area) {
    json.begin_object().member("best", e.posterior_area->best).member("oracle", e.posterior_area->oracle);
    json.member("mixture", e.posterior_area->mixture).end_object();
  } else {
    json.null();
  }
}

// ---- The pool ----

void write_correlation(JsonWriter& json, const char* name, const stats::Correlation& correlation) {
  json.key(name).begin_object().member("effective_pool_size", correlation.effective_pool_size);
  json.member("mean", correlation.mean_between).member("within_groups", correlation.mean_within_group);
  json.member("across_groups", correlation.mean_across_groups).member("policies", correlation.policies).end_object();
}

void write_stratum(JsonWriter& json, const char* name, const stats::Stratum& stratum) {
  json.key(name).begin_object().member("prompts", stratum.prompts).member("fraction", stratum.fraction);
  json.member("comparator", stratum.split.comparator).member("pass_at_1", stratum.comparator_rate);
  json.member("premium", stratum.premium).member("noise_share_product", stratum.split.noise_share);
  json.member("noise_share_paired", stratum.paired_split.noise_share).end_object();
}

void write_strata(JsonWriter& json, const Evaluation& e) {
  json.key("strata").begin_array();
  for (const auto& one : e.strata) {
    json.begin_object().member("by", one.by).member("limit", one.limit);
    write_stratum(json, "thin", one.strata.thin);
    write_stratum(json, "dense", one.strata.dense);
    json.end_object();
  }
  json.end_array();
}

void write_best_of_r(JsonWriter& json, const Evaluation& e) {
  json.key("best_of_r").begin_array();
  for (const auto& one : e.best_of_r) {
    json.begin_object().member("r", one.r).member("union", one.union_product).member("committed", one.committed);
    json.member("premium", one.premium).member("share", one.share).member("mean_share", one.mean_share).end_object();
  }
  json.end_array();
}

void write_paths(JsonWriter& json, const Evaluation& e) {
  json.key("prefix_path").begin_array();
  for (const auto& at : e.prefix_path) {
    json.begin_object().member("k", at.k).member("prompts", at.prompts).member("ceiling", at.ceiling);
    json.member("union_product", at.union_product).member("union_paired", at.union_paired);
    json.member("premium", at.premium).member("best_single", at.best_single);
    json.member("noise_share_product", at.noise_share_product).member("noise_share_paired", at.noise_share_paired);
    json.end_object();
  }
  json.end_array().key("prefix_permuted").begin_array();
  for (const auto& at : e.prefix_ranges) {
    json.begin_object().member("k", at.k).member("permutations", at.permutations);
    json.member("premium_mean", at.premium_mean).member("premium_min", at.premium_min);
    json.member("premium_max", at.premium_max).member("noise_share_paired_mean", at.share_paired_mean);
    json.member("noise_share_paired_min", at.share_paired_min);
    json.member("noise_share_paired_max", at.share_paired_max).end_object();
  }
  json.end_array();
}

// ---- Subpools and lineages ----

void write_range(JsonWriter& json, const char* name, const stats::SubpoolRange& range) {
  json.key(name).begin_object().member("min", range.min).member("median", range.median).member("mean", range.mean);
  json.member("max", range.max).end_object();
}

void write_extreme(JsonWriter& json, const MonitorReport& monitor, const char* name, std::uint32_t mask, double value) {
  json.key(name);
  if (mask == 0) {
    json.null();
    return;
  }
  json.begin_object().key("policies").begin_array();
  for (std::size_t m = 0; m < monitor.pool.size() && m < 32; ++m) {
    if ((mask >> m & 1) != 0) json.value(monitor.pool[m]);
  }
  json.end_array().member("premium", value).end_object();
}

void write_subpools(JsonWriter& json, const MonitorReport& monitor, const std::optional<stats::Subpools>& subpools) {
  json.key("subpools");
  if (!subpools) {
    json.null();
    return;
  }
  json.begin_object().key("sizes").begin_array();
  for (const auto& size : subpools->sizes) {
    json.begin_object().member("size", size.size).member("subsets", size.subsets);
    write_range(json, "premium", size.premium);
    write_range(json, "union_product", size.union_product);
    write_range(json, "ceiling", size.ceiling);
    json.member("mean_share", size.mean_share).member("share_of_means", size.share_of_means).end_object();
  }
  json.end_array();
  write_extreme(json, monitor, "largest_premium", subpools->largest_premium, subpools->largest_premium_value);
  write_extreme(json, monitor, "smallest_premium", subpools->smallest_premium, subpools->smallest_premium_value);
  json.end_object();
}

void write_cut(JsonWriter& json, const stats::PoolCut& cut) {
  json.begin_object().member("name", cut.name).key("policies").begin_array();
  for (const auto& policy : cut.policies) json.value(policy);
  json.end_array().member("union_product", cut.union_product).member("ceiling", cut.ceiling);
  json.member("premium", cut.premium).member("noise_share", cut.noise_share).end_object();
}

void write_lineages(JsonWriter& json, const Evaluation& e) {
  json.key("lineages").begin_object().key("leave_one_out").begin_array();
  for (const auto& cut : e.leave_one_group_out) write_cut(json, cut);
  json.end_array().key("one_per_group");
  if (e.one_per_group) {
    write_cut(json, *e.one_per_group);
  } else {
    json.null();
  }
  json.end_object();
}

// ---- Bounds and draws ----

void write_curse(JsonWriter& json, const char* name, const std::optional<stats::CurseBounds>& bounds) {
  json.key(name);
  if (!bounds) {
    json.null();
    return;
  }
  json.begin_object().member("hoeffding", bounds->hoeffding).member("kearns_saul", bounds->kearns_saul);
  json.member("bernstein", bounds->bernstein).member("exact_independent", bounds->exact_independent).end_object();
}

void write_bounds(JsonWriter& json, const Evaluation& e) {
  json.key("winners_curse").begin_object().member("trials", e.curse_trials);
  write_curse(json, "at_half", e.curse_at_half);
  write_curse(json, "at_pass_at_1", e.curse_at_rates);
  json.member("conservative_premium_floor", e.conservative_premium_floor).end_object();
  json.key("draw_checks");
  if (!e.draw_detail) {
    json.null();
    return;
  }
  const auto& [runs, blocks, dispersion] = *e.draw_detail;
  json.begin_object().key("runs").begin_object().member("cells", runs.cells).member("inside", runs.inside);
  json.member("mean_z", runs.mean_z).member("dispersion", runs.dispersion).end_object();
  json.key("block_dispersion").begin_object().member("blocks", blocks).member("cells", dispersion.cells);
  json.member("ratio", dispersion.ratio).end_object().end_object();
}

void write_identities(JsonWriter& json, const MonitorReport& monitor) {
  json.key("routing_identity").begin_array();
  for (const auto& router : monitor.routers) {
    const auto& summary = router.summary;
    for (std::size_t t = 0; t < summary.routed.coverage.size(); ++t) {
      const auto& at = summary.routed.coverage[t];
      json.begin_object().member("router", router.router).member("tau", at.tau).member("gap", at.gap);
      json.member("disagreement", at.disagreement);
      json.member("disagreement_error", t < summary.disagreement_error.size() ? summary.disagreement_error[t] : std::nullopt);
      json.member("gain", t < summary.gain.size() ? summary.gain[t] : std::nullopt).end_object();
    }
  }
  json.end_array();
}

void write_voting(JsonWriter& json, const std::optional<stats::Voting>& voting) {
  json.key("plurality");
  if (!voting) {
    json.null();
    return;
  }
  json.begin_object().member("prompts", voting->prompts).member("accuracy", voting->accuracy);
  json.member("know", voting->know).member("guess", voting->guess).end_object();
}

void write_look_test(JsonWriter& json, const char* name, const stats::LookTest& test, bool taken) {
  json.key(name);
  if (!taken) {
    json.null();
    return;
  }
  json.begin_object().member("p", test.p_value).member("rejects", test.rejects).end_object();
}

void write_looks(JsonWriter& json, const std::vector<stats::ConfirmatoryLook>& looks) {
  json.key("confirmatory_looks").begin_array();
  for (const auto& look : looks) {
    json.begin_object().member("draws", look.draws).member("level", look.level).member("taken", look.taken);
    json.member("ready", look.ready).member("prompts", look.prompts);
    write_look_test(json, "heterogeneity", look.heterogeneity, look.taken);
    write_look_test(json, "gap", look.gap, look.taken);
    write_look_test(json, "margin_gap", look.margin_gap, look.taken);
    json.end_object();
  }
  json.end_array();
}

void write_drivers(JsonWriter& json, const MonitorReport& monitor) {
  json.key("driving_prompts").begin_array();
  for (const auto& prompt : monitor.drivers) write_prompt(json, prompt);
  json.end_array();
}

}  // namespace

void write_prompt(JsonWriter& json, const PromptReport& prompt) {
  json.begin_object().member("prompt", prompt.prompt).key("slice");
  if (prompt.slice.empty()) {
    json.null();
  } else {
    json.value(prompt.slice);
  }
  json.member("premium", prompt.premium).member("ceiling", prompt.ceiling).member("disagrees", prompt.disagrees);
  json.member("in_gap", prompt.in_gap).member("gain", prompt.gain);
  json.key("cells").begin_array();
  for (const auto& cell : prompt.cells) {
    json.begin_object().member("policy", cell.policy).member("trials", cell.trials);
    json.member("successes", cell.successes).member("posterior_mean", cell.posterior_mean);
    write_interval(json, "interval", cell.interval);
    write_interval(json, "clopper_pearson", cell.clopper_pearson);
    json.member("upper_limit", cell.upper_limit).end_object();
  }
  json.end_array().end_object();
}

void write_detail(JsonWriter& json, const MonitorReport& monitor) {
  const Evaluation none;
  const auto& e = monitor.evaluation ? *monitor.evaluation : none;
  write_comparators(json, monitor);
  write_intervals(json, monitor, e);
  write_family(json, e);
  write_thresholds(json, monitor, e);
  write_correlation(json, "rate_correlation", e.rate_correlation);
  write_correlation(json, "draw_correlation", e.draw_correlation);
  write_strata(json, e);
  write_best_of_r(json, e);
  write_paths(json, e);
  write_subpools(json, monitor, e.subpools);
  write_lineages(json, e);
  write_bounds(json, e);
  write_identities(json, monitor);
  write_voting(json, monitor.voting);
  write_looks(json, monitor.looks);
  write_drivers(json, monitor);
}

}  // namespace gapwatch::exporters
