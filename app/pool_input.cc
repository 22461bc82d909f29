#include "app/pool_input.h"

#include <filesystem>

#include "app/engine.h"
#include "app/load_config.h"
#include "app/open_state.h"
#include "base/log.h"
#include "stats/evaluate.h"

namespace gapwatch::app {
namespace {

Result<config::Settings> settings_of(const PoolInput& input) {
  config::Settings settings;
  if (!input.config.empty()) {
    auto loaded = load_config(input.config, config::SourceNeed::kOptional);
    if (!loaded) return loaded.error();
    settings = std::move(*loaded);
  }
  if (auto status = use_format(settings, input.input_format); !status) return status.error();
  return settings;
}

Result<std::unique_ptr<Engine>> counted(config::Settings settings, const std::vector<std::string>& files,
                                        const Clock& clock) {
  settings.source = {};
  settings.source.files = files;
  settings.state.path.clear();
  settings.dead_letters = {};
  auto engine = Engine::make(std::move(settings), clock);
  if (!engine) return engine.error();
  for (;;) {
    const auto more = (*engine)->pipeline().step(std::chrono::milliseconds(100));
    if (!more) return stop(more.error().message);
    if (!*more) break;
  }
  return engine;
}

Result<state::MonitorIndex> chosen_monitor(const state::Ledger& ledger, const std::string& name) {
  std::string known;
  for (state::MonitorIndex index = 0; index < ledger.monitor_count(); ++index) {
    const auto moment = ledger.moment(index);
    if (moment.config.name == name || (name.empty() && ledger.monitor_count() == 1)) return index;
    known += (known.empty() ? "" : ", ") + moment.config.name;
  }
  if (known.empty()) return refuse("there is nothing counted in the input");
  if (name.empty()) return refuse("the input has several monitors; say one with --monitor: " + known);
  return refuse("\"" + name + "\" is not a monitor of the input; known: " + known);
}

Result<FoundPool> pool_of(state::Ledger& ledger, const std::string& monitor, Executor& executor) {
  ledger.refresh(SystemClock().now_ms());
  const auto index = chosen_monitor(ledger, monitor);
  if (!index) return index.error();
  FoundPool found;
  found.monitor = ledger.moment(*index).config;
  const auto rule = stats::evaluation_settings(found.monitor).completeness;
  const auto snapshot = ledger.snapshot(*index, 0);
  if (!snapshot) return snapshot.error();
  const auto table = stats::complete_rows(snapshot->table, rule);
  if (table.prompt_count() == 0) {
    return refuse("no prompt of " + found.monitor.name + " is complete: nothing to go by");
  }
  found.pool = stats::power_pool_of(table, executor);
  for (std::size_t i = 0; i < table.prompt_count(); ++i) {
    std::uint64_t trials = 0;
    for (const auto cell : table.row(i)) trials += cell.trials;
    found.prompt_trials.push_back(trials);
  }
  return found;
}

}  // namespace

Result<FoundPool> pool_from_input(const PoolInput& input, Executor& executor) {
  log::set_level(log::Level::kWarn);
  auto settings = settings_of(input);
  if (!settings) return settings.error();
  std::error_code ignored;
  if (input.inputs.size() == 1 && std::filesystem::is_directory(input.inputs[0], ignored)) {
    const auto opened = open_state(input.inputs[0], std::move(*settings));
    return opened ? pool_of(*(*opened)->ledger, input.monitor, executor) : opened.error();
  }
  const SystemClock clock;
  const auto engine = counted(std::move(*settings), input.inputs, clock);
  return engine ? pool_of((*engine)->ledger(), input.monitor, executor) : engine.error();
}

}  // namespace gapwatch::app
