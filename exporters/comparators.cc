#include "exporters/comparators.h"

#include <algorithm>

#include "exporters/report_facts.h"

namespace gapwatch::exporters {
namespace {

std::vector<std::string> couplings(const stats::PoolSummary& summary) {
  if (summary.union_paired) return {"paired", "product"};
  return {"product"};
}

void add_policies(std::vector<Comparator>& out, const MonitorReport& monitor, const std::string& coupling) {
  for (std::size_t m = 0; m < monitor.pool.size(); ++m) {
    const bool best = m == monitor.summary.best_single;
    const double rate = monitor.summary.pass_at_1[m];
    out.push_back({"policy", best ? "the same prompts" : "stated", best, best, rate,
                   stats::split_gap(monitor.summary, coupling, monitor.pool[m], rate)});
  }
}

void add_chosen(std::vector<Comparator>& out, const MonitorReport& monitor, const std::string& coupling) {
  if (monitor.evaluation && monitor.evaluation->cross_fit) {
    const auto& fit = *monitor.evaluation->cross_fit;
    out.push_back({"cross_fit", "other prompts", false, false, fit.rate,
                   coupling == "paired" ? fit.paired : fit.product});
  }
  for (const auto& chosen : monitor.chosen_elsewhere) {
    out.push_back({"monitor", chosen.monitor, false, !chosen.other_data, chosen.pass_at_1,
                   stats::split_gap(monitor.summary, coupling, chosen.policy, chosen.pass_at_1)});
  }
}

void add_routers(std::vector<Comparator>& out, const MonitorReport& monitor) {
  for (const auto& router : monitor.routers) {
    for (const auto& coupling : couplings(router.summary.routed)) {
      out.push_back({"router", "stated", false, false, router.summary.pass_at_1, router_gap(router, coupling)});
    }
  }
}

}  // namespace

std::vector<Comparator> comparators(const MonitorReport& monitor) {
  std::vector<Comparator> out;
  if (!is_measured(monitor)) return out;
  for (const auto& coupling : couplings(monitor.summary)) {
    add_policies(out, monitor, coupling);
    add_chosen(out, monitor, coupling);
  }
  add_routers(out, monitor);
  return out;
}

void cross_comparators(std::vector<MonitorReport>& monitors) {
  for (auto& here : monitors) {
    here.chosen_elsewhere.clear();
    if (!is_measured(here)) continue;
    for (const auto& there : monitors) {
      if (&here == &there || there.eval != here.eval || there.scorer != here.scorer || !is_measured(there)) continue;
      const auto& policy = there.pool[there.summary.best_single];
      const auto at = std::find(here.pool.begin(), here.pool.end(), policy);
      if (at == here.pool.end()) continue;
      const bool other_data = here.slice && there.slice && *here.slice != *there.slice;
      here.chosen_elsewhere.push_back(
          {there.name, policy, other_data, here.summary.pass_at_1[static_cast<std::size_t>(at - here.pool.begin())]});
    }
  }
}

}  // namespace gapwatch::exporters
