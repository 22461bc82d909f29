#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "app/cli.h"
#include "app/load_config.h"
#include "app/options.h"
#include "app/pool_input.h"
#include "base/executor.h"
#include "exporters/json_writer.h"
#include "stats/power.h"

namespace gapwatch::app {
namespace {

struct PowerCommand {
  PoolInput input;
  std::string format = "text";
  stats::PowerPool stated;
  double quality_shift = 0;
  std::vector<double> shares{0.3};
  double gain = 0.1;
  std::optional<double> diffuse, transfer;
  stats::PowerOptions options;
  std::uint32_t threads = 0;
};

struct PowerAnswer {
  std::string source;  // "stated", or the monitor's name
  stats::PowerPool pool;
  std::vector<stats::SmallestEffects> effects;
  std::vector<stats::TrialsForEffect> trials;
  std::vector<stats::NullSize> sizes;
};

// ---- The pool ----

Status found_pool(const PowerCommand& command, Executor& executor, PowerAnswer& out) {
  auto found = pool_from_input(command.input, executor);
  if (!found) return found.error();
  out.source = found->monitor.name;
  out.pool = std::move(found->pool);
  return {};
}

void stated_pool(const PowerCommand& command, PowerAnswer& out) {
  out.source = "stated";
  out.pool = command.stated;
  if (command.quality_shift == 0) return;
  for (std::uint32_t m = 0; m < out.pool.policies; ++m) {
    const double place = out.pool.policies > 1 ? static_cast<double>(m) / (out.pool.policies - 1) - 0.5 : 0;
    out.pool.quality.push_back(command.quality_shift * place);
  }
}

// ---- The questions ----

Status ask(const PowerCommand& command, Executor& executor, PowerAnswer& out) {
  using Kind = stats::AlternativeKind;
  std::vector<stats::Alternative> alternatives;
  for (const double share : command.shares) alternatives.push_back({Kind::kSpecialist, share});
  alternatives.push_back({Kind::kDiffuse, 1});
  alternatives.push_back({Kind::kTransfer, 1});
  for (const auto& alternative : alternatives) {
    auto found = stats::smallest_effects(out.pool, alternative, command.options, executor);
    if (!found) return found.error();
    out.effects.push_back(*found);
  }
  const auto trials_for = [&](const stats::Alternative& alternative, double size) -> Status {
    auto found = stats::trials_needed(out.pool, alternative, size, command.options, executor);
    if (!found) return found.error();
    out.trials.push_back(*found);
    return {};
  };
  for (const double share : command.shares) {
    if (auto status = trials_for({Kind::kSpecialist, share}, command.gain); !status) return status;
  }
  if (command.diffuse) {
    if (auto status = trials_for({Kind::kDiffuse, 1}, *command.diffuse); !status) return status;
  }
  if (command.transfer) {
    if (auto status = trials_for({Kind::kTransfer, 1}, *command.transfer); !status) return status;
  }
  auto sizes = stats::null_sizes(out.pool, command.options, executor);
  if (!sizes) return sizes.error();
  out.sizes = std::move(*sizes);
  return {};
}

// ---- Text ----

std::string described(const stats::Alternative& alternative) {
  switch (alternative.kind) {
    case stats::AlternativeKind::kSpecialist:
      return fmt::format("specialists on a share f = {} of the prompts, s more there", alternative.share);
    case stats::AlternativeKind::kDiffuse: return "diffuse noise, standard deviation sigma on every cell's logit";
    case stats::AlternativeKind::kTransfer: return "transfers, up to delta from one policy to another on every prompt";
  }
  return "";
}

const char* symbol(stats::AlternativeKind kind) {
  return kind == stats::AlternativeKind::kSpecialist ? "s" : kind == stats::AlternativeKind::kDiffuse ? "sigma" : "delta";
}

std::string rate_text(const stats::PowerRate& rate) {
  return fmt::format("{:.3f} [{:.3f}, {:.3f}]", rate.rate, rate.interval.low, rate.interval.high);
}

std::string test_name(std::size_t test) { return stats::power_test_name(static_cast<stats::PowerTest>(test)); }

std::string pool_text(const PowerAnswer& answer) {
  const auto& pool = answer.pool;
  std::string out = fmt::format("Pool ({}): {} prompts, {} policies, ", answer.source, pool.prompts, pool.policies);
  if (pool.cell_trials.empty()) {
    out += fmt::format("{} trials a cell", pool.trials);
  } else {
    const auto [low, high] = std::minmax_element(pool.cell_trials.begin(), pool.cell_trials.end());
    out += fmt::format("{} to {} trials a cell", *low, *high);
  }
  out += fmt::format(", difficulty Beta({:.3f}, {:.3f})", pool.alpha, pool.beta);
  if (!pool.difficulty_identified) out += " (the data's spread is no more than chance)";
  if (!pool.quality.empty()) {
    const auto [low, high] = std::minmax_element(pool.quality.begin(), pool.quality.end());
    out += fmt::format(", quality from {:+.2f} to {:+.2f} (logit)", *low, *high);
  }
  return out + "\n";
}

std::string effect_text(const stats::SmallestEffects& effects) {
  const char* sign = symbol(effects.alternative.kind);
  std::string out = fmt::format("\n{}\n", described(effects.alternative));
  out += fmt::format("  {:<20}  {:>9}  {:>16}  {:>6}  {}\n", "test", fmt::format("least {}", sign), "uncertain", "true L",
                     "power there");
  for (std::size_t test = 0; test < stats::kPowerTests; ++test) {
    const auto& found = effects.tests[test];
    const auto least = found.size ? fmt::format("{:.3g}", *found.size)
                                  : fmt::format("> {:.3g}", stats::largest_size(effects.alternative.kind));
    const auto range = fmt::format("{:.3g} to {}", found.size_low,
                                   found.size_high ? fmt::format("{:.3g}", *found.size_high) : std::string("?"));
    out += fmt::format("  {:<20}  {:>9}  {:>16}  {:>6.3f}  {}\n", test_name(test), least, range, found.population_gap,
                       rate_text(found.power));
  }
  return out;
}

std::string trials_text(const stats::TrialsForEffect& trials, std::uint32_t most) {
  std::string out = fmt::format("\n{}; {} = {}, true L {:.3f}\n", described(trials.alternative),
                                symbol(trials.alternative.kind), trials.size, trials.population_gap);
  out += fmt::format("  {:<20}  {:>6}  {:>8}  {}\n", "test", "trials", "not with", "power there");
  for (std::size_t test = 0; test < stats::kPowerTests; ++test) {
    const auto& found = trials.tests[test];
    out += fmt::format("  {:<20}  {:>6}  {:>8}  {}\n", test_name(test),
                       found.trials ? fmt::format("{}", *found.trials) : fmt::format("> {}", most),
                       found.not_with > 0 ? fmt::format("{}", found.not_with) : "-", rate_text(found.power));
  }
  return out;
}

std::string sizes_text(const std::vector<stats::NullSize>& sizes) {
  std::string out = fmt::format("  {:<26}", "pool");
  for (std::size_t test = 0; test < stats::kPowerTests; ++test) out += fmt::format("  {:>20}", test_name(test));
  out += '\n';
  for (const auto& size : sizes) {
    const auto name = size.shift > 0 ? fmt::format("{}, {:.2g}", size.pool, size.shift) : std::string(size.pool);
    out += fmt::format("  {:<26}", name);
    for (const auto& rate : size.tests) out += fmt::format("  {:>20}", rate_text(rate));
    out += fmt::format("\n  {:<26}", "  ties by half");
    for (const auto& rate : size.mid) out += fmt::format("  {:>20}", rate_text(rate));
    out += '\n';
  }
  return out;
}

std::string answer_text(const PowerCommand& command, const PowerAnswer& answer) {
  const auto& options = command.options;
  std::string out = pool_text(answer);
  const auto tables = answer.sizes.front().tests[0].tables;
  out += fmt::format("tau {}, level {}, wanted power {}; {} simulated tables a rate, {} null samples a table, seed {}.\n",
                     options.tau, options.alpha, options.power, tables, options.replicates, options.seed);
  out += "Brackets: 95% interval of the simulation alone. Re-deal tests also find differences of quality.\n";
  out += "\nSmallest effect found\n=====================\n";
  for (const auto& effects : answer.effects) out += effect_text(effects);
  out += "\nTrials of every cell needed\n===========================\n";
  for (const auto& trials : answer.trials) out += trials_text(trials, options.most_trials);
  out += "\nRejections where nothing is planted\n===================================\n\n";
  out += sizes_text(answer.sizes);
  out += "\nThe re-deal is the truth of identical policies only, the margin law of shifts on the logit scale too.\n"
         "A test of L, which counts prompts, stays below its level because ties count against it.\n";
  return out;
}

// ---- JSON ----

using exporters::JsonWriter;

void write_rate(JsonWriter& json, const stats::PowerRate& rate) {
  json.begin_object().member("rate", rate.rate).member("low", rate.interval.low).member("high", rate.interval.high);
  json.member("tables", rate.tables).end_object();
}

constexpr std::array<const char*, stats::kPowerTests> kKeys{"gap_redeal", "gap_margin", "pass_at_1_gap_redeal",
                                                            "pass_at_1_gap_margin", "heterogeneity_redeal"};

void write_alternative(JsonWriter& json, const stats::Alternative& alternative) {
  json.member("alternative", stats::alternative_name(alternative.kind)).key("share");
  json.value(alternative.kind == stats::AlternativeKind::kSpecialist ? std::optional(alternative.share) : std::nullopt);
}

void write_effects(JsonWriter& json, const stats::SmallestEffects& effects) {
  json.begin_object();
  write_alternative(json, effects.alternative);
  json.key("tests").begin_object();
  for (std::size_t test = 0; test < stats::kPowerTests; ++test) {
    const auto& found = effects.tests[test];
    json.key(kKeys[test]).begin_object().member("size", found.size).member("size_low", found.size_low);
    json.member("size_high", found.size_high).member("population_gap", found.population_gap).key("power");
    write_rate(json, found.power);
    json.end_object();
  }
  json.end_object().end_object();
}

void write_trials(JsonWriter& json, const stats::TrialsForEffect& trials) {
  json.begin_object();
  write_alternative(json, trials.alternative);
  json.member("size", trials.size).member("population_gap", trials.population_gap).key("tests").begin_object();
  for (std::size_t test = 0; test < stats::kPowerTests; ++test) {
    const auto& found = trials.tests[test];
    json.key(kKeys[test]).begin_object().key("trials");
    if (found.trials) {
      json.value(*found.trials);
    } else {
      json.null();
    }
    json.member("not_with", found.not_with).key("power");
    write_rate(json, found.power);
    json.end_object();
  }
  json.end_object().end_object();
}

void write_size(JsonWriter& json, const stats::NullSize& size) {
  json.begin_object().member("pool", size.pool).member("shift", size.shift);
  json.member("redeal_holds", size.redeal_holds).member("margin_holds", size.margin_holds);
  const auto write_rates = [&](const char* name, const std::array<stats::PowerRate, stats::kPowerTests>& rates) {
    json.key(name).begin_object();
    for (std::size_t test = 0; test < stats::kPowerTests; ++test) write_rate(json.key(kKeys[test]), rates[test]);
    json.end_object();
  };
  write_rates("tests", size.tests);
  write_rates("tests_ties_by_half", size.mid);
  json.end_object();
}

void write_pool(JsonWriter& json, const PowerAnswer& answer) {
  const auto& pool = answer.pool;
  const auto& cells = pool.cell_trials;
  json.key("pool").begin_object().member("source", answer.source).member("prompts", pool.prompts);
  json.member("policies", pool.policies).key("trials").begin_object();
  json.member("min", cells.empty() ? pool.trials : *std::min_element(cells.begin(), cells.end()));
  json.member("max", cells.empty() ? pool.trials : *std::max_element(cells.begin(), cells.end())).end_object();
  json.member("alpha", pool.alpha).member("beta", pool.beta);
  json.member("difficulty_identified", pool.difficulty_identified).key("quality").begin_array();
  for (const double quality : pool.quality) json.value(quality);
  json.end_array().end_object();
}

std::string answer_json(const PowerCommand& command, const PowerAnswer& answer) {
  const auto& options = command.options;
  JsonWriter json;
  json.begin_object().member("schema", "gapwatch.power/1");
  write_pool(json, answer);
  json.member("tau", options.tau).member("level", options.alpha).member("power", options.power);
  json.member("replicates", options.replicates).member("most_trials", options.most_trials);
  json.member("seed", options.seed).key("smallest_effects").begin_array();
  for (const auto& effects : answer.effects) write_effects(json, effects);
  json.end_array().key("trials_needed").begin_array();
  for (const auto& trials : answer.trials) write_trials(json, trials);
  json.end_array().key("null_sizes").begin_array();
  for (const auto& size : answer.sizes) write_size(json, size);
  json.end_array().end_object();
  return json.take() + "\n";
}

int power(PowerCommand command) {
  const auto executor = make_thread_executor(command.threads);
  PowerAnswer answer;
  if (command.input.inputs.empty()) {
    stated_pool(command, answer);
  } else if (auto status = found_pool(command, *executor, answer); !status) {
    return fail(status.error(), status.error().action == Action::kRefuse ? kUsage : kFailed);
  }
  const bool terminal = isatty(STDERR_FILENO) != 0;
  command.options.on_rate = [terminal, rates = 0]() mutable {
    if (terminal) fmt::print(stderr, "\r{} rates simulated ", ++rates);
  };
  const auto status = ask(command, *executor, answer);
  if (terminal) fmt::print(stderr, "\n");
  if (!status) return fail(status.error(), kUsage);
  const auto text = command.format == "json" ? answer_json(command, answer) : answer_text(command, answer);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    return fail(stop("the answer could not be written to standard output"));
  }
  return kOk;
}

void add_pool_options(CLI::App& command, PowerCommand& to) {
  auto& pool = to.stated;
  auto* inputs = command.add_option("INPUT", to.input.inputs, "Files of events, or a state folder, that give the pool; without: it is stated");
  command.add_option("--config", to.input.config, "Take monitors and defaults from this config")->needs(inputs);
  command.add_option("--input-format", to.input.input_format, kFormatHelp)->needs(inputs);
  command.add_option("--monitor", to.input.monitor, "Which monitor, where the input has several")->needs(inputs);
  for (auto* option : {command.add_option("--prompts", pool.prompts, "Prompts (240)"),
                       command.add_option("--policies", pool.policies, "Policies (5)"),
                       command.add_option("--trials", pool.trials, "Trials of every cell (16)"),
                       command.add_option("--alpha", pool.alpha, "Difficulties are Beta(alpha, beta) (0.347)"),
                       command.add_option("--beta", pool.beta, "(0.601)"),
                       command.add_option("--shift", to.quality_shift, "Quality from first to last policy, logit (0)")}) {
    option->excludes(inputs);
  }
}

}  // namespace

