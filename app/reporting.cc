#include "app/reporting.h"

#include <algorithm>
#include <numbers>
#include <numeric>

#include "config/schema.h"
#include "exporters/report_facts.h"
#include "stats/evaluate.h"
#include "stats/nulls.h"
#include "stats/rates.h"

namespace gapwatch::app {

using exporters::MonitorReport;
using exporters::PromptReport;

namespace {

stats::Check routing_check(const state::EvidenceMoment& evidence) {
  return {"routing_ignores_outcomes", evidence.stay_z, !evidence.looks_at_outcomes(),
          "Whether the next response on a prompt is of the same policy does not depend on the last one's success "
          "(standard deviations from that). Where it fails, the traffic looks at outcomes and the evidence is not "
          "guaranteed, save that against the re-deal null where every response says its propensities."};
}

std::string family_note(config::FamilyRule rule, std::size_t monitors) {
  switch (rule) {
    case config::FamilyRule::kEach: return "";
    case config::FamilyRule::kBonferroni: return "times the number of monitors, " + std::to_string(monitors);
    case config::FamilyRule::kAverage: return "after averaging over " + std::to_string(monitors) + " monitors";
    case config::FamilyRule::kEBh: return "after e-BH over " + std::to_string(monitors) + " monitors";
  }
  return "";
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
                           Executor& executor, const stats::Evaluation* checked) {
  stats::DrawTable draws{snapshot.table.pool_size(), {}};
  for (const auto& set : snapshot.draws) draws.cells.push_back(set.empty() ? nullptr : &set);
  auto settings = stats::evaluation_settings(moment.config);
  settings.sample_nulls = checked == nullptr;
  auto evaluation = stats::evaluate(snapshot.table, draws, settings, executor);
  if (checked != nullptr) {
    stats::keep_nulls(*checked, evaluation);
    evaluation.population_gap = checked->population_gap;  // which costs more than the samples
    return evaluation;
  }
  stats::PopulationGapOptions options;
  options.tau = moment.config.alarm_threshold;
  options.seed = settings.seed;
  options.margin_alarmed = true;
  evaluation.population_gap =
      stats::population_gap(stats::complete_rows(snapshot.table, settings.completeness), options, executor);
  return evaluation;
}

stats::NullResults live_nulls(const state::TableSnapshot& snapshot, const state::MonitorMoment& moment,
                              Executor& executor) {
  const auto settings = stats::evaluation_settings(moment.config);
  stats::NullOptions options;
  options.replicates = settings.replicates;
  options.seed = settings.seed;
  options.bootstrap = 0;
  options.redeal = options.margin = stats::NullRoute::kGaussian;
  return stats::compare_with_nulls(stats::complete_rows(snapshot.table, settings.completeness), settings.thresholds,
                                   options, executor);
}

MonitorReport make_report(const state::MonitorMoment& moment, const stats::Evaluation* evaluation,
                          std::vector<state::PolicyEvidenceShare> attribution) {
  MonitorReport report;
  report.name = moment.config.name;
  report.eval = moment.eval;
  report.scorer = moment.scorer;
  report.slice = moment.config.slice;
  report.window = config::window_text(moment.config.window);
  if (moment.config.window.by_time() && moment.span != state::TimeSpan()) report.window_span = {moment.span.from, moment.span.to};
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
  report.evidence = moment.evidence;
  report.attribution = std::move(attribution);
  for (const auto& [router, sums] : moment.sums.routers) {
    report.routers.push_back({router, stats::summarize(sums, moment.spec)});
  }
  if (evaluation == nullptr) return report;
  report.evaluation = *evaluation;
  report.population_gap = evaluation->population_gap;
  if (report.evidence) report.evaluation->checks.push_back(routing_check(*report.evidence));
  return report;
}

void settle(MonitorReport& report, state::Ledger& ledger, state::MonitorIndex monitor, bool stale, TimeMs now) {
  auto& book = ledger.book();
  state::AlarmFacts facts;
  facts.complete = static_cast<std::uint64_t>(report.summary.complete);
  facts.enough = report.summary.complete >= kEnoughPrompts && report.summary.identifiable;
  facts.stale = stale;
  facts.has_webhook = !ledger.catalog().monitors()[monitor]->config.webhook.empty();
  facts.now = now;
  // Before the first partition is there (a restart waits for its group), nothing is known that a state could rest on.
  if (!ledger.shards().empty()) book.settle(monitor, facts);
  const auto& settled = book.at(monitor);
  report.state = alarm_state_name(settled.state);
  report.family_note = family_note(ledger.settings().family, book.sharing());
  const bool alarmed = settled.state == state::AlarmState::kEvidence || settled.acknowledged;
  if (report.population_gap && report.population_gap->interval && !alarmed) report.population_gap->interval->low = 0;
  if (!report.evidence) return;
  report.evidence->state = settled.state;
  report.evidence->alarms = settled.alarms;
  report.evidence->delivery = settled.delivery;
  report.evidence->changes = settled.changes;
}

std::int64_t split_prompts(const stats::CountTable& table) {
  const auto& names = table.prompts;  // ascending
  std::int64_t split = 0;
  for (std::size_t i = 1; i < names.size(); ++i) {
    split += names[i] == names[i - 1] && (i == 1 || names[i - 2] != names[i]);
  }
  return split;
}

state::HistorySample history_sample(const MonitorReport& report, TimeMs at) {
  state::HistorySample sample;
  sample.at = at;
  sample.state = report.state;
  sample.complete = static_cast<std::uint64_t>(report.summary.complete);
  sample.prompts = static_cast<std::uint64_t>(report.prompts_total);
  sample.trials = static_cast<std::uint64_t>(report.summary.trials_total);
  if (!exporters::is_measured(report)) return sample;
  const auto& summary = report.summary;
  const auto gap = exporters::best_single_gap(report, exporters::headline_coupling(summary));
  sample.paired = gap.coupling == "paired";
  sample.comparator = summary.pass_at_1[summary.best_single];
  sample.ceiling = summary.ceiling;
  sample.union_rate = sample.paired ? *summary.union_paired : summary.union_product;
  sample.union_upper = summary.frechet_upper;
  sample.noise_share = gap.noise_share;
  if (report.evidence) {
    sample.redeal = {report.evidence->redeal.log_e / std::numbers::ln10, report.evidence->redeal.reached};
    if (report.evidence->margin_on) {
      sample.margin = {report.evidence->margin.log_e / std::numbers::ln10, exporters::alarm_stands(report)};
    }
  }
  const auto null_law = [](const std::optional<stats::NullComparison>& null) {
    return null ? state::HistoryNull{null->mean, null->p05, null->p95, null->excess} : state::HistoryNull{};
  };
  for (const auto& coverage : summary.coverage) {
    state::HistoryThreshold at_tau{coverage.tau, coverage.gap, {}, {}};
    const auto nulls = exporters::gap_nulls_now(report, coverage.tau);
    at_tau.redeal = null_law(nulls.redeal);
    at_tau.margin = null_law(nulls.margin);
    sample.thresholds.push_back(at_tau);
  }
  return sample;
}

exporters::StreamHealth stream_health(const ingest::StreamCounters& counters) {
  exporters::StreamHealth health;
  for (std::size_t i = 0; i < std::size(kAppliedNames); ++i) health.events[kAppliedNames[i]] = counters.applied[i];
  health.events["rejected"] = total(counters.rejected);
  health.events["skipped"] = total(counters.skipped);
  health.rejected = plain(counters.rejected);
  health.skipped = plain(counters.skipped);
  health.dead_letters = counters.dead_letters;
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

// The policies a prompt's part in the gaps is measured from: the same as in its summary.
struct Comparators {
  std::size_t by_rate = 0;      // highest mean rate
  std::size_t by_coverage = 0;  // highest coverage at the alarm threshold
};

Comparators comparators(const stats::CountTable& table, const state::MonitorMoment& moment) {
  auto spec = moment.spec;
  spec.thresholds = {moment.config.alarm_threshold};
  const auto sums = stats::sum_table(table, spec);
  if (sums.complete == 0) return {};
  const auto summary = stats::summarize(sums, spec);
  return {summary.best_single, summary.coverage.front().best_policy};
}

struct Driver {
  std::size_t prompt = 0;
  double premium = 0, ceiling = 0, gain = 0;
  bool in_gap = false;
};

Driver driver(const stats::CountTable& table, std::size_t prompt, const state::MonitorMoment& moment,
              const Comparators& best) {
  Driver out;
  out.prompt = prompt;
  double all_fail = 1;
  bool some = false;
  const auto row = table.row(prompt);
  const auto covers = [&](stats::CellCount cell) {
    return stats::covers(cell, stats::need(moment.config.alarm_threshold, cell.trials));
  };
  for (const auto cell : row) {
    const double rate = stats::raw_rate(cell);
    all_fail *= 1 - rate;
    out.ceiling = std::max(out.ceiling, rate);
    some |= covers(cell);
  }
  out.premium = std::max(0.0, 1 - all_fail - out.ceiling);
  if (!stats::is_complete(row, moment.spec.completeness)) return out;
  out.gain = out.ceiling - stats::raw_rate(row[best.by_rate]);
  out.in_gap = some && !covers(row[best.by_coverage]);
  return out;
}

PromptReport prompt_report(const state::TableSnapshot& snapshot, const Driver& driver, double tau,
                           stats::BetaPrior prior) {
  PromptReport report;
  report.prompt = snapshot.table.prompts[driver.prompt];
  report.slice = snapshot.slices[driver.prompt];
  report.premium = driver.premium;
  report.ceiling = driver.ceiling;
  report.gain = driver.gain;
  report.in_gap = driver.in_gap;
  bool some = false, all = true;
  const auto row = snapshot.table.row(driver.prompt);
  for (std::size_t m = 0; m < row.size(); ++m) {
    const bool covered = stats::covers(row[m], stats::need(tau, row[m].trials));
    some |= covered;
    all &= covered;
    report.cells.push_back({snapshot.table.policies[m], row[m].trials, row[m].successes,
                            stats::posterior_mean(row[m], prior), stats::posterior_interval(row[m], prior),
                            stats::clopper_pearson(row[m]), stats::clopper_pearson_upper(row[m])});
  }
  report.disagrees = some && !all;
  return report;
}

}  // namespace

std::vector<PromptReport> driving_prompts(const state::TableSnapshot& snapshot, const state::MonitorMoment& moment,
                                          stats::BetaPrior prior, const exporters::PromptQuery& query) {
  std::vector<Driver> drivers;
  const auto best = comparators(snapshot.table, moment);
  for (std::size_t i = 0; i < snapshot.table.prompt_count(); ++i) {
    drivers.push_back(driver(snapshot.table, i, moment, best));
  }
  // Rows are by name, so an equal key leaves them by name.
  const auto key = [&](const Driver& d) {
    switch (query.sort) {
      case exporters::PromptSort::kPremium: return -d.premium;
      case exporters::PromptSort::kCeiling: return -d.ceiling;
      case exporters::PromptSort::kGap: return -(d.in_gap ? 1 : 0) - d.gain / 2;  // a gain is at most 1
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
    reports.push_back(prompt_report(snapshot, drivers[i], moment.config.alarm_threshold, prior));
  }
  return reports;
}

}  // namespace gapwatch::app
