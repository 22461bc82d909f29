#include <fmt/format.h>

#include "app/cli.h"
#include "app/options.h"
#include "app/simulated_events.h"
#include "app/sink.h"

namespace gapwatch::app {
namespace {

struct SimulateOptions {
  std::string scenario, to = "-", traffic = "rounds", scale = "logit";
  stats::SimulationOptions simulation;  // holds what was given; the scenario's settings where nothing was
  std::optional<double> shift, share, gain, diffuse, transfer;
  std::uint64_t events = 0;
  double rate = 0;
  int partitions = 1;
  SimulatedNames names;
};

Result<stats::SimulationOptions> simulation_of(const SimulateOptions& given) {
  auto scenario = stats::simulation_scenario(given.scenario);
  if (!scenario) return scenario.error();
  auto options = given.simulation;
  options.effects = scenario->effects;
  const auto take = [](double& setting, const std::optional<double>& value) { setting = value.value_or(setting); };
  take(options.effects.shift, given.shift);
  take(options.effects.specialist_share, given.share);
  take(options.effects.specialist_gain, given.gain);
  take(options.effects.diffuse, given.diffuse);
  take(options.effects.transfer, given.transfer);
  options.effects.shift_scale = given.scale == "probit"     ? stats::ShiftScale::kProbit
                                : given.scale == "additive" ? stats::ShiftScale::kAdditive
                                                            : stats::ShiftScale::kLogit;
  options.traffic = given.traffic == "random"   ? stats::SimulatedTraffic::kRandom
                    : given.traffic == "uneven" ? stats::SimulatedTraffic::kUneven
                                                : stats::SimulatedTraffic::kRounds;
  if (options.draws == 0 && given.events == 0) return refuse("--draws 0 is an endless stream; say --events too");
  return options;
}

int simulate(const SimulateOptions& given) {
  auto options = simulation_of(given);
  if (!options) return fail(options.error(), kUsage);
  auto simulation = stats::Simulation::make(*options);
  if (!simulation) return fail(simulation.error(), kUsage);
  auto sink = open_sink(given.to, given.partitions);
  if (!sink) return fail(sink.error());
  Pace pace(given.rate);
  // Simulated time begins at a fixed moment and goes 1 ms an event: the same seed, the same bytes.
  constexpr TimeMs kStart = 1'767'225'600'000;  // 2026-01-01T00:00:00Z
  while (given.events == 0 || simulation->events() < given.events) {
    const auto draw = simulation->next();
    if (!draw) break;
    pace.wait();
    const auto time = kStart + static_cast<TimeMs>(simulation->events());
    const auto status = (*sink)->write(stats::simulated_prompt(draw->prompt, options->prompts),
                                       simulated_event(*draw, *options, given.names, time));
    if (!status) return fail(status.error());
  }
  if (auto status = (*sink)->finish(); !status) return fail(status.error());
  return kOk;
}

}  // namespace

void add_simulate(CLI::App& root, Chosen& chosen) {
  auto* command = root.add_subcommand("simulate", "Event streams of known truth: " +
                                                      fmt::format("{}", fmt::join(stats::simulation_scenarios(), ", ")));
  auto options = std::make_shared<SimulateOptions>();
  auto& simulation = options->simulation;
  command->add_option("SCENARIO", options->scenario, "What makes policies differ")->required();
  command->add_option("--to", options->to, "A file, or kafka://HOST:PORT/TOPIC (standard output)");
  command->add_option("--partitions", options->partitions, "Of a topic that is not there yet")->check(CLI::Range(1, 10'000));
  command->add_option("--prompts", simulation.prompts, "Prompts (240)");
  command->add_option("--policies", simulation.policies, "Policies (5)");
  command->add_option("--draws", simulation.draws, "Draws of each cell (16); 0: endless, until --events");
  command->add_option("--events", options->events, "Stop after so many events");
  command->add_option("--alpha", simulation.alpha, "Difficulties are Beta(alpha, beta) (0.347)");
  command->add_option("--beta", simulation.beta, "(0.601)");
  command->add_option("--shift", options->shift, "Quality shift from first to last policy");
  command->add_option("--scale", options->scale, "Of the shift")->check(CLI::IsMember({"logit", "probit", "additive"}));
  command->add_option("--share", options->share, "Share of prompts with a specialist");
  command->add_option("--gain", options->gain, "What a specialist has more there");
  command->add_option("--diffuse", options->diffuse, "Standard deviation of logit noise of every cell");
  command->add_option("--transfer", options->transfer, "Most that one policy gives to another, by prompt");
  command->add_option("--from", simulation.effects_from, "The event from which policies differ (0)");
  command->add_option("--traffic", options->traffic, "Order of events")
      ->check(CLI::IsMember({"rounds", "random", "uneven"}));
  command->add_option("--seed", simulation.seed, "Seed (1)");
  command->add_option("--rate", options->rate, "Events a second (as fast as it goes)")->check(number_in(0, kMostPerSecond));
  command->add_option("--eval", options->names.eval, "The events' eval (simulated)");
  command->add_option("--scorer", options->names.scorer, "The events' scorer (default)");
  command->callback([&chosen, options] { chosen = [options] { return simulate(*options); }; });
}

}  // namespace gapwatch::app
