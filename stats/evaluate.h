// evaluate(): everything that needs a whole table, of one pool at one moment.
//
// Takes a snapshot and gives an Evaluation; nothing it reads is live, so it runs beside the stream. Rows
// that do not count (Completeness) are left out here: pass all rows. With nothing complete, or no policy, every
// optional is absent and every list empty, except `thresholds`, which has one entry a threshold.
//
// Threads: pure; work is split over `executor` and the result does not depend on its threads. Order of rows and
// columns: by name, as CountTable says. Cost: that of the nulls (nulls.h), plus all subpools up to `most_subpool_policies`.
// Source: statistics.md sections 2-5, 7.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/executor.h"
#include "config/settings.h"
#include "stats/count_table.h"
#include "stats/draw_table.h"
#include "stats/evaluation.h"

namespace gapwatch::stats {

struct EvaluationSettings {
  std::vector<double> thresholds;
  double band_low = 0.05, band_high = 0.30;
  Completeness completeness;
  config::RateKind rates = config::RateKind::kRaw;
  config::Prior prior;
  std::map<std::string, std::string> groups;  // policy -> lineage
  std::uint32_t replicates = 2'000;           // null samples
  std::uint64_t seed = 1;
  bool sample_nulls = true;                   // false: nulls, family and chain stay empty, for keep_nulls()
  std::size_t most_subpool_policies = 16;     // all subpools up to so many policies; 0 leaves them out, at most 20
};

// The settings of a monitor.
EvaluationSettings evaluation_settings(const config::Monitor& monitor);

// `draws` has the same rows and columns as `table`, or is empty.
Evaluation evaluate(const CountTable& table, const DrawTable& draws, const EvaluationSettings& settings,
                    Executor& executor);

// Nulls, family and chain of an earlier evaluation of the same pool and thresholds.
void keep_nulls(const Evaluation& from, Evaluation& to);

}  // namespace gapwatch::stats
