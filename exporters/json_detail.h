// What the JSON of a monitor has beyond the schema's core, under keys of its own: every statistic of
// docs/STATISTICS.md that json_parts.h does not write. Arrays are empty and objects null where there is nothing.
//
// Pure; any thread; linear in the output.
#pragma once

#include "exporters/json_writer.h"
#include "exporters/report_model.h"

namespace gapwatch::exporters {

// Members into the monitor's object, which is open.
void write_detail(JsonWriter& json, const MonitorReport& monitor);

// One prompt with the counts and limits of every cell.
void write_prompt(JsonWriter& json, const PromptReport& prompt);

}  // namespace gapwatch::exporters
