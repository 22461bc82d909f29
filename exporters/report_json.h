// The report as JSON: schema gapwatch.report/1 of interfaces.md.
//
// Every key of the schema is always there, in the same order. null means "undefined": no complete
// prompt, draws that do not align (paired), a gap that is not positive (noise_share), a comparison
// that no evaluation has made yet. Keys beyond the schema are additions a reader may ignore:
// `groups`, `seed`, `alarm`, `oracle_noise_share`, in a comparison with a null `observed`, `method`
// ("monte-carlo", "exact", "gaussian") and `oracle_minus_mixture_nulls`; in `sequential` `responses`, and
// `log10_peak`, `log10_wealth` (without restarts), `closed` (e-values); in an attribution `worse_prompts`,
// `log_odds` and `prompt_log10_e`.
//
// It holds no time but that of events (`since`), and no duration: the same events give the same bytes.
// Pure; any thread; linear in the report.
#pragma once

#include <string>

#include "exporters/report_model.h"

namespace gapwatch::exporters {

std::string report_json(const Report& report);

}  // namespace gapwatch::exporters
