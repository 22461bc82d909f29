// What every rendering of a report decides in the same way: which gap is the headline, which null
// comparisons belong to a threshold, what is undefined.
//
// An undefined number is an absent optional or a null pointer: a monitor without a complete prompt
// has none of the pool statistics. Pointers live as long as the report. Pure; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "exporters/report_model.h"

namespace gapwatch::exporters {

// The name of what interfaces.md calls "Report JSON".
inline constexpr const char* kReportSchema = "gapwatch.report/1";

// Some prompt is complete, so the pool statistics exist.
bool is_measured(const MonitorReport& monitor);

// "paired" where draws align on every complete prompt, else "product".
std::string_view headline_coupling(const stats::PoolSummary& summary);

// The gap from the best single policy to the union, split. Names coupling and comparator even where
// the numbers are absent; the comparator is empty when nothing is measured.
stats::GapSplit best_single_gap(const MonitorReport& monitor, std::string_view coupling);
// The same for a router, on the prompts it decided.
stats::GapSplit router_gap(const RouterReport& router, std::string_view coupling);

// Coverage at the alarm's threshold, or at the first one if the alarm's is not among them.
const stats::CoverageSummary* headline_coverage(const MonitorReport& monitor);

// The evaluation's comparisons at `tau`; null before the first evaluation.
const stats::ThresholdNulls* nulls_at(const MonitorReport& monitor, double tau);

// The same of the oracle gap as of the last evaluation: the live law where there is one, else the evaluation's.
stats::BothNulls gap_nulls_now(const MonitorReport& monitor, double tau);
// The live laws at `tau`; null where there are none.
const stats::ThresholdComparison* live_nulls_at(const MonitorReport& monitor, double tau);

// Pass@1 interval of the pool's policy `index`; absent before the first evaluation, and while the
// evaluation is of another pool.
std::optional<stats::Interval> pass_at_1_interval(const MonitorReport& monitor, std::size_t index);

// The evaluation is of the counts shown: false while draws have moved the oracle gap since, so that
// nulls, intervals and p-values are of an earlier moment. True where there is none.
bool evaluation_is_current(const MonitorReport& monitor);

// Whether the error rate of the evidence against a null is guaranteed under the traffic seen.
bool redeal_guaranteed(const state::EvidenceMoment& evidence);
bool margin_guaranteed(const state::EvidenceMoment& evidence);
// The monitor's alarm: raised and not acknowledged.
bool alarm_stands(const MonitorReport& monitor);

// An end of a window by time, RFC 3339; what lies beyond the dates is shown as the last one.
std::string time_of_span(TimeMs time);

std::string_view prior_name(config::PriorKind kind);

// The states a monitor can be in, as /metrics lists them.
inline constexpr std::string_view kMonitorStates[] = {"collecting", "insufficient", "quiet",
                                                      "evidence",   "acknowledged", "stale"};

}  // namespace gapwatch::exporters
