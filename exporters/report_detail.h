// The longer part of a report for people: every statistic that the short one leaves to the JSON, each in a section
// with a sentence on what it is and what it does not say. docs/STATISTICS.md lists them.
//
// A section without numbers is left out. Pure; any thread.
#pragma once

#include "exporters/report_document.h"

namespace gapwatch::exporters {

void add_detail(Document& document, const MonitorReport& monitor);

// Several scorers of one eval side by side; nothing where each eval has one.
void add_scorers(Document& document, const Report& report);

}  // namespace gapwatch::exporters
