// The sections of add_detail() about the pool as a whole: where the premium is, draws, subpools, lineages, limits.
#pragma once

#include "exporters/report_document.h"

namespace gapwatch::exporters {

// The monitor has an evaluation.
void add_pool_detail(Document& document, const MonitorReport& monitor);

}  // namespace gapwatch::exporters
