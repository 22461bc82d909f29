// Numbers and fixed sentences of a report for people. Locale-independent; "n/a" where undefined.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "exporters/report_model.h"

namespace gapwatch::exporters {

inline constexpr std::string_view kNotIdentifiable =
    "identifiable: false. Every complete prompt has one draw a cell, so union and ceiling are the same number and the "
    "noise share is 0 by construction: it says nothing about noise. More draws a cell are needed.";

inline constexpr std::string_view kFixedSample =
    "p-values are fixed-sample: valid for one look at data whose size did not depend on what was seen. Looking again "
    "and again as data arrive makes the smallest of them meaningless; no alarm may rest on them. Several thresholds "
    "and statistics are tested, and the values are not adjusted for that.";

std::string number_text(const std::optional<double>& number);   // 4 decimals
std::string signed_text(const std::optional<double>& number);   // with its sign
std::string percent_text(const std::optional<double>& ratio);   // "36.1%"
std::string p_text(double p);                                   // 3 decimals, or 2 digits below 0.001
std::string p_sentence(double p);                               // "p = 0.012"
std::string interval_text(const std::optional<stats::Interval>& interval);  // "[0.0310, 0.0520]"
std::string method_text(const stats::NullComparison& null);     // "monte-carlo, 2000 samples", "exact"
std::string band_text(const MonitorReport& monitor);            // "0.05-0.3"

}  // namespace gapwatch::exporters
