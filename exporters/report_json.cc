#include "exporters/report_json.h"

#include "exporters/json_parts.h"
#include "exporters/report_facts.h"

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

}  // namespace

std::string report_json(const Report& report) {
  JsonWriter json;
  json.begin_object().member("schema", kReportSchema).member("version", report.version);
  write_input(json, report.input);
  json.key("monitors").begin_array();
  for (const auto& monitor : report.monitors) {
    write_monitor_open(json, monitor);
    json.end_object();
  }
  json.end_array().end_object();
  return json.take();
}

}  // namespace gapwatch::exporters
