// The documents of the HTTP API. Numbers and null are those of report_json.h, and all are one line.
//
// Pure; any thread; linear in what is shown.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "exporters/report_model.h"
#include "state/history.h"

namespace gapwatch::exporters {

// One monitor, as in the report, with `verdict`, the sentences of the text report, and `evaluation: {at,
// seconds, current}`: when the nulls were last compared (milliseconds since the Unix epoch), how long it took,
// and whether the gaps are still those; null before the first time; and `split_prompts`: how many prompts are
// on more than one partition. Between
// evaluations the counts move on, so a comparison's own `observed` is the one it was made with.
std::string monitor_json(const MonitorReport& monitor);

// {at, version, stream, monitors:[{name, eval, scorer, slice, window, state, pool_size, identifiable,
// prompts, trials_total, headline}]}: the list, and the health of the stream. `headline` is null where no
// prompt is complete; in `stream`, `watermark` is null before the first event and a partition's `lag` is
// null while its end is unknown.
std::string monitors_json(const Published& published, const std::string& version);

// {at, stream, monitor}: one message of a monitor's event stream.
std::string event_json(const Published& published, const MonitorReport& monitor);

// {prompts:[{prompt, slice, premium, ceiling, disagrees, in_gap, gain, cells:[{policy, trials, successes,
// posterior_mean, interval}]}]}, in the given order. `slice` is null for a prompt without one.
std::string prompts_json(const std::vector<PromptReport>& prompts);

// {monitor, step, samples:[{at, state, prompts:{complete, total}, trials, coupling, comparator, ceiling, union,
// union_upper, noise_share, evidence:{redeal:{log10_e, alarm}, margin}, coverage:[{tau, gap, nulls:{redeal:{mean, p05,
// p95, excess}, margin}}]}]}: what the monitor showed at its evaluations, oldest first. `step` is the one that was used
// (state/history.h).
std::string history_json(const std::string& monitor, const state::HistorySlice& slice);

// {"error": message}
std::string error_json(std::string_view message);

}  // namespace gapwatch::exporters
