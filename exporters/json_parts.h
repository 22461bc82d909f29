// The parts that the report and the documents of the HTTP API have in common, so that a number has one
// key and one rule for when it is undefined (report_json.h says what null means).
//
// Each writes a member, or members, into the object that is open. Pure; any thread; linear in the output.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "exporters/json_writer.h"
#include "exporters/report_model.h"

namespace gapwatch::exporters {

void write_interval(JsonWriter& json, std::string_view name, const std::optional<stats::Interval>& interval);
void write_counts(JsonWriter& json, std::string_view name, const std::map<std::string, std::uint64_t>& counts);
void write_nulls(JsonWriter& json, std::string_view name, const stats::BothNulls& nulls);

// What a monitor is, without any number of its pool: name, eval, scorer, slice, window.
void write_identity(JsonWriter& json, const MonitorReport& monitor);
// `gap`: from the best single policy to the union under the headline coupling.
void write_gap(JsonWriter& json, const MonitorReport& monitor);
// Begins an object with everything the schema has of a monitor, and leaves it open for what a live one adds.
void write_monitor_open(JsonWriter& json, const MonitorReport& monitor);

}  // namespace gapwatch::exporters
