#include "app/reporting.h"

#include <algorithm>
#include <numeric>

#include "stats/evaluate.h"
#include "stats/rates.h"

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

stats::Evaluation evaluate(const state::TableSnapshot& snapshot, const state::MonitorMoment& moment,
                           Executor& executor) {
  stats::DrawTable draws{snapshot.table.pool_size(), {}};
  for (const auto& set : snapshot.draws) draws.cells.push_back(set.empty() ? nullptr : &set);
  return stats::evaluate(snapshot.table, draws, stats::evaluation_settings(moment.config), executor);
}

MonitorReport make_report(const state::MonitorMoment& moment, const stats::Evaluation* evaluation) {
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

namespace {

struct Driver {
  std::size_t prompt = 0;
  double premium = 0, ceiling = 0;
};

Driver driver(const stats::CountTable& table, std::size_t prompt) {
  Driver out{prompt, 0, 0};
  double all_fail = 1;
  for (const auto cell : table.row(prompt)) {
    const double rate = stats::raw_rate(cell);
    all_fail *= 1 - rate;
    out.ceiling = std::max(out.ceiling, rate);
  }
  out.premium = std::max(0.0, 1 - all_fail - out.ceiling);
  return out;
}

PromptReport prompt_report(const state::TableSnapshot& snapshot, const Driver& driver, double tau,
                           stats::BetaPrior prior) {
  PromptReport report;
  report.prompt = snapshot.table.prompts[driver.prompt];
  report.slice = snapshot.slices[driver.prompt];
  report.premium = driver.premium;
  report.ceiling = driver.ceiling;
  bool some = false, all = true;
  const auto row = snapshot.table.row(driver.prompt);
  for (std::size_t m = 0; m < row.size(); ++m) {
    const bool covered = stats::covers(row[m], stats::need(tau, row[m].trials));
    some |= covered;
    all &= covered;
    report.cells.push_back({snapshot.table.policies[m], row[m].trials, row[m].successes,
                            stats::posterior_mean(row[m], prior), stats::posterior_interval(row[m], prior)});
  }
  report.disagrees = some && !all;
  return report;
}

}  // namespace

std::vector<PromptReport> driving_prompts(const state::TableSnapshot& snapshot, double alarm_threshold,
                                          stats::BetaPrior prior, const exporters::PromptQuery& query) {
  std::vector<Driver> drivers;
  for (std::size_t i = 0; i < snapshot.table.prompt_count(); ++i) drivers.push_back(driver(snapshot.table, i));
  // Rows are by name, so an equal key leaves them by name.
  const auto key = [&](const Driver& d) {
    switch (query.sort) {
      case exporters::PromptSort::kPremium: return -d.premium;
      case exporters::PromptSort::kCeiling: return -d.ceiling;
      case exporters::PromptSort::kPrompt: break;
    }
    return 0.0;
  };
  const auto shown = std::min(query.limit, drivers.size());
  std::partial_sort(drivers.begin(), drivers.begin() + static_cast<std::ptrdiff_t>(shown), drivers.end(),
                    [&](const Driver& a, const Driver& b) {
                      return std::pair(key(a), a.prompt) < std::pair(key(b), b.prompt);
                    });
  std::vector<PromptReport> reports;
  for (std::size_t i = 0; i < shown; ++i) {
    reports.push_back(prompt_report(snapshot, drivers[i], alarm_threshold, prior));
  }
  return reports;
}

}  // namespace gapwatch::app
