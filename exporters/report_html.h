// The report as one HTML page that needs nothing else: no script, no request, styles and figures inside. What is said
// is that of report_document.h; beside each monitor stand its figures (report_figures.h). Prints as it is.
#pragma once

#include <string>
#include <string_view>

#include "exporters/report_model.h"

namespace gapwatch::exporters {

// Pure; any thread. Names from the stream are escaped, so they stay text.
std::string report_html(const Report& report);

// `text` as HTML shows it, in an element or a quoted attribute.
std::string html_escaped(std::string_view text);

}  // namespace gapwatch::exporters
