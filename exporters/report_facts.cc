#include "exporters/report_facts.h"

#include <algorithm>

#include "base/time_text.h"

namespace gapwatch::exporters {

std::string time_of_span(TimeMs time) { return format_rfc3339(std::clamp<TimeMs>(time, 0, kLastTime)); }

bool is_measured(const MonitorReport& monitor) {
  const auto& summary = monitor.summary;
  return summary.complete > 0 && !monitor.pool.empty() && summary.pass_at_1.size() == monitor.pool.size() &&
         summary.best_single < monitor.pool.size();
}

std::string_view headline_coupling(const stats::PoolSummary& summary) {
  return summary.union_paired ? "paired" : "product";
}

stats::GapSplit best_single_gap(const MonitorReport& monitor, std::string_view coupling) {
  if (!is_measured(monitor)) return {std::string(coupling), "", {}, {}, {}, {}};
  const auto best = monitor.summary.best_single;
  return stats::split_gap(monitor.summary, std::string(coupling), monitor.pool[best],
                          monitor.summary.pass_at_1[best]);
}

stats::GapSplit router_gap(const RouterReport& router, std::string_view coupling) {
  const auto& summary = router.summary;
  if (!summary.pass_at_1 || summary.routed.complete == 0) {
    return {std::string(coupling), router.router, {}, {}, {}, {}};
  }
  return stats::split_gap(summary.routed, std::string(coupling), router.router, *summary.pass_at_1);
}

const stats::CoverageSummary* headline_coverage(const MonitorReport& monitor) {
  if (!is_measured(monitor) || monitor.summary.coverage.empty()) return nullptr;
  for (const auto& coverage : monitor.summary.coverage) {
    if (coverage.tau == monitor.alarm_threshold) return &coverage;
  }
  return &monitor.summary.coverage.front();
}

const stats::ThresholdNulls* nulls_at(const MonitorReport& monitor, double tau) {
  if (!monitor.evaluation) return nullptr;
  for (const auto& nulls : monitor.evaluation->thresholds) {
    if (nulls.tau == tau) return &nulls;
  }
  return nullptr;
}

const stats::ThresholdComparison* live_nulls_at(const MonitorReport& monitor, double tau) {
  if (!monitor.live_nulls) return nullptr;
  for (const auto& nulls : monitor.live_nulls->thresholds) {
    if (nulls.tau == tau) return &nulls;
  }
  return nullptr;
}

stats::BothNulls gap_nulls_now(const MonitorReport& monitor, double tau) {
  const auto* checked = nulls_at(monitor, tau);
  const auto* live = live_nulls_at(monitor, tau);
  auto now = checked != nullptr ? checked->gap : stats::BothNulls{};
  if (live != nullptr && live->gap.redeal) now.redeal = live->gap.redeal;
  if (live != nullptr && live->gap.margin) now.margin = live->gap.margin;
  return now;
}

std::optional<stats::Interval> pass_at_1_interval(const MonitorReport& monitor, std::size_t index) {
  if (!monitor.evaluation) return std::nullopt;
  const auto& intervals = monitor.evaluation->pass_at_1_intervals;
  if (intervals.size() != monitor.pool.size() || index >= intervals.size()) return std::nullopt;
  return intervals[index];
}

bool evaluation_is_current(const MonitorReport& monitor) {
  for (const auto& coverage : monitor.summary.coverage) {
    const auto nulls = gap_nulls_now(monitor, coverage.tau);
    for (const auto* null : {&nulls.redeal, &nulls.margin}) {
      if (*null && std::abs((*null)->observed - coverage.gap) > 1e-9) return false;
    }
  }
  return true;
}

std::string_view prior_name(config::PriorKind kind) {
  switch (kind) {
    case config::PriorKind::kUniform: return "uniform";
    case config::PriorKind::kJeffreys: return "jeffreys";
    case config::PriorKind::kGiven: return "explicit";
    case config::PriorKind::kMoments: return "fitted";
    case config::PriorKind::kLikelihood: return "likelihood";
  }
  return "unknown";
}

}  // namespace gapwatch::exporters
