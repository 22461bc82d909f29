// The evidence of a monitor as JSON: `sequential`, `attribution` and `population_gap` of interfaces.md, an
// alarm's history, and the message that an alarm is posted as.
//
// Pure; any thread.
#pragma once

#include <string>

#include "exporters/json_writer.h"
#include "exporters/report_model.h"

namespace gapwatch::exporters {

// The three members, into an object that is open. Null (empty for the list) where there is no evidence yet.
void write_evidence(JsonWriter& json, const MonitorReport& monitor);

// `transitions`: the alarm's latest changes of state, oldest first.
void write_transitions(JsonWriter& json, const MonitorReport& monitor);

// What a webhook is sent for the monitor's latest alarm. `id` names the alarm and never another one.
std::string alarm_json(const MonitorReport& monitor, const std::string& id);

}  // namespace gapwatch::exporters
