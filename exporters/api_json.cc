#include "exporters/api_json.h"

#include "exporters/evidence_json.h"
#include "exporters/json_detail.h"
#include "exporters/json_parts.h"
#include "exporters/report_document.h"
#include "exporters/report_facts.h"

namespace gapwatch::exporters {
namespace {

// Whole, or without the detail that nobody needs every second.
enum class Part { kWhole, kCore };

void write_live_monitor(JsonWriter& json, const MonitorReport& monitor, Part part) {
  write_monitor_open(json, monitor);
  if (part == Part::kWhole) write_detail(json, monitor);
  json.key("evaluation");
  if (monitor.evaluation) {
    json.begin_object().member("at", monitor.evaluated_at).member("seconds", monitor.evaluation_seconds);
    json.member("nulls_checked_at", monitor.checked_at).member("current", evaluation_is_current(monitor)).end_object();
  } else {
    json.null();
  }
  write_transitions(json, monitor);
  json.member("split_prompts", monitor.split_prompts);
  json.key("verdict").begin_array();
  for (const auto& sentence : verdict(monitor)) json.value(sentence);
  json.end_array().end_object();
}

void write_stream(JsonWriter& json, const StreamHealth& stream) {
  json.key("stream").begin_object();
  write_counts(json, "events", stream.events);
  write_counts(json, "rejected", stream.rejected);
  json.key("partitions").begin_array();
  for (const auto& partition : stream.partitions) {
    json.begin_object().member("topic", partition.topic).member("partition", partition.partition);
    json.member("next", partition.next).key("lag");
    if (partition.lag) {
      json.value(*partition.lag);
    } else {
      json.null();
    }
    json.end_object();
  }
  json.end_array().key("watermark");
  if (stream.watermark > 0) {
    json.value(stream.watermark);
  } else {
    json.null();
  }
  json.member("rebalances", stream.rebalances).member("cells", stream.cells).member("prompts", stream.prompts);
  json.member("late", stream.late);
  json.member("dead_letters", stream.dead_letters).member("split_prompts", stream.split_prompts);
  json.member("state_bytes", stream.state_bytes);
  write_counts(json, "overflow", stream.overflow);
  json.member("paused", stream.paused).member("ready", stream.ready).member("trouble", stream.trouble);
  json.member("config_reload_success", stream.config_reload_success).end_object();
}

void write_headline(JsonWriter& json, const MonitorReport& monitor) {
  const auto* coverage = headline_coverage(monitor);
  json.key("headline");
  if (coverage == nullptr) {
    json.null();
    return;
  }
  json.begin_object().member("tau", coverage->tau).member("oracle_gap", coverage->gap);
  const auto* nulls = nulls_at(monitor, coverage->tau);
  write_nulls(json, "nulls", nulls != nullptr ? nulls->gap : stats::BothNulls{});
  write_gap(json, monitor);
  json.end_object();
}

void write_list_entry(JsonWriter& json, const MonitorReport& monitor) {
  json.begin_object();
  write_identity(json, monitor);
  json.member("state", monitor.state).member("pool_size", monitor.pool.size());
  json.member("identifiable", monitor.summary.identifiable);
  json.key("prompts").begin_object().member("total", monitor.prompts_total);
  json.member("complete", monitor.summary.complete).member("partial", monitor.summary.partial);
  json.member("degenerate", monitor.summary.degenerate).end_object();
  json.member("trials_total", monitor.summary.trials_total);
  write_headline(json, monitor);
  json.end_object();
}

void write_history_evidence(JsonWriter& json, std::string_view name, const state::HistoryEvidence& evidence) {
  json.key(name).begin_object().member("log10_e", evidence.log10_e).member("alarm", evidence.alarm).end_object();
}

void write_history_null(JsonWriter& json, std::string_view name, const state::HistoryNull& null) {
  json.key(name);
  if (!null.mean) {
    json.null();
    return;
  }
  json.begin_object().member("mean", null.mean).member("p05", null.p05).member("p95", null.p95);
  json.member("excess", null.excess).end_object();
}

void write_sample(JsonWriter& json, const state::HistorySample& sample) {
  json.begin_object().member("at", sample.at).member("state", sample.state);
  json.key("prompts").begin_object().member("complete", sample.complete).member("total", sample.prompts).end_object();
  json.member("trials", sample.trials).member("coupling", sample.paired ? "paired" : "product");
  json.member("comparator", sample.comparator).member("ceiling", sample.ceiling).member("union", sample.union_rate);
  json.member("union_upper", sample.union_upper).member("noise_share", sample.noise_share);
  json.key("evidence").begin_object();
  write_history_evidence(json, "redeal", sample.redeal);
  write_history_evidence(json, "margin", sample.margin);
  json.end_object().key("coverage").begin_array();
  for (const auto& at : sample.thresholds) {
    json.begin_object().member("tau", at.tau).member("gap", at.gap).key("nulls").begin_object();
    write_history_null(json, "redeal", at.redeal);
    write_history_null(json, "margin", at.margin);
    json.end_object().end_object();
  }
  json.end_array().end_object();
}

}  // namespace

std::string monitor_json(const MonitorReport& monitor) {
  JsonWriter json;
  write_live_monitor(json, monitor, Part::kWhole);
  return json.take();
}

std::string monitors_json(const Published& published, const std::string& version) {
  JsonWriter json;
  json.begin_object().member("at", published.at).member("version", version);
  write_stream(json, published.stream);
  json.key("monitors").begin_array();
  for (const auto& monitor : published.monitors) write_list_entry(json, *monitor);
  json.end_array().end_object();
  return json.take();
}

std::string event_json(const Published& published, const MonitorReport& monitor) {
  JsonWriter json;
  json.begin_object().member("at", published.at);
  write_stream(json, published.stream);
  json.key("monitor");
  write_live_monitor(json, monitor, Part::kCore);
  json.end_object();
  return json.take();
}

std::string prompts_json(const std::vector<PromptReport>& prompts) {
  JsonWriter json;
  json.begin_object().key("prompts").begin_array();
  for (const auto& prompt : prompts) write_prompt(json, prompt);
  json.end_array().end_object();
  return json.take();
}

std::string history_json(const std::string& monitor, const state::HistorySlice& slice) {
  JsonWriter json;
  json.begin_object().member("monitor", monitor).member("step", slice.step).key("samples").begin_array();
  for (const auto& sample : slice.samples) write_sample(json, sample);
  json.end_array().end_object();
  return json.take();
}

std::string error_json(std::string_view message) {
  JsonWriter json;
  json.begin_object().member("error", message).end_object();
  return json.take();
}

}  // namespace gapwatch::exporters
