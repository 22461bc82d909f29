// From the state's moments and snapshots to the report model.
//
// `run` and `report` both come through here, so the same events give the same numbers.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/executor.h"
#include "exporters/report_model.h"
#include "exporters/routes.h"
#include "ingest/pipeline.h"
#include "state/history.h"
#include "state/ledger.h"

namespace gapwatch::app {

// Tables of more cells than this are evaluated without draws: checks on draws are then absent.
inline constexpr std::size_t kMaxDrawCells = 4'000'000;

// A monitor needs as many complete prompts before it says more than "insufficient".
inline constexpr std::int64_t kEnoughPrompts = 20;

// Everything that needs the table. Pure and slow: for a worker, never for the thread that counts. With `checked`, an
// evaluation of the same pool, the nulls are not sampled but taken from there.
stats::Evaluation evaluate(const state::TableSnapshot& snapshot, const state::MonitorMoment& moment,
                           Executor& executor, const stats::Evaluation* checked = nullptr);

// Both null laws by the normal approximation at any size: fast. A law whose moments cost too much is sampled.
stats::NullResults live_nulls(const state::TableSnapshot& snapshot, const state::MonitorMoment& moment,
                              Executor& executor);

// `evaluation` may be null, or older than the moment; `attribution` is of its snapshot.
exporters::MonitorReport make_report(const state::MonitorMoment& moment, const stats::Evaluation* evaluation,
                                     std::vector<state::PolicyEvidenceShare> attribution = {});

// Moves the monitor's alarm on with what the report found, and writes where it stands into the report.
void settle(exporters::MonitorReport& report, state::Ledger& ledger, state::MonitorIndex monitor, bool stale,
            TimeMs now);

// How many names stand more than once among the table's prompts: those that are on several partitions.
std::int64_t split_prompts(const stats::CountTable& table);

// What the history keeps of an evaluated report, as shown at `at`.
state::HistorySample history_sample(const exporters::MonitorReport& report, TimeMs at);

exporters::StreamHealth stream_health(const ingest::StreamCounters& counters);
exporters::InputReport input_report(const ingest::StreamCounters& counters);

// The prompts that drive the gap, in the query's order; cells with posterior means and 95% intervals.
std::vector<exporters::PromptReport> driving_prompts(const state::TableSnapshot& snapshot,
                                                     const state::MonitorMoment& moment, stats::BetaPrior prior,
                                                     const exporters::PromptQuery& query);

}  // namespace gapwatch::app
