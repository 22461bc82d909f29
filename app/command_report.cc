#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "app/answers.h"
#include "app/cli.h"
#include "app/engine.h"
#include "app/load_config.h"
#include "app/options.h"
#include "app/reporting.h"
#include "app/version.h"
#include "base/executor.h"
#include "base/log.h"
#include "exporters/comparators.h"
#include "exporters/report_html.h"
#include "exporters/report_json.h"
#include "exporters/report_markdown.h"
#include "exporters/report_text.h"
#include "stats/confirmatory_looks.h"

namespace gapwatch::app {
namespace {

struct ReportOptions {
  std::vector<std::string> inputs;
  std::string config, input_format, format = "text", by;
  std::vector<double> thresholds;
  std::optional<std::uint32_t> replicates;
  std::optional<std::uint64_t> seed;
  std::uint32_t threads = 0;
  bool detail = false;
  std::vector<std::uint32_t> looks;  // draws of each; empty: none
};

constexpr std::size_t kDrivers = 10;  // prompts whose cells a report lists

void override_monitor(config::Monitor& monitor, const ReportOptions& options) {
  if (!options.thresholds.empty()) {
    monitor.thresholds = options.thresholds;
    std::sort(monitor.thresholds.begin(), monitor.thresholds.end());
    monitor.thresholds.erase(std::unique(monitor.thresholds.begin(), monitor.thresholds.end()), monitor.thresholds.end());
  }
  if (options.replicates) monitor.nulls.replicates = *options.replicates;
  if (options.seed) monitor.nulls.seed = *options.seed;
}

Result<config::Settings> settings_of(const ReportOptions& options) {
  config::Settings settings;
  if (!options.config.empty()) {
    auto loaded = load_config(options.config, config::SourceNeed::kOptional);
    if (!loaded) return loaded.error();
    settings = std::move(*loaded);
  }
  settings.source = {};
  settings.source.files = options.inputs;
  settings.state.path.clear();  // a report is of its input and nothing else
  settings.dead_letters = {};
  if (auto status = use_format(settings, options.input_format); !status) return status.error();
  override_monitor(settings.automatic_monitor, options);
  for (auto& monitor : settings.monitors) override_monitor(monitor, options);
  return settings;
}

// A monitor for each slice seen, beside those that look at all prompts.
void split_by_slice(state::Ledger& ledger) {
  std::vector<config::Monitor> added;
  for (const auto& monitor : ledger.catalog().monitors()) {
    if (monitor->slice) continue;
    std::set<std::string> slices;
    for (const auto& [place, shard] : ledger.shards()) {
      for (const auto& row : shard->rows()) {
        if (row.channel == monitor->channel) slices.insert(ledger.catalog().slice_name(row.slice));
      }
    }
    for (const auto& slice : slices) {
      auto one = monitor->config;
      one.name += "/" + (slice.empty() ? "(no slice)" : slice);
      one.eval = ledger.catalog().at(monitor->channel).eval_name;
      one.scorer = ledger.catalog().at(monitor->channel).scorer;
      one.slice = slice;
      added.push_back(std::move(one));
    }
  }
  for (const auto& monitor : added) ledger.add_monitor(monitor);
}

std::vector<stats::ConfirmatoryLook> looks_at(const state::TableSnapshot& snapshot, const state::MonitorMoment& moment,
                                              const std::vector<std::uint32_t>& draws, Executor& executor) {
  if (snapshot.draws.empty() && snapshot.table.prompt_count() > 0) {
    log::warn(moment.config.name + ": too many cells to keep their draws for; no look is taken");
    return {};
  }
  stats::LookPlan plan;
  plan.draws = draws;
  plan.alpha = moment.config.alpha;
  plan.tau = moment.config.alarm_threshold;
  plan.seed = moment.config.nulls.seed;
  const double needed = 2 * static_cast<double>(draws.size()) / plan.alpha;
  plan.replicates = std::max(moment.config.nulls.replicates, static_cast<std::uint32_t>(std::min(needed, 1e6)));
  return stats::confirmatory_looks(snapshot.draws, moment.pool.size(), plan, executor);
}

Result<exporters::Report> build_report(const ReportOptions& options) {
  auto settings = settings_of(options);
  if (!settings) return settings.error();
  log::set_level(log::Level::kWarn);
  const SystemClock clock;
  auto engine = Engine::make(std::move(*settings), clock);
  if (!engine) return engine.error();
  auto& pipeline = (*engine)->pipeline();
  AnswerBook answers;
  pipeline.set_observer([&](const state::Event& event, state::Applied applied) { answers.note(event, applied); });
  for (;;) {
    const auto more = pipeline.step(std::chrono::milliseconds(100));
    if (!more) return stop(more.error().message);
    if (!*more) break;
  }
  auto& ledger = (*engine)->ledger();
  if (options.by == "slice") split_by_slice(ledger);
  ledger.refresh(clock.now_ms());
  if (const auto left = ledger.catalog().beyond_monitor_cap(); left > 0) {
    log::warn(fmt::format("{} pairs of eval and scorer are beyond limits.monitors ({}) and not in the report", left,
                          (*engine)->settings().max_monitors));
  }

  exporters::Report report;
  report.version = kVersion;
  report.input = input_report(pipeline.counters());
  report.input.files = options.inputs;
  report.input.sha256 = (*engine)->source().input_sha256().value_or("");
  const auto executor = make_thread_executor(options.threads);
  for (state::MonitorIndex index = 0; index < ledger.monitor_count(); ++index) {
    const auto moment = ledger.moment(index);
    auto taken = ledger.snapshot(index, kMaxDrawCells);
    if (!taken) return taken.error();
    auto& snapshot = *taken;
    const auto evaluation = evaluate(snapshot, moment, *executor);
    auto attribution = std::move(snapshot.attribution);
    report.monitors.push_back(make_report(moment, &evaluation, std::move(attribution)));
    auto& monitor = report.monitors.back();
    settle(monitor, ledger, index, false, clock.now_ms());
    monitor.drivers = driving_prompts(snapshot, moment,
                                      {evaluation.prior.alpha, evaluation.prior.beta},
                                      {exporters::PromptSort::kPremium, kDrivers});
    monitor.voting = answers.vote(moment, snapshot);
    if (!options.looks.empty()) monitor.looks = looks_at(snapshot, moment, options.looks, *executor);
  }
  std::sort(report.monitors.begin(), report.monitors.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  exporters::cross_comparators(report.monitors);
  return report;
}

int report(const ReportOptions& options) {
  auto built = build_report(options);
  if (!built) return fail(built.error(), built.error().action == Action::kRefuse ? kUsage : kFailed);
  const auto extent = options.detail ? exporters::Extent::kFull : exporters::Extent::kShort;
  const auto text = options.format == "json"       ? exporters::report_json(*built)
                    : options.format == "markdown" ? exporters::report_markdown(*built, extent)
                    : options.format == "html"     ? exporters::report_html(*built)
                                                   : exporters::report_text(*built, extent);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    return fail(stop("the report could not be written to standard output"));
  }
  if (built->input.applied == 0) {
    std::uint64_t rejected = 0;
    for (const auto& [reason, count] : built->input.rejected) rejected += count;
    return fail(stop(fmt::format("no event was counted: {} records were rejected, and nothing else was there", rejected)));
  }
  return kOk;
}

}  // namespace

void add_report(CLI::App& root, Chosen& chosen) {
  auto* command = root.add_subcommand("report", "Everything measured on stored events, as text, JSON, markdown or HTML");
  auto options = std::make_shared<ReportOptions>();
  command->add_option("INPUT", options->inputs, "Files of events (plain, .gz, .zst), or - for standard input")
      ->required();
  command->add_option("--config", options->config, "Take monitors and defaults from this config");
  command->add_option("--input-format", options->input_format, kFormatHelp);
  command->add_option("--format", options->format, "text, json, markdown or html")
      ->check(CLI::IsMember({"text", "json", "markdown", "html"}));
  command->add_option("--tau", options->thresholds, "Thresholds, separated by commas")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(number_in(1e-9, 1));
  command->add_option("--replicates", options->replicates, "Null samples")->check(whole_in(20, 1'000'000));
  command->add_option("--seed", options->seed, "Seed of everything random")->check(whole_in(0, UINT64_MAX));
  command->add_option("--looks", options->looks,
                      "Scheduled looks at the first so many draws of each cell, as 2,4,8,16,32: p-values to publish")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(whole_in(1, 1'000'000));
  command->add_flag("--detail", options->detail, "Every statistic in text and markdown (JSON always has them)");
  command->add_option("--by", options->by, "slice: a monitor for each slice too")->check(CLI::IsMember({"slice"}));
  command->add_option("--threads", options->threads, "Threads; the result does not depend on them (0: one per core)")
      ->check(whole_in(0, 1'024));
  command->callback([&chosen, options] { chosen = [options] { return report(*options); }; });
}

}  // namespace gapwatch::app
