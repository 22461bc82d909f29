// Several scorers of one eval side by side: the same pool, slice and window judged in different ways.
//
// A scorer is a channel; statistics never mix scorers. Their span, the largest value less the smallest, says how much
// a number depends on who judges. It is sensitivity, not error: no sampling stands behind it, it is no interval, and
// the scorers shown are those that happened to be there.
//
// Pure; any thread. Source: statistics.md section 1.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "exporters/report_model.h"

namespace gapwatch::exporters {

inline constexpr const char* kSpanLabel = "sensitivity, not error";

struct ScorerSpan {
  std::string statistic;         // "pass_at_1_best", "ceiling", "union", "noise_share", "gap", ...
  std::optional<double> tau;
  std::vector<stats::Number> values;  // by scorer, as in `scorers`
  stats::Number low, high, span;      // over the defined values; absent with fewer than two
};

struct ScorerComparison {
  std::string eval;
  std::optional<std::string> slice;
  std::string window;
  std::vector<std::string> scorers, monitors;  // by scorer
  std::vector<std::int64_t> complete;          // prompts, by scorer
  bool same_count = false;                     // as many prompts are complete under each
  std::vector<ScorerSpan> spans;
};

// One for every eval, slice, window and pool that several scorers judged.
std::vector<ScorerComparison> scorer_comparisons(const std::vector<MonitorReport>& monitors);

}  // namespace gapwatch::exporters
