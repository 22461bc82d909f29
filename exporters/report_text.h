// The report for a terminal: aligned tables, paragraphs wrapped at 100 columns, ending in a newline.
#pragma once

#include <string>

#include "exporters/report_document.h"

namespace gapwatch::exporters {

// Pure; any thread. See report_document.h for what is said.
std::string report_text(const Report& report, Extent extent = Extent::kShort);

}  // namespace gapwatch::exporters