void add_power(CLI::App& root, Chosen& chosen) {
  auto* command = root.add_subcommand("power", "What a pool of this size can detect, and how many draws it needs");
  auto given = std::make_shared<PowerCommand>();
  given->options.tables = 80;  // with fewer trials tried, an answer within a minute
  given->options.most_trials = 64;
  auto& options = given->options;
  add_pool_options(*command, *given);
  command->add_option("--tau", options.tau, "Threshold of L (0.1)")->check(CLI::Range(1e-9, 1.0));
  command->add_option("--level", options.alpha, "Level of each test (0.05)");
  command->add_option("--power", options.power, "Wanted power (0.8)");
  command->add_option("--share", given->shares, "Shares of prompts with a specialist, separated by commas (0.3)")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--gain", given->gain, "Trials are for a specialist with so much more (0.1)");
  command->add_option("--diffuse", given->diffuse, "Trials for so much noise on the logit too");
  command->add_option("--transfer", given->transfer, "Trials for transfers up to so much too");
  command->add_option("--most-trials", options.most_trials, "Most trials tried (64)")->check(CLI::Range(1, 512));
  command->add_option("--tables", options.tables, "Simulated tables for each rate (80)");
  command->add_option("--replicates", options.replicates, "Null samples of each table (199)")
      ->check(CLI::Range(1, 100'000));
  command->add_option("--seed", options.seed, "Seed of everything random")->check(whole_in(0, UINT64_MAX));
  command->add_option("--threads", given->threads, "Threads; the result does not depend on them (0: one per core)")
      ->check(whole_in(0, 1'024));
  command->add_option("--format", given->format, "text or json")->check(CLI::IsMember({"text", "json"}));
  command->callback([&chosen, given] { chosen = [given] { return power(*given); }; });
}

}  // namespace gapwatch::app
