#include "exporters/scorer_spans.h"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

#include "exporters/report_facts.h"

namespace gapwatch::exporters {
namespace {

using Members = std::vector<const MonitorReport*>;

void close_span(ScorerSpan& span) {
  std::vector<double> known;
  for (const auto& value : span.values) {
    if (value) known.push_back(*value);
  }
  if (known.size() < 2) return;
  const auto [low, high] = std::minmax_element(known.begin(), known.end());
  span.low = *low;
  span.high = *high;
  span.span = *high - *low;
}

void add_span(ScorerComparison& out, const Members& members, const char* statistic, std::optional<double> tau,
              const std::function<stats::Number(const MonitorReport&)>& value) {
  ScorerSpan span{statistic, tau, {}, {}, {}, {}};
  for (const auto* monitor : members) span.values.push_back(value(*monitor));
  close_span(span);
  out.spans.push_back(std::move(span));
}

void add_spans(ScorerComparison& out, const Members& members) {
  using M = MonitorReport;
  const auto add = [&](const char* name, const auto& value) { add_span(out, members, name, std::nullopt, value); };
  add("pass_at_1_best", [](const M& m) { return stats::Number(m.summary.pass_at_1[m.summary.best_single]); });
  add("ceiling", [](const M& m) { return stats::Number(m.summary.ceiling); });
  add("union_product", [](const M& m) { return stats::Number(m.summary.union_product); });
  add("union_paired", [](const M& m) { return m.summary.union_paired; });
  add("premium_product", [](const M& m) { return stats::Number(m.summary.premium_product); });
  add("noise_share_product", [](const M& m) { return best_single_gap(m, "product").noise_share; });
  add("noise_share_paired", [](const M& m) { return best_single_gap(m, "paired").noise_share; });
  for (const double tau : members.front()->thresholds) {
    const auto at = [&](const char* name, double stats::CoverageSummary::*field) {
      add_span(out, members, name, tau, [&](const M& m) -> stats::Number {
        for (const auto& coverage : m.summary.coverage) {
          if (coverage.tau == tau) return coverage.*field;
        }
        return std::nullopt;
      });
    };
    at("oracle", &stats::CoverageSummary::oracle);
    at("best", &stats::CoverageSummary::best);
    at("gap", &stats::CoverageSummary::gap);
    at("disagreement", &stats::CoverageSummary::disagreement);
  }
}

ScorerComparison comparison_of(Members members) {
  std::stable_sort(members.begin(), members.end(), [](const auto* a, const auto* b) { return a->scorer < b->scorer; });
  ScorerComparison out;
  const auto& first = *members.front();
  out.eval = first.eval;
  out.slice = first.slice;
  out.window = first.window;
  out.same_count = true;
  for (const auto* monitor : members) {
    out.scorers.push_back(monitor->scorer);
    out.monitors.push_back(monitor->name);
    out.complete.push_back(monitor->summary.complete);
    out.same_count &= monitor->summary.complete == first.summary.complete;
  }
  add_spans(out, members);
  return out;
}

}  // namespace

std::vector<ScorerComparison> scorer_comparisons(const std::vector<MonitorReport>& monitors) {
  std::map<std::tuple<std::string, std::optional<std::string>, std::string, std::vector<std::string>>, Members> alike;
  for (const auto& monitor : monitors) {
    if (!is_measured(monitor)) continue;
    auto& members = alike[{monitor.eval, monitor.slice, monitor.window, monitor.pool}];
    // One monitor a scorer: two of the same would only repeat it.
    const bool known = std::any_of(members.begin(), members.end(), [&](const auto* m) { return m->scorer == monitor.scorer; });
    if (!known) members.push_back(&monitor);
  }
  std::vector<ScorerComparison> out;
  for (auto& [key, members] : alike) {
    if (members.size() > 1) out.push_back(comparison_of(std::move(members)));
  }
  return out;
}

}  // namespace gapwatch::exporters
