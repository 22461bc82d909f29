#include "exporters/evidence_json.h"

#include <algorithm>
#include <numbers>

#include "exporters/json_parts.h"
#include "exporters/report_facts.h"

namespace gapwatch::exporters {
namespace {

// An alarm names so many prompts of each policy.
constexpr std::size_t kPostedPrompts = 5;

double log10_of(double nats) { return nats / std::numbers::ln10; }

void write_time(JsonWriter& json, std::string_view name, TimeMs at) {
  json.key(name);
  if (at > 0) {
    json.value(at);
  } else {
    json.null();
  }
}

void write_null_evidence(JsonWriter& json, std::string_view name, const state::NullMoment& null, bool alarm,
                         bool guaranteed) {
  json.key(name).begin_object().member("log10_e", log10_of(null.log_e)).member("p_anytime", null.p_anytime);
  json.member("alarm", alarm);
  write_time(json, "since", null.reached ? null.reached_at : 0);
  json.member("guaranteed", guaranteed).member("log10_peak", log10_of(null.log_peak));
  json.member("log10_wealth", log10_of(null.wealth)).member("closed", null.closed).end_object();
}

void write_sequential(JsonWriter& json, const MonitorReport& monitor) {
  json.key("sequential");
  if (!monitor.evidence || !is_measured(monitor)) {
    json.null();
    return;
  }
  const auto& evidence = *monitor.evidence;
  json.begin_object();
  write_null_evidence(json, "redeal", evidence.redeal, evidence.redeal.reached, redeal_guaranteed(evidence));
  if (evidence.margin_on) {
    write_null_evidence(json, "margin", evidence.margin, alarm_stands(monitor), margin_guaranteed(evidence));
  } else {
    json.key("margin").null();
  }
  json.key("responses").begin_object().member("entered", evidence.counts.responses);
  json.member("with_propensities", evidence.counts.responses - evidence.counts.without_propensity);
  json.member("late", evidence.counts.late).member("late_corrections", evidence.counts.late_amendments).end_object();
  json.end_object();
}

void write_cells(JsonWriter& json, std::string_view name, const std::vector<state::AttributedCell>& cells,
                 std::size_t most) {
  json.key(name).begin_array();
  for (std::size_t i = 0; i < std::min(most, cells.size()); ++i) {
    const auto& cell = cells[i];
    json.begin_object().member("prompt", cell.prompt).member("log10_e", log10_of(cell.nats));
    json.key("counts").begin_object().member("trials", cell.trials).member("successes", cell.successes).end_object();
    json.member("log_odds", cell.log_odds).member("prompt_log10_e", log10_of(cell.prompt_nats)).end_object();
  }
  json.end_array();
}

void write_attribution(JsonWriter& json, const MonitorReport& monitor, std::size_t most) {
  json.key("attribution").begin_array();
  for (const auto& policy : monitor.attribution) {
    json.begin_object().member("policy", policy.policy).member("log10_e", log10_of(policy.nats));
    write_cells(json, "prompts", policy.better, most);
    write_cells(json, "worse_prompts", policy.worse, most);
    json.end_object();
  }
  json.end_array();
}

void write_population_gap(JsonWriter& json, const MonitorReport& monitor) {
  json.key("population_gap");
  if (!monitor.population_gap) {
    json.null();
    return;
  }
  const auto& gap = *monitor.population_gap;
  json.begin_object().member("tau", gap.tau).member("estimate", gap.estimate);
  write_interval(json, "interval", gap.interval);
  json.member("method", "approximate").end_object();
}

void write_logs(JsonWriter& json, const state::AlarmChange& change) {
  json.key("log10_e").begin_object().member("redeal", log10_of(change.redeal_log_e));
  json.member("margin", log10_of(change.margin_log_e)).end_object();
}

}  // namespace

void write_evidence(JsonWriter& json, const MonitorReport& monitor) {
  write_population_gap(json, monitor);
  write_sequential(json, monitor);
  write_attribution(json, monitor, state::kAttributedCells);
}

void write_transitions(JsonWriter& json, const MonitorReport& monitor) {
  json.key("transitions").begin_array();
  const auto none = state::EvidenceMoment{};
  for (const auto& change : (monitor.evidence ? *monitor.evidence : none).changes) {
    json.begin_object().member("at", change.at).member("from", alarm_state_name(change.from));
    json.member("to", alarm_state_name(change.to));
    write_logs(json, change);
    json.member("log10_peak", log10_of(change.margin_peak)).member("complete", change.complete).end_object();
  }
  json.end_array();
}

std::string alarm_json(const MonitorReport& monitor, const std::string& id) {
  JsonWriter json;
  json.begin_object().member("schema", "gapwatch.alarm/1").member("id", id);
  write_identity(json, monitor);
  json.member("state", monitor.state).member("alpha", monitor.alpha);
  write_time(json, "at", monitor.evidence && !monitor.evidence->changes.empty() ? monitor.evidence->changes.back().at : 0);
  json.key("prompts").begin_object().member("complete", monitor.summary.complete).end_object();
  write_sequential(json, monitor);
  const auto* coverage = headline_coverage(monitor);
  json.key("headline");
  if (coverage == nullptr) {
    json.null();
  } else {
    const auto* nulls = nulls_at(monitor, coverage->tau);
    json.begin_object().member("tau", coverage->tau).member("oracle_gap", coverage->gap);
    write_nulls(json, "nulls", nulls != nullptr ? nulls->gap : stats::BothNulls{});
    json.end_object();
  }
  write_population_gap(json, monitor);
  write_attribution(json, monitor, kPostedPrompts);
  json.end_object();
  return json.take();
}

}  // namespace gapwatch::exporters
