#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "app/cli.h"
#include "app/daemon.h"
#include "app/options.h"
#include "app/signals.h"
#include "app/simulated_events.h"
#include "app/sink.h"
#include "app/version.h"
#include "base/log.h"
#include "config/units.h"
#include "exporters/report_text.h"
#include "ingest/embedded_cluster.h"

namespace gapwatch::app {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr const char* kTopic = "eval-scores";
constexpr std::size_t kNamed = 3;  // prompts of each policy at the end, as on the page

struct DemoOptions {
  std::string scenario = "specialist", duration;
  int port = 9464;
  double rate = 3'000;
  double emerges_after = 20;  // seconds
  std::uint64_t seed = 1;
};

// A folder for the demo's state, gone with it.
class DemoFolder {
 public:
  DemoFolder() {
    auto pattern = (std::filesystem::temp_directory_path() / "gapwatch-demo-XXXXXX").string();
    if (mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~DemoFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

config::Settings demo_settings(const std::string& brokers, const std::string& folder, int port) {
  config::Settings settings;
  settings.source.kafka.emplace();
  settings.source.kafka->brokers = brokers;
  settings.source.kafka->topics = {kTopic};
  settings.source.kafka->group = "gapwatch-demo";
  settings.state.path = folder;
  settings.http.listen = fmt::format("127.0.0.1:{}", port);
  config::Monitor monitor;
  monitor.name = "demo";
  monitor.eval = "demo";
  monitor.evaluate_every = milliseconds(2'000);
  settings.monitors.push_back(monitor);
  return settings;
}

// The simulated users of the demo: a thread that sends draws until it is told to stop.
class Producing {
 public:
  Producing(stats::Simulation simulation, std::unique_ptr<EventSink> sink, double rate)
      : simulation_(std::move(simulation)), sink_(std::move(sink)), thread_([this, rate] { send(rate); }) {}
  ~Producing() { (void)finish(); }

  std::uint64_t sent() const { return sent_; }
  // Once finished: whether this policy now truly is better than others on this prompt, and none is better.
  bool specializes(const std::string& prompt, const std::string& policy) const;
  Status finish() {
    stopping_ = true;
    if (thread_.joinable()) {
      thread_.join();
      if (status_.ok()) status_ = sink_->finish();
    }
    return status_;
  }

 private:
  void send(double rate) {
    const SystemClock clock;
    const SimulatedNames names{"demo", "default"};
    Pace pace(rate);
    while (!stopping_ && status_.ok()) {
      pace.wait();
      const auto draw = simulation_.next();
      if (!draw) return;
      status_ = sink_->write(stats::simulated_prompt(draw->prompt, simulation_.options().prompts),
                             simulated_event(*draw, simulation_.options(), names, clock.now_ms()));
      ++sent_;
    }
  }

  stats::Simulation simulation_;
  std::unique_ptr<EventSink> sink_;
  std::atomic<bool> stopping_{false};
  std::atomic<std::uint64_t> sent_{0};
  Status status_;
  std::thread thread_;
};

bool Producing::specializes(const std::string& prompt, const std::string& policy) const {
  const auto& options = simulation_.options();
  std::uint32_t number = 0;
  while (number < options.prompts && stats::simulated_prompt(number, options.prompts) != prompt) ++number;
  if (number == options.prompts) return false;
  double named = 0, highest = 0, lowest = 1;
  for (std::uint32_t i = 0; i < options.policies; ++i) {
    const auto rate = simulation_.rate(number, i, simulation_.events());
    highest = std::max(highest, rate);
    lowest = std::min(lowest, rate);
    if (stats::simulated_policy(i) == policy) named = rate;
  }
  return named >= highest && highest > lowest;
}

std::uint64_t counted(const exporters::Published* published) {
  if (published == nullptr) return 0;
  std::uint64_t total = 0;
  for (const auto& [result, count] : published->stream.events) total += count;
  return total;
}

void show_progress(const exporters::Published* published, double seconds) {
  if (!isatty(STDERR_FILENO) || published == nullptr || published->monitors.empty()) return;
  const auto& monitor = *published->monitors.front();
  std::string line = fmt::format("{:4.0f} s  {} events, {} of {} prompts complete", seconds,
                                 counted(published), monitor.summary.complete, monitor.prompts_total);
  if (monitor.evaluation) {
    for (const auto& at : monitor.evaluation->thresholds) {
      if (at.tau != monitor.alarm_threshold || !at.gap.margin) continue;
      line += fmt::format(", oracle gap at {}: {:.3f}, noise alone {:.3f}, excess {:+.3f}", at.tau,
                          at.gap.margin->observed, at.gap.margin->mean, at.gap.margin->excess);
    }
  }
  fmt::print(stderr, "\r\033[K{}", line);
}

// Milliseconds since 1970; nothing while no alarm was raised.
std::optional<TimeMs> first_alarm(const exporters::Published* published) {
  if (published == nullptr || published->monitors.empty() || !published->monitors.front()->evidence)
    return std::nullopt;
  for (const auto& change : published->monitors.front()->evidence->changes) {
    if (change.to == state::AlarmState::kEvidence) return change.at;
  }
  return std::nullopt;
}

std::string alarm_text(TimeMs alarm, TimeMs started, const DemoOptions& options) {
  const auto after = static_cast<double>(alarm - started) / 1'000;
  const auto since = after - options.emerges_after;
  return fmt::format(
      "{:.0f} s after the start{}", after,
      since >= 0 ? fmt::format(", {:.0f} s after \"{}\" set in", since, options.scenario) : "");
}

// Until a signal, the end of the time, or the daemon's own end.
void watch(Daemon& daemon, const DemoOptions& options, std::optional<milliseconds> duration, TimeMs started) {
  const auto start = steady_clock::now();
  for (bool told = false;;) {
    if (const auto alarm = first_alarm(daemon.published().get()); alarm && !told) {
      told = true;
      fmt::print(
          stderr, "{}alarm {}: the page shows which policies, on which prompts: http://127.0.0.1:{}/\n",
          isatty(STDERR_FILENO) ? "\r\033[K" : "", alarm_text(*alarm, started, options), daemon.port());
    }
    if (wait_for_signal(milliseconds(250)) || !daemon.running()) break;
    const auto elapsed = steady_clock::now() - start;
    show_progress(daemon.published().get(), std::chrono::duration<double>(elapsed).count());
    if (duration && elapsed >= *duration) break;
  }
  if (isatty(STDERR_FILENO)) fmt::print(stderr, "\n");
}

// Waits until everything sent has been counted and evaluated, half a minute at most.
std::shared_ptr<const exporters::Published> settle(const Daemon& daemon, std::uint64_t sent) {
  const auto end = steady_clock::now() + std::chrono::seconds(30);
  std::optional<TimeMs> all_counted;
  for (;;) {
    auto published = daemon.published();
    if (published && counted(published.get()) >= sent && !all_counted) all_counted = published->at;
    const bool evaluated = all_counted && !published->monitors.empty() &&
                           published->monitors.front()->evaluated_at + 250 >= *all_counted;
    if (evaluated || steady_clock::now() > end || wait_for_signal(milliseconds(100))) return published;
  }
}

void say_what_was_seen(const exporters::Published& published, const Producing& producing,
                       const DemoOptions& options, TimeMs started) {
  fmt::print(stderr, "\nWhat was seen: {} events. ", counted(&published));
  const auto alarm = first_alarm(&published);
  if (!alarm) {
    fmt::print(stderr, "No alarm.\n");
    return;
  }
  std::size_t named = 0, right = 0;
  for (const auto& share : published.monitors.front()->attribution) {
    for (std::size_t i = 0; i < std::min(kNamed, share.better.size()); ++i) {
      ++named;
      right += producing.specializes(share.better[i].prompt, share.policy) ? 1 : 0;
    }
  }
  fmt::print(stderr, "The alarm was raised {}.\n", alarm_text(*alarm, started, options));
  if (named == 0) return;
  fmt::print(
      stderr,
      "Of the {} prompts that it names first, {} for a policy, {} are that policy's own in the simulation.\n",
      named, kNamed, right);
}

Result<std::unique_ptr<Producing>> start_producing(const DemoOptions& options, const std::string& brokers) {
  auto simulated = stats::simulation_scenario(options.scenario);
  if (!simulated) return simulated.error();
  simulated->draws = 0;
  simulated->seed = options.seed;
  simulated->effects_from = static_cast<std::uint64_t>(options.rate * options.emerges_after);
  auto simulation = stats::Simulation::make(*simulated);
  if (!simulation) return simulation.error();
  auto sink = open_sink("kafka://" + brokers + "/" + kTopic, 0);
  if (!sink) return sink.error();
  return std::make_unique<Producing>(std::move(*simulation), std::move(*sink), options.rate);
}

// What is to be expected of an alarm.
const char* expectation(const std::string& scenario) {
  if (scenario == "identical") return ", which changes nothing";
  if (scenario == "shift") return ": they differ in overall quality alone, which raises no alarm";
  return ", and the alarm should follow, here and on the page";
}

void greet(const DemoOptions& options, unsigned port, bool ends) {
  fmt::print(stderr,
             "\ngapwatch demo. Open the page in a browser:\n\n"
             "  page     http://127.0.0.1:{0}/\n  metrics  http://127.0.0.1:{0}/metrics\n"
             "  API      http://127.0.0.1:{0}/api/v1/monitors/demo\n\n"
             "Five policies answer 240 prompts, {1:.0f} times a second. For {2:.0f} s they are identical; "
             "then \"{3}\" sets in{4}.\n{5}\n\n",
             port, options.rate, options.emerges_after, options.scenario, expectation(options.scenario),
             ends ? "Ends with the report." : "Stop with Ctrl-C; the report comes then.");
}

int demo(const DemoOptions& options) {
  std::optional<milliseconds> duration;
  if (!options.duration.empty()) {
    auto parsed = config::parse_duration(options.duration);
    if (!parsed)
      return fail(refuse(fmt::format("--for: \"{}\" {}; units are {}", options.duration,
                                     parsed.error().message, config::kDurationUnits)),
                  kUsage);
    if (*parsed < std::chrono::seconds(1)) return fail(refuse("--for: at least 1s"), kUsage);
    duration = *parsed;
  }
  if (auto known = stats::simulation_scenario(options.scenario); !known) return fail(known.error(), kUsage);
  block_signals();
  const DemoFolder folder;
  if (folder.path().empty())
    return fail(stop("no folder can be made for the demo's state; set TMPDIR to a writable one"));
  auto cluster = ingest::make_embedded_cluster(1, kTopic, 2);
  if (!cluster) return fail(cluster.error());
  const SystemClock clock;
  const auto settings = demo_settings((*cluster)->bootstrap(), folder.path(), options.port);
  auto daemon = Daemon::start(settings, clock, [settings] { return settings; });
  if (!daemon) return fail(daemon.error());
  auto producing = start_producing(options, (*cluster)->bootstrap());
  if (!producing) return fail(producing.error());

  const auto started = clock.now_ms();
  greet(options, (*daemon)->port(), duration.has_value());
  watch(**daemon, options, duration, started);
  const auto produced = (*producing)->finish();
  const auto published = settle(**daemon, (*producing)->sent());
  const auto stopped = (*daemon)->stop();
  if (published) {
    exporters::Report report{kVersion, {}, {}};
    report.input.events = counted(published.get());
    report.input.applied = published->stream.events.at("applied");
    for (const auto& monitor : published->monitors) report.monitors.push_back(*monitor);
    fmt::print("{}", exporters::report_text(report));
    std::fflush(stdout);
    say_what_was_seen(*published, **producing, options, started);
  }
  if (!produced) return fail(produced.error());
  if (!stopped) return fail(stopped.error());
  return kOk;
}

}  // namespace

void add_demo(CLI::App& root, Chosen& chosen) {
  auto* command = root.add_subcommand("demo", "A whole monitor on a simulated stream; needs nothing else");
  auto options = std::make_shared<DemoOptions>();
  command->add_option("--scenario", options->scenario,
                      "identical, shift, specialist, diffuse or transfers (specialist)");
  command->add_option("--port", options->port, "Of the page (9464); 0: a free one")
      ->check(CLI::Range(0, 65'535));
  command->add_option("--for", options->duration, "Ends after so long, such as 60s, with the report");
  command->add_option("--rate", options->rate, "Events a second (3000)")->check(number_in(1, 200'000));
  command->add_option("--emerges-after", options->emerges_after, "Seconds until policies differ (20)")
      ->check(number_in(0, 86'400));
  command->add_option("--seed", options->seed, "Seed (1)");
  command->callback([&chosen, options] { chosen = [options] { return demo(*options); }; });
}

}  // namespace gapwatch::app
