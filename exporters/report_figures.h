// The figures of the HTML report, as SVG inside <figure>: the oracle gap of each threshold against the bands of both
// nulls, and the gap from the best single policy through the ceiling to the union. Every number of them is also in a
// table or a sentence of the report.
#pragma once

#include <string>

#include "exporters/report_model.h"

namespace gapwatch::exporters {

// Empty where nothing is complete. Pure; any thread.
std::string report_figures(const MonitorReport& monitor);

}  // namespace gapwatch::exporters
