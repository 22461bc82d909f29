#include "exporters/api_json.h"

#include "exporters/json_parts.h"
#include "exporters/report_document.h"
#include "exporters/report_facts.h"

namespace gapwatch::exporters {
namespace {

void write_live_monitor(JsonWriter& json, const MonitorReport& monitor) {
  write_monitor_open(json, monitor);
  json.key("evaluation");
  if (monitor.evaluation) {
    json.begin_object().member("at", monitor.evaluated_at).member("seconds", monitor.evaluation_seconds);
    json.member("current", evaluation_is_current(monitor)).end_object();
  } else {
    json.null();
  }
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

void write_prompt(JsonWriter& json, const PromptReport& prompt) {
  json.begin_object().member("prompt", prompt.prompt).key("slice");
  if (prompt.slice.empty()) {
    json.null();
  } else {
    json.value(prompt.slice);
  }
  json.member("premium", prompt.premium).member("ceiling", prompt.ceiling).member("disagrees", prompt.disagrees);
  json.key("cells").begin_array();
  for (const auto& cell : prompt.cells) {
    json.begin_object().member("policy", cell.policy).member("trials", cell.trials);
    json.member("successes", cell.successes).member("posterior_mean", cell.posterior_mean);
    write_interval(json, "interval", cell.interval);
    json.end_object();
  }
  json.end_array().end_object();
}

}  // namespace

std::string monitor_json(const MonitorReport& monitor) {
  JsonWriter json;
  write_live_monitor(json, monitor);
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
  write_live_monitor(json, monitor);
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

std::string error_json(std::string_view message) {
  JsonWriter json;
  json.begin_object().member("error", message).end_object();
  return json.take();
}

}  // namespace gapwatch::exporters
