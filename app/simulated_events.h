// Simulated draws as native events.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/ids.h"
#include "base/result.h"
#include "stats/simulate.h"

namespace gapwatch::app {

struct SimulatedNames {
  std::string eval = "simulated", scorer = "default";
};

// One event, without a line end; `time` is its time stamp.
std::string simulated_event(const stats::SimulatedDraw& draw, const stats::SimulationOptions& options,
                            const SimulatedNames& names, std::optional<TimeMs> time);

}  // namespace gapwatch::app
