// The report as JSON: schema gapwatch.report/1 of interfaces.md, and the documents of the HTTP API.
//
// Every key of the schema is always there, in the same order. null means "undefined": no complete
// prompt, draws that do not align (paired), a gap that is not positive (noise_share), a comparison
// that no evaluation has made yet. `sequential`, `population_gap` are null and `attribution` is
// empty: this version does not compute them. Keys beyond the schema are additions a reader may ignore:
// `groups`, `seed`, `alarm`, `oracle_noise_share`, in a comparison with a null `observed`, `method`
// ("monte-carlo", "exact", "gaussian") and `oracle_minus_mixture_nulls`.
//
// report_json holds no time and no duration: the same events give the same bytes.
// Pure; any thread; linear in the report.
#pragma once

#include <string>
#include <vector>

#include "exporters/report_model.h"

namespace gapwatch::exporters {

std::string report_json(const Report& report);

// One monitor, as in the report, with `verdict`, the sentences of the text report, and `evaluation: {at,
// seconds, current}`: when the nulls were last compared (milliseconds since the Unix epoch), how long it took,
// and whether the gaps are still those; null before the first time. Between
// evaluations the counts move on, so a comparison's own `observed` is the one it was made with.
std::string monitor_json(const MonitorReport& monitor);

// {at, version, stream, monitors:[{name, eval, scorer, slice, window, state, pool_size, identifiable,
// prompts, trials_total, headline}]}: the list, and the health of the stream.
std::string monitors_json(const Published& published, const std::string& version);

// {at, stream, monitor}: one message of a monitor's event stream.
std::string event_json(const Published& published, const MonitorReport& monitor);

// {prompts:[{prompt, slice, premium, ceiling, disagrees, cells:[{policy, trials, successes,
// posterior_mean, interval}]}]}, in the given order.
std::string prompts_json(const std::vector<PromptReport>& prompts);

// {"error": message}
std::string error_json(std::string_view message);

}  // namespace gapwatch::exporters
