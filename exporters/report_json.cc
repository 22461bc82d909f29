#include "exporters/report_json.h"

#include "exporters/json_detail.h"
#include "exporters/json_parts.h"
#include "exporters/report_facts.h"
#include "exporters/scorer_spans.h"

namespace gapwatch::exporters {
namespace {

void write_input(JsonWriter& json, const InputReport& input) {
  json.key("input").begin_object().key("files").begin_array();
  for (const auto& file : input.files) json.value(file);
  json.end_array();
  json.member("events", input.events).member("applied", input.applied).member("duplicates", input.duplicates);
  json.member("corrections", input.corrections);
  write_counts(json, "rejected", input.rejected);
  json.key("sha256");
  if (input.sha256.empty()) {
    json.null();
  } else {
    json.value(input.sha256);
  }
  json.member("retracted", input.retracted).member("unmatched", input.unmatched);
  write_counts(json, "skipped", input.skipped);
  json.end_object();
}

void write_names(JsonWriter& json, std::string_view name, const std::vector<std::string>& names) {
  json.key(name).begin_array();
  for (const auto& one : names) json.value(one);
  json.end_array();
}

void write_comparison(JsonWriter& json, const ScorerComparison& comparison) {
  json.begin_object().member("eval", comparison.eval).key("slice");
  if (comparison.slice) {
    json.value(*comparison.slice);
  } else {
    json.null();
  }
  json.member("window", comparison.window);
  write_names(json, "scorers", comparison.scorers);
  write_names(json, "monitors", comparison.monitors);
  json.key("complete").begin_array();
  for (const auto complete : comparison.complete) json.value(complete);
  json.end_array().member("same_count", comparison.same_count).member("span_is", kSpanLabel);
  json.key("spans").begin_array();
  for (const auto& span : comparison.spans) {
    json.begin_object().member("statistic", span.statistic).member("tau", span.tau).key("values").begin_array();
    for (const auto& value : span.values) json.value(value);
    json.end_array().member("low", span.low).member("high", span.high).member("span", span.span).end_object();
  }
  json.end_array().end_object();
}

void write_scorers(JsonWriter& json, const Report& report) {
  json.key("scorers").begin_array();
  for (const auto& comparison : scorer_comparisons(report.monitors)) write_comparison(json, comparison);
  json.end_array();
}

}  // namespace

std::string report_json(const Report& report) {
  JsonWriter json;
  json.begin_object().member("schema", kReportSchema).member("version", report.version);
  write_input(json, report.input);
  json.key("monitors").begin_array();
  for (const auto& monitor : report.monitors) {
    write_monitor_open(json, monitor);
    write_detail(json, monitor);
    json.end_object();
  }
  json.end_array();
  write_scorers(json, report);
  json.end_object();
  return json.take();
}

}  // namespace gapwatch::exporters
