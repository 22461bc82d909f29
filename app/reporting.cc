#include "app/reporting.h"

#include <algorithm>
#include <numeric>

namespace gapwatch::app {

using exporters::MonitorReport;
using exporters::PromptReport;

namespace {

std::string window_text(const config::Window& window) {
  return window.last_draws > 0 ? "last_draws: " + std::to_string(window.last_draws) : "all";
}

// Without an anytime-valid test nothing is ever called evidence.
std::string state_of(const stats::PoolSummary& summary) {
  if (summary.complete == 0) return "collecting";
  if (summary.complete < kEnoughPrompts || !summary.identifiable) return "insufficient";
  return "quiet";
}

constexpr const char* kAppliedNames[] = {"applied", "duplicate", "correction", "retracted", "unmatched", "rejected"};

std::uint64_t total(const std::map<std::string, std::uint64_t, std::less<>>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const auto& entry) { return sum + entry.second; });
}

std::map<std::string, std::uint64_t> plain(const std::map<std::string, std::uint64_t, std::less<>>& counts) {
  return {counts.begin(), counts.end()};
}

}  // namespace

MonitorReport make_report(const state::MonitorMoment& moment, std::shared_ptr<const stats::Evaluation> evaluation) {
  MonitorReport report;
  report.name = moment.config.name;
  report.eval = moment.eval;
  report.scorer = moment.scorer;
  report.slice = moment.config.slice;
  report.window = window_text(moment.config.window);
  report.pool = moment.pool;
  report.groups = moment.config.groups;
  report.thresholds = moment.spec.thresholds;
  report.band_low = moment.spec.band_low;
  report.band_high = moment.spec.band_high;
  report.alarm_threshold = moment.config.alarm_threshold;
  report.alpha = moment.config.alpha;
  report.seed = moment.config.nulls.seed;
  report.prompts_total = moment.sums.prompts;
  report.unscored = static_cast<std::uint64_t>(moment.sums.unscored);
  report.summary = stats::summarize(moment.sums.pool, moment.spec);
  report.state = state_of(report.summary);
  for (const auto& [router, sums] : moment.sums.routers) {
    report.routers.push_back({router, stats::summarize(sums, moment.spec)});
  }
  if (evaluation) report.evaluation = *evaluation;
  return report;
}

exporters::StreamHealth stream_health(const ingest::StreamCounters& counters) {
  exporters::StreamHealth health;
  for (std::size_t i = 0; i < std::size(kAppliedNames); ++i) health.events[kAppliedNames[i]] = counters.applied[i];
  health.events["rejected"] = total(counters.rejected);
  health.events["skipped"] = total(counters.skipped);
  health.rejected = plain(counters.rejected);
  health.watermark = counters.watermark;
  health.rebalances = counters.rebalances;
  for (const auto& [kind, reason] : {std::pair{"policy", "too_many_policies"}, std::pair{"prompt", "too_many_prompts"}}) {
    const auto at = counters.rejected.find(std::string_view(reason));
    health.overflow[kind] = at == counters.rejected.end() ? 0 : at->second;
  }
  health.apply_seconds_buckets.assign(std::begin(counters.apply_buckets), std::end(counters.apply_buckets));
  health.apply_seconds_sum = counters.apply_seconds;
  return health;
}

exporters::InputReport input_report(const ingest::StreamCounters& counters) {
  const auto of = [&](state::Applied applied) { return counters.applied[static_cast<std::size_t>(applied)]; };
  exporters::InputReport input;
  input.events = counters.records;
  input.applied = of(state::Applied::kApplied);
  input.duplicates = of(state::Applied::kDuplicate);
  input.corrections = of(state::Applied::kCorrection);
  input.retracted = of(state::Applied::kRetracted);
  input.unmatched = of(state::Applied::kUnmatched);
  input.skipped = plain(counters.skipped);
  input.rejected = plain(counters.rejected);
  return input;
}

}  // namespace gapwatch::app
