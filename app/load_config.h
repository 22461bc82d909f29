// A config file for a command: its settings, or every fault said at once.
#pragma once

#include <string>

#include "base/result.h"
#include "config/load.h"

namespace gapwatch::app {

// The error's message has one line a fault.
Result<config::Settings> load_config(const std::string& path,
                                     config::SourceNeed need = config::SourceNeed::kRequired);

// The help of --input-format.
inline constexpr const char* kFormatHelp =
    "How records are read: native, lm-eval, inspect, otel, cloudevents, langfuse, llmrouterbench, csv, or a mapping file (.yaml)";
// Reads records as `format` says from now on: a name, or the path of a mapping file. Empty: as before.
Status use_format(config::Settings& settings, const std::string& format);

// The longest line a file may have.
std::size_t longest_line(const config::Settings& settings);

}  // namespace gapwatch::app
