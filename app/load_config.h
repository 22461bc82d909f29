// A config file for a command: its settings, or every fault said at once.
#pragma once

#include <string>

#include "base/result.h"
#include "config/load.h"

namespace gapwatch::app {

// The error's message has one line a fault.
Result<config::Settings> load_config(const std::string& path,
                                     config::SourceNeed need = config::SourceNeed::kRequired);

}  // namespace gapwatch::app
