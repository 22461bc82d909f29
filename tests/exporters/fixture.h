// A published snapshot to render: one monitor with everything (the figures of a pool of eleven
// policies on 500 prompts), one not evaluated yet, one that has nothing, with a hostile name.
#pragma once

#include "exporters/report_model.h"
#include "state/history.h"

namespace gapwatch::exporters::fixture {

inline constexpr const char* kHostileName = "<img src=x onerror=alert(1)>\"\\\n\xE2\x80\xAE";

MonitorReport full_monitor();
MonitorReport unevaluated_monitor();  // product coupling only, one trial a cell
MonitorReport empty_monitor();        // no complete prompt

Published published();
Report report();
std::vector<PromptReport> prompts();
// Two samples a minute apart: one with nothing complete, one with one threshold and an alarm.
state::HistorySlice history();

}  // namespace gapwatch::exporters::fixture
