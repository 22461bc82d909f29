#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <utility>

#include "app/cli.h"
#include "app/load_config.h"
#include "app/options.h"
#include "app/pool_input.h"
#include "exporters/json_writer.h"
#include "stats/calibrate.h"

namespace gapwatch::app {
namespace {

using stats::AlarmCalibration;
using stats::Calibration;
using stats::CalibrationScenario;

struct CalibrateCommand {
  PoolInput input;
  std::string format = "text", traffic = "auto", design = "auto";
  stats::SimulationOptions pool;  // prompts, policies, difficulty
  double quality = 0.8;           // from first to last policy, on the logit scale
  double responses = 32;
  std::optional<double> alpha;
  std::uint64_t streams = 200, seed = 1;
  std::uint32_t threads = 0, block = 8;
  std::vector<std::string> cases;
  bool logged = false, on_quality = false;
  std::optional<double> change_at;
};

// What the streams are shaped like.
struct Shape {
  std::string source = "stated";
  stats::SimulationOptions pool;
  double quality = 0, alpha = 0.05;
  std::string traffic = "random";
};

// ---- The cases ----

struct Case {
  const char* name;
  const char* text;
  bool redeal_holds, margin_holds;  // by the guarantee; where false an alarm is right, or nothing is promised
  void (*set)(CalibrationScenario& scenario, const Shape& shape);
  bool usual = true;  // run unless cases are named
};

void specialists(CalibrationScenario& scenario) {
  scenario.stream.effects.specialist_share = 0.3;
  scenario.stream.effects.specialist_gain = 0.2;
}

void half_way(CalibrationScenario& scenario) { scenario.change_at = std::floor(scenario.responses_per_cell / 2); }

void router(CalibrationScenario& scenario, stats::Routing routing, bool logged) {
  scenario.routing = routing;
  scenario.stay = 0.8;
  scenario.propensities = logged;
}

const std::vector<Case>& all_cases() {
  using S = CalibrationScenario;
  static const std::vector<Case> cases{
      {"identical", "identical policies", true, true, [](S&, const Shape&) {}},
      {"bursty", "identical policies, runs of up to 40 responses on one prompt, mostly of one policy", true, true,
       [](S& s, const Shape&) { s.routing = stats::Routing::kBursty; }},
      {"quality", "policies that differ in quality alone (logit)", false, true,
       [](S& s, const Shape& shape) { s.stream.effects.shift = shape.quality; }},
      {"groups", "two groups of policies, 1.6 apart (logit)", false, true,
       [](S& s, const Shape&) { s.group_shift = 1.6; }},
      {"probit", "quality .5 apart on the probit scale: not additive in log-odds", false, false,
       [](S& s, const Shape&) {
         s.stream.effects.shift = 0.5;
         s.stream.effects.shift_scale = stats::ShiftScale::kProbit;
       },
       false},
      {"additive", "quality .15 apart on the scale of rates: not additive in log-odds", false, false,
       [](S& s, const Shape&) {
         s.stream.effects.shift = 0.15;
         s.stream.effects.shift_scale = stats::ShiftScale::kAdditive;
       },
       false},
      {"win-stay", "identical policies, a router that stays (.8) after a success, probabilities logged", true, false,
       [](S& s, const Shape&) { router(s, stats::Routing::kWinStay, true); }},
      {"win-stay-reset", "the same, beginning anew with the first policy after each eight responses", true, false,
       [](S& s, const Shape&) { router(s, stats::Routing::kWinStayPerBatch, true); }},
      {"win-stay-unlogged", "that router, probabilities not logged: no guarantee", false, false,
       [](S& s, const Shape&) { router(s, stats::Routing::kWinStayPerBatch, false); }, false},
      {"diffuse-0.25", "noise of .25 on the logit of every cell", false, false,
       [](S& s, const Shape&) { s.stream.effects.diffuse = 0.25; }, false},
      {"diffuse-0.5", "noise of .5 on the logit of every cell", false, false,
       [](S& s, const Shape&) { s.stream.effects.diffuse = 0.5; }},
      {"diffuse-1", "noise of 1 on the logit of every cell", false, false,
       [](S& s, const Shape&) { s.stream.effects.diffuse = 1; }, false},
      {"specialists", "on .3 of the prompts one policy has .2 more", false, false,
       [](S& s, const Shape&) { specialists(s); }},
      {"quality-specialists", "the same, among policies that differ in quality", false, false,
       [](S& s, const Shape& shape) {
         specialists(s);
         s.stream.effects.shift = shape.quality;
       }},
      {"late-specialists", "the same specialists among identical policies, from the change on", false, false,
       [](S& s, const Shape&) {
         specialists(s);
         half_way(s);
       }},
      {"late-diffuse-0.5", "noise of .5 from the change on", false, false,
       [](S& s, const Shape&) {
         s.stream.effects.diffuse = 0.5;
         half_way(s);
       },
       false},
  };
  return cases;
}

Result<std::vector<const Case*>> chosen_cases(const std::vector<std::string>& names) {
  std::vector<const Case*> chosen;
  std::string known;
  for (const auto& one : all_cases()) {
    known += (known.empty() ? "" : ", ") + std::string(one.name);
    if (names.empty() && one.usual) chosen.push_back(&one);
  }
  for (const auto& name : names) {
    const auto at = std::find_if(all_cases().begin(), all_cases().end(), [&](const Case& one) { return one.name == name; });
    if (at == all_cases().end()) return refuse("\"" + name + "\" is no case; known: " + known);
    chosen.push_back(&*at);
  }
  return chosen;
}

// ---- The shape ----

// Traffic that chance alone makes even enough is random, all else uneven.
bool is_uneven(const std::vector<std::uint64_t>& trials) {
  const auto count = static_cast<double>(trials.size());
  const double mean = static_cast<double>(std::accumulate(trials.begin(), trials.end(), std::uint64_t{0})) / count;
  double squares = 0;
  for (const auto n : trials) squares += (static_cast<double>(n) - mean) * (static_cast<double>(n) - mean);
  return std::sqrt(squares / count) > 2 * std::sqrt(mean) + 0.25 * mean;
}

Result<Shape> shape_of(const CalibrateCommand& command, Executor& executor) {
  Shape shape;
  shape.pool = command.pool;
  shape.quality = command.quality;
  if (command.traffic != "auto") shape.traffic = command.traffic;
  if (!command.input.inputs.empty()) {
    const auto found = pool_from_input(command.input, executor);
    if (!found) return found.error();
    shape.source = found->monitor.name;
    shape.alpha = found->monitor.alpha;
    shape.pool.prompts = found->pool.prompts;
    shape.pool.policies = found->pool.policies;
    shape.pool.alpha = found->pool.alpha;
    shape.pool.beta = found->pool.beta;
    const auto& quality = found->pool.quality;
    if (!quality.empty()) {
      const auto [low, high] = std::minmax_element(quality.begin(), quality.end());
      shape.quality = *high - *low;
    }
    if (command.traffic == "auto" && is_uneven(found->prompt_trials)) shape.traffic = "uneven";
  }
  if (command.alpha) shape.alpha = *command.alpha;
  return shape;
}

CalibrationScenario scenario_of(const CalibrateCommand& command, const Shape& shape, const Case& one) {
  CalibrationScenario scenario;
  scenario.stream = shape.pool;
  scenario.stream.traffic = shape.traffic == "uneven"   ? stats::SimulatedTraffic::kUneven
                            : shape.traffic == "rounds" ? stats::SimulatedTraffic::kRounds
                                                        : stats::SimulatedTraffic::kRandom;
  scenario.responses_per_cell = command.responses;
  one.set(scenario, shape);
  if (command.logged) scenario.propensities = true;
  if (command.on_quality) scenario.stream.effects.shift = scenario.stream.effects_before.shift = shape.quality;
  if (command.change_at && scenario.change_at > 0) scenario.change_at = *command.change_at;
  return scenario;
}

// ---- Text ----

std::string rate_text(const AlarmCalibration& alarm) {
  return fmt::format("{:.4f} [{:.4f}, {:.4f}]", alarm.rate, alarm.rate_interval.low, alarm.rate_interval.high);
}

std::string time_text(const AlarmCalibration& alarm) {
  if (!alarm.median_delay) return "not reached";
  if (!alarm.median_interval) return fmt::format("{:.3g} [?, ?]", *alarm.median_delay);
  return fmt::format("{:.3g} [{:.3g}, {:.3g}]", *alarm.median_delay, alarm.median_interval->low,
                     alarm.median_interval->high);
}

struct Outcome {
  const Case* one;
  double change_at;
  Calibration figures;
};

void add_row(std::string& out, const char* null, const char* promise, const AlarmCalibration& plain,
             const AlarmCalibration& restart) {
  out += fmt::format("  {:<8}  {:<10}  {:<24}  {:<24}", null, promise, rate_text(plain), rate_text(restart));
  out += fmt::format("  {:<22}  {}\n", time_text(plain), time_text(restart));
}

std::string head_text(const CalibrateCommand& command, const Shape& shape) {
  std::string out = fmt::format("Streams shaped like {}: {} prompts, {} policies, difficulty Beta({:.3f}, {:.3f}), {} traffic.\n",
                                shape.source == "stated" ? "a stated pool" : shape.source, shape.pool.prompts,
                                shape.pool.policies, shape.pool.alpha, shape.pool.beta, shape.traffic);
  out += fmt::format("{} streams of {:g} responses per cell for each case; alarm at e >= {:.4g} (alpha {:g}), looked at\n"
                     "after every closed e-value; design {}, {} batches a block; seed {}.{}{}\n",
                     command.streams, command.responses, 1 / shape.alpha, shape.alpha, command.design, command.block,
                     command.seed, command.logged ? " Routing probabilities are logged." : "",
                     command.on_quality ? " Policies differ in quality." : "");
  out += "Brackets: 95% interval of the simulation. \"at most\": guaranteed not above alpha. The alarm of a monitor is\n"
         "the margin evidence with restarts.\n";
  return out;
}

std::string case_text(const Outcome& outcome) {
  std::string out = fmt::format("\n{}: {}\n", outcome.one->name, outcome.one->text);
  if (outcome.change_at > 0) out += fmt::format("  times are from the change, at {:g} responses per cell\n", outcome.change_at);
  out += fmt::format("  {:<8}  {:<10}  {:<24}  {:<24}  {:<22}  {}\n", "null", "promise", "ever alarmed", "with restarts",
                     "median responses/cell", "with restarts");
  const auto& figures = outcome.figures;
  add_row(out, "re-deal", outcome.one->redeal_holds ? "at most" : "-", figures.plain, figures.plain_restart);
  add_row(out, "margin", outcome.one->margin_holds ? "at most" : "-", figures.margin, figures.margin_restart);
  return out;
}

// ---- JSON ----

using exporters::JsonWriter;

void write_alarm(JsonWriter& json, const char* key, const AlarmCalibration& alarm) {
  json.key(key).begin_object().member("streams", alarm.streams).member("alarms", alarm.alarms);
  json.member("before_change", alarm.before_change).member("rate", alarm.rate).key("rate_interval").begin_array();
  json.value(alarm.rate_interval.low).value(alarm.rate_interval.high).end_array();
  json.member("median_responses_per_cell", alarm.median_delay).key("median_interval").begin_array();
  json.value(alarm.median_interval ? std::optional(alarm.median_interval->low) : std::nullopt);
  json.value(alarm.median_interval ? std::optional(alarm.median_interval->high) : std::nullopt).end_array();
  json.end_object();
}

std::string answer_json(const CalibrateCommand& command, const Shape& shape, const std::vector<Outcome>& outcomes) {
  JsonWriter json;
  json.begin_object().member("schema", "gapwatch.calibrate/1").key("pool").begin_object();
  json.member("source", shape.source).member("prompts", shape.pool.prompts).member("policies", shape.pool.policies);
  json.member("difficulty_alpha", shape.pool.alpha).member("difficulty_beta", shape.pool.beta);
  json.member("quality", shape.quality).member("traffic", shape.traffic).end_object();
  json.member("alpha", shape.alpha).member("design", command.design).member("block_batches", command.block);
  json.member("responses_per_cell", command.responses).member("streams", command.streams).member("seed", command.seed);
  json.key("cases").begin_array();
  for (const auto& outcome : outcomes) {
    json.begin_object().member("case", outcome.one->name).member("text", outcome.one->text);
    json.member("change_at", outcome.change_at).member("responses", outcome.figures.responses);
    json.key("redeal").begin_object().member("guaranteed", outcome.one->redeal_holds);
    write_alarm(json, "mixture", outcome.figures.plain);
    write_alarm(json, "restarts", outcome.figures.plain_restart);
    json.end_object().key("margin").begin_object().member("guaranteed", outcome.one->margin_holds);
    write_alarm(json, "mixture", outcome.figures.margin);
    write_alarm(json, "restarts", outcome.figures.margin_restart);
    json.end_object().end_object();
  }
  json.end_array().end_object();
  return json.take() + "\n";
}

// ---- The command ----

stats::CalibrationOptions options_of(const CalibrateCommand& command, const Shape& shape) {
  stats::CalibrationOptions options;
  options.streams = command.streams;
  options.seed = command.seed;
  options.alpha = shape.alpha;
  options.evidence.block_batches = command.block;
  options.evidence.margin = command.design == "blocks"  ? stats::MarginDesign::kBlocks
                            : command.design == "pairs" ? stats::MarginDesign::kPairs
                                                        : stats::MarginDesign::kAuto;
  return options;
}

int calibrate(const CalibrateCommand& command) {
  const auto executor = make_thread_executor(command.threads);
  const auto cases = chosen_cases(command.cases);
  if (!cases) return fail(cases.error(), kUsage);
  const auto shape = shape_of(command, *executor);
  if (!shape) return fail(shape.error(), shape.error().action == Action::kRefuse ? kUsage : kFailed);
  const bool text = command.format == "text", terminal = isatty(STDERR_FILENO) != 0;
  // The head stands over the first case, so that a refusal is all there is.
  std::string head = text ? head_text(command, *shape) : "";
  std::vector<Outcome> outcomes;
  for (const Case* one : *cases) {
    auto options = options_of(command, *shape);
    std::atomic<std::uint64_t> done{0};
    if (terminal) {
      options.on_stream = [&, name = one->name] {
        fmt::print(stderr, "\r{} ({} of {}): {} of {} streams ", name, outcomes.size() + 1, cases->size(), ++done,
                   command.streams);
      };
    }
    const auto scenario = scenario_of(command, *shape, *one);
    const auto figures = stats::calibrate(scenario, options, *executor);
    if (terminal) fmt::print(stderr, "\r\x1b[K");
    if (!figures) return fail(figures.error(), kUsage);
    outcomes.push_back({one, scenario.change_at, *figures});
    if (text && print(std::exchange(head, "") + case_text(outcomes.back())) != kOk) return kFailed;
  }
  return text ? kOk : print(answer_json(command, *shape, outcomes));
}

void add_shape_options(CLI::App& command, CalibrateCommand& to) {
  auto* inputs = command.add_option("INPUT", to.input.inputs,
                                    "Files of events, or a state folder, that give the shape; without: it is stated");
  command.add_option("--config", to.input.config, "Take monitors, alpha and defaults from this config")->needs(inputs);
  command.add_option("--input-format", to.input.input_format, kFormatHelp)->needs(inputs);
  command.add_option("--monitor", to.input.monitor, "Which monitor, where the input has several")->needs(inputs);
  for (auto* option :
       {command.add_option("--prompts", to.pool.prompts, "Prompts (240)")->check(whole_in(1, 1'000'000)),
        command.add_option("--policies", to.pool.policies, "Policies (5)")->check(whole_in(2, 1'000)),
        command.add_option("--difficulty-alpha", to.pool.alpha, "Difficulties are Beta(alpha, beta) (0.347)")
            ->check(number_in(1e-3, 1e6)),
        command.add_option("--difficulty-beta", to.pool.beta, "(0.601)")->check(number_in(1e-3, 1e6)),
        command.add_option("--quality", to.quality, "Quality from first to last policy, logit (0.8)")
            ->check(number_in(0, 20))}) {
    option->excludes(inputs);
  }
}

}  // namespace

void add_calibrate(CLI::App& root, Chosen& chosen) {
  auto* command = root.add_subcommand(
      "calibrate", "How often the alarm is false, and how soon it comes, on simulated streams shaped like yours");
  auto given = std::make_shared<CalibrateCommand>();
  add_shape_options(*command, *given);
  command->add_option("--traffic", given->traffic, "auto (as the input's), random, uneven or rounds")
      ->check(CLI::IsMember({"auto", "random", "uneven", "rounds"}));
  command->add_option("--alpha", given->alpha, "Alarm at e >= 1/alpha (the monitor's; 0.05 for a stated pool)")
      ->check(number_in(1e-9, 0.999));
  command->add_option("--responses", given->responses, "Length of a stream, in responses per cell (32)")
      ->check(number_in(0.1, 100'000));
  command->add_option("--streams", given->streams, "Streams of each case (200)")->check(whole_in(1, 10'000'000));
  command->add_option("--case", given->cases, "Cases, separated by commas (the usual ones; a wrong name lists all)")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_flag("--logged", given->logged, "Every response says its routing probabilities: single responses are bet on");
  command->add_flag("--on-quality", given->on_quality, "Plant the effects among policies that differ in quality");
  command->add_option("--change-at", given->change_at, "When the late cases change, in responses per cell (half of the stream)")
      ->check(number_in(0.1, 100'000));
  command->add_option("--design", given->design, "Margin evidence: auto, blocks or pairs")
      ->check(CLI::IsMember({"auto", "blocks", "pairs"}));
  command->add_option("--block", given->block, "Batches of a block (8)")->check(whole_in(1, 16));
  command->add_option("--seed", given->seed, "Seed of everything random (1)")->check(whole_in(0, UINT64_MAX));
  command->add_option("--threads", given->threads, "Threads; the result does not depend on them (0: one per core)")
      ->check(whole_in(0, 1'024));
  command->add_option("--format", given->format, "text or json")->check(CLI::IsMember({"text", "json"}));
  command->callback([&chosen, given] { chosen = [given] { return calibrate(*given); }; });
}

}  // namespace gapwatch::app
