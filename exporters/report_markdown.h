// The report as markdown (CommonMark with tables), to be put into a paper's appendix or a review as
// it is. Names from the stream are escaped, so they stay text.
#pragma once

#include <string>

#include "exporters/report_document.h"

namespace gapwatch::exporters {

// Pure; any thread. See report_document.h for what is said.
std::string report_markdown(const Report& report, Extent extent = Extent::kShort);

}  // namespace gapwatch::exporters
