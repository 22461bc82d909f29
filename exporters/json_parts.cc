#include "exporters/json_parts.h"

#include "exporters/evidence_json.h"
#include "exporters/report_facts.h"

namespace gapwatch::exporters {
namespace {

using stats::Number;

Number defined(bool measured, double value) { return measured ? Number(value) : std::nullopt; }

void write_text_or_null(JsonWriter& json, std::string_view name, const std::optional<std::string>& text) {
  json.key(name);
  if (text) {
    json.value(*text);
  } else {
    json.null();
  }
}

void write_live(JsonWriter& json, const stats::NullComparison& live) {
  json.key("live").begin_object().member("mean", live.mean).member("p05", live.p05).member("p95", live.p95);
  json.member("p_upper", live.p_upper).member("p_lower", live.p_lower).member("excess", live.excess);
  json.member("observed", live.observed).member("method", live.method).end_object();
}

void write_comparison(JsonWriter& json, std::string_view name, const std::optional<stats::NullComparison>& null,
                      const std::optional<stats::NullComparison>& live = {}) {
  json.key(name);
  if (!null) {
    json.null();
    return;
  }
  json.begin_object().member("mean", null->mean).member("p05", null->p05).member("p95", null->p95);
  json.member("p_upper", null->p_upper).member("p_lower", null->p_lower);
  json.member("fraction_upper", null->fraction_upper).member("fraction_lower", null->fraction_lower);
  json.member("excess", null->excess);
  write_interval(json, "excess_interval", null->excess_interval);
  json.member("samples", null->samples).member("observed", null->observed).member("method", null->method);
  if (live) write_live(json, *live);
  json.end_object();
}

void write_live_nulls(JsonWriter& json, std::string_view name, const stats::BothNulls& nulls,
                      const stats::BothNulls& live) {
  json.key(name).begin_object();
  write_comparison(json, "redeal", nulls.redeal, live.redeal);
  write_comparison(json, "margin", nulls.margin, live.margin);
  json.end_object();
}

void write_prompts_and_trials(JsonWriter& json, const MonitorReport& monitor) {
  const auto& summary = monitor.summary;
  json.key("prompts").begin_object().member("total", monitor.prompts_total).member("complete", summary.complete);
  json.member("partial", summary.partial).member("degenerate", summary.degenerate).end_object();
  const bool measured = summary.complete > 0;
  json.key("trials").begin_object().member("min", defined(measured, summary.trials_min));
  json.member("median", defined(measured, summary.trials_median));
  json.member("max", defined(measured, summary.trials_max)).member("total", summary.trials_total).end_object();
  json.member("unscored", monitor.unscored).member("state", monitor.state);
}

void write_checks(JsonWriter& json, const MonitorReport& monitor) {
  json.key("checks").begin_array();
  if (monitor.evaluation) {
    for (const auto& check : monitor.evaluation->checks) {
      json.begin_object().member("name", check.name).member("value", check.value).member("ok", check.ok);
      json.member("meaning", check.meaning).end_object();
    }
  }
  json.end_array();
}

void write_prior(JsonWriter& json, const MonitorReport& monitor) {
  json.key("prior");
  if (!monitor.evaluation) {
    json.null();
    return;
  }
  const auto& prior = monitor.evaluation->prior;
  json.begin_object().member("kind", prior_name(prior.kind)).member("alpha", prior.alpha);
  json.member("beta", prior.beta).member("identified", monitor.evaluation->prior_identified).end_object();
}

void write_policies(JsonWriter& json, const MonitorReport& monitor) {
  const auto& summary = monitor.summary;
  const bool measured = is_measured(monitor);
  json.key("policies").begin_array();
  for (std::size_t m = 0; m < monitor.pool.size(); ++m) {
    json.begin_object().member("policy", monitor.pool[m]);
    json.member("pass_at_1", measured ? Number(summary.pass_at_1[m]) : std::nullopt);
    write_interval(json, "interval", pass_at_1_interval(monitor, m));
    json.member("rauc", measured && m < summary.rauc.size() ? Number(summary.rauc[m]) : std::nullopt);
    json.key("coverage").begin_object();
    for (std::size_t t = 0; t < monitor.thresholds.size(); ++t) {
      const bool known = measured && t < summary.coverage.size() && m < summary.coverage[t].policy.size();
      json.member(shortest(monitor.thresholds[t]), known ? Number(summary.coverage[t].policy[m]) : std::nullopt);
    }
    json.end_object().end_object();
  }
  json.end_array();
}

void write_unions(JsonWriter& json, const stats::PoolSummary& summary, bool measured) {
  json.member("ceiling", defined(measured, summary.ceiling));
  json.key("union").begin_object().member("product", defined(measured, summary.union_product));
  json.member("paired", measured ? summary.union_paired : std::nullopt);
  json.member("frechet_upper", defined(measured, summary.frechet_upper)).end_object();
  json.key("premium").begin_object().member("product", defined(measured, summary.premium_product));
  json.member("paired", measured ? summary.premium_paired : std::nullopt);
  json.member("frechet_width", defined(measured, summary.frechet_width)).end_object();
}

void write_oracle(JsonWriter& json, const MonitorReport& monitor) {
  const auto& summary = monitor.summary;
  const bool measured = is_measured(monitor);
  json.key("oracle").begin_object();
  write_unions(json, summary, measured);
  json.key("best_single");
  if (measured) {
    json.begin_object().member("policy", monitor.pool[summary.best_single]);
    json.member("pass_at_1", summary.pass_at_1[summary.best_single]).end_object();
  } else {
    json.null();
  }
  json.member("pass_at_1_gap", defined(measured, summary.oracle_pass_at_1_gap));
  json.member("positive_fraction", defined(measured, summary.positive_fraction));
  json.member("conditional_premium", measured ? summary.conditional_premium : std::nullopt);
  json.key("zero").begin_object().member("certain", summary.certain).member("dead", summary.dead);
  json.member("lone", summary.lone).end_object();
  json.member("effective_pool_size", monitor.evaluation ? monitor.evaluation->effective_pool_size : std::nullopt);
  json.key("oracle_noise_share").begin_object();
  json.member("product", measured ? summary.oracle_noise_share_product : std::nullopt);
  json.member("paired", measured ? summary.oracle_noise_share_paired : std::nullopt).end_object();
  json.end_object();
}

void write_split(JsonWriter& json, const stats::GapSplit& gap, const std::optional<stats::Interval>& interval) {
  json.key("gap").begin_object().member("coupling", gap.coupling).key("comparator");
  if (gap.comparator.empty()) {
    json.null();
  } else {
    json.value(gap.comparator);
  }
  json.member("total", gap.total).member("recoverable", gap.recoverable).member("noise", gap.noise);
  json.member("noise_share", gap.noise_share);
  write_interval(json, "noise_share_interval", interval);
  json.end_object();
}

void write_by_threshold(JsonWriter& json, std::string_view name, const std::vector<double>& thresholds,
                        const std::vector<Number>& numbers) {
  json.key(name).begin_object();
  for (std::size_t t = 0; t < thresholds.size(); ++t) {
    json.member(shortest(thresholds[t]), t < numbers.size() ? numbers[t] : std::nullopt);
  }
  json.end_object();
}

void write_routers(JsonWriter& json, const MonitorReport& monitor) {
  json.key("routers").begin_array();
  for (const auto& router : monitor.routers) {
    json.begin_object().member("router", router.router).member("prompts", router.summary.prompts);
    json.member("pass_at_1", router.summary.pass_at_1);
    write_split(json, router_gap(router, headline_coupling(router.summary.routed)), std::nullopt);
    write_by_threshold(json, "disagreement_error", monitor.thresholds, router.summary.disagreement_error);
    write_by_threshold(json, "gain", monitor.thresholds, router.summary.gain);
    json.end_object();
  }
  json.end_array();
}

void write_coverage_nulls(JsonWriter& json, const stats::ThresholdNulls& nulls,
                          const stats::ThresholdComparison* live) {
  write_live_nulls(json, "nulls", nulls.gap, live != nullptr ? live->gap : stats::BothNulls{});
  write_live_nulls(json, "disagreement_nulls", nulls.disagreement,
                   live != nullptr ? live->disagreement : stats::BothNulls{});
  json.key("split_half").begin_object().member("matched", nulls.split_half.matched);
  json.member("scoring_half", nulls.split_half.scoring_half).end_object();
  json.key("oracle_minus_mixture_nulls").begin_object();
  write_comparison(json, "redeal", nulls.oracle_minus_mixture);
  json.end_object();
}

void write_coverage_at(JsonWriter& json, const MonitorReport& monitor, std::size_t t) {
  const double tau = monitor.thresholds[t];
  const bool measured = is_measured(monitor) && t < monitor.summary.coverage.size();
  const auto coverage = measured ? monitor.summary.coverage[t] : stats::CoverageSummary{};
  const stats::ThresholdNulls none;
  const auto* nulls = nulls_at(monitor, tau);
  if (nulls == nullptr) nulls = &none;
  json.begin_object().member("tau", tau).member("oracle", defined(measured, coverage.oracle));
  json.member("best", defined(measured, coverage.best)).key("best_policy");
  if (measured && coverage.best_policy < monitor.pool.size()) {
    json.value(monitor.pool[coverage.best_policy]);
  } else {
    json.null();
  }
  json.member("mixture", defined(measured, coverage.mixture)).member("mixture_matched", nulls->mixture_matched);
  json.member("gap", defined(measured, coverage.gap)).member("disagreement", defined(measured, coverage.disagreement));
  json.member("break_even_error", coverage.break_even_error);
  json.member("oracle_minus_mixture", defined(measured, coverage.oracle_minus_mixture));
  write_coverage_nulls(json, *nulls, live_nulls_at(monitor, tau));
  json.end_object();
}

void write_coverage(JsonWriter& json, const MonitorReport& monitor) {
  json.key("coverage").begin_array();
  for (std::size_t t = 0; t < monitor.thresholds.size(); ++t) write_coverage_at(json, monitor, t);
  json.end_array();
  const bool measured = is_measured(monitor);
  const auto& summary = monitor.summary;
  json.key("rauc").begin_object().key("band").begin_array();
  json.value(monitor.band_low).value(monitor.band_high).end_array();
  json.member("best", defined(measured, summary.rauc_best)).member("oracle", defined(measured, summary.rauc_oracle));
  json.member("mixture", defined(measured, summary.rauc_mixture)).end_object();
  write_live_nulls(json, "pass_at_1_nulls", monitor.evaluation ? monitor.evaluation->pass_at_1_gap : stats::BothNulls{},
                   monitor.live_nulls ? monitor.live_nulls->pass_at_1_gap : stats::BothNulls{});
}

void write_additions(JsonWriter& json, const MonitorReport& monitor) {
  json.key("groups").begin_object();
  for (const auto& [policy, group] : monitor.groups) json.member(policy, group);
  json.end_object();
  json.member("seed", monitor.seed).key("alarm").begin_object().member("alpha", monitor.alpha);
  json.member("threshold", monitor.alarm_threshold).end_object();
}

}  // namespace

void write_interval(JsonWriter& json, std::string_view name, const std::optional<stats::Interval>& interval) {
  json.key(name);
  if (!interval) {
    json.null();
    return;
  }
  json.begin_array().value(interval->low).value(interval->high).end_array();
}

void write_counts(JsonWriter& json, std::string_view name, const std::map<std::string, std::uint64_t>& counts) {
  json.key(name).begin_object();
  for (const auto& [reason, count] : counts) json.member(reason, count);
  json.end_object();
}

void write_nulls(JsonWriter& json, std::string_view name, const stats::BothNulls& nulls) {
  write_live_nulls(json, name, nulls, {});
}

void write_gap(JsonWriter& json, const MonitorReport& monitor) {
  const auto gap = best_single_gap(monitor, headline_coupling(monitor.summary));
  const bool has_interval = monitor.evaluation && gap.noise_share;
  write_split(json, gap, has_interval ? monitor.evaluation->noise_share_interval : std::nullopt);
}

void write_identity(JsonWriter& json, const MonitorReport& monitor) {
  json.member("name", monitor.name).member("eval", monitor.eval).member("scorer", monitor.scorer);
  write_text_or_null(json, "slice", monitor.slice);
  json.member("window", monitor.window);
  if (!monitor.window_span) return;
  json.key("window_span").begin_object().member("from", time_of_span(monitor.window_span->first));
  json.member("to", time_of_span(monitor.window_span->second)).end_object();
}

void write_monitor_open(JsonWriter& json, const MonitorReport& monitor) {
  json.begin_object();
  write_identity(json, monitor);
  json.key("pool").begin_array();
  for (const auto& policy : monitor.pool) json.value(policy);
  json.end_array();
  json.member("identifiable", monitor.summary.identifiable);
  write_prompts_and_trials(json, monitor);
  write_checks(json, monitor);
  write_prior(json, monitor);
  write_policies(json, monitor);
  write_oracle(json, monitor);
  write_gap(json, monitor);
  write_routers(json, monitor);
  write_coverage(json, monitor);
  write_evidence(json, monitor);
  write_additions(json, monitor);
}

}  // namespace gapwatch::exporters
