// What a state of many cells costs: memory and disk a cell, events a second once it is many times the cache, and the
// start with it. Ledger and RocksDB alone; each event is of a random cell, so nearly every one needs a row that
// memory has let go of.
//
//   cells_bench FOLDER [CELLS [EVENTS [CACHE_BYTES]]]     10,000,000 cells, 2,000,000 events, a tenth of the state
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "state/ledger.h"

namespace {

using namespace gapwatch;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kPolicies = 20;

double cpu_seconds() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  const auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec); };
  return seconds(use.ru_utime) + seconds(use.ru_stime);
}

double resident_bytes() {
  std::ifstream in("/proc/self/statm");
  double all = 0, resident = 0;
  in >> all >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

struct Timer {
  Clock::time_point wall = Clock::now();
  double cpu = cpu_seconds();
  std::string text() const {
    return fmt::format("{:.1f} s, {:.1f} s of CPU", std::chrono::duration<double>(Clock::now() - wall).count(),
                       cpu_seconds() - cpu);
  }
  double wall_seconds() const { return std::chrono::duration<double>(Clock::now() - wall).count(); }
};

class Bench {
 public:
  Bench(std::string folder, std::uint64_t cache) : folder_(std::move(folder)) {
    settings_.state.cache_bytes = cache;
    settings_.monitors.emplace_back();
    settings_.monitors[0].name = "m";
    settings_.monitors[0].eval = "eval";
    settings_.monitors[0].scorer = "default";
    for (std::uint64_t m = 0; m < kPolicies; ++m) settings_.monitors[0].policies.push_back(fmt::format("policy-{:02}", m));
  }

  bool open() {
    state::RocksOptions options;
    options.path = folder_;
    auto store = state::open_rocks_store(options);
    if (!store) return fail(store.error());
    store_ = std::move(*store);
    ledger_ = std::make_unique<state::Ledger>(settings_, store_.get());
    if (auto status = ledger_->open(); !status) return fail(status.error());
    if (auto taken = ledger_->take_partition("t", 0); !taken) return fail(taken.error());
    ledger_->refresh();
    return true;
  }
  void close() {
    ledger_.reset();
    store_.reset();
  }

  bool count(std::uint64_t prompt, std::uint64_t policy, std::uint64_t draw, bool success) {
    name_ = fmt::format("prompt-{:08}", prompt);
    state::Event event;
    event.eval = "eval";
    event.scorer = "default";
    event.prompt = name_;
    event.policy = settings_.monitors[0].policies[policy];
    event.draw = draw;
    event.outcome = success ? state::Outcome::kSuccess : state::Outcome::kFailure;
    event.arrival = static_cast<std::uint64_t>(next_);
    auto& shard = *ledger_->shard("t", 0);
    shard.apply(event);
    shard.set_next_offset(++next_);
    return next_ % 4'096 != 0 || settle(false);
  }

  // As the daemon does it: when the cache is full, and about once a second.
  bool settle(bool now) {
    if (const auto* error = ledger_->failure()) return fail(*error);
    if (!now && !ledger_->cache_full() && Clock::now() < next_checkpoint_) return true;
    ledger_->refresh();
    if (auto status = ledger_->checkpoint(); !status) return fail(status.error());
    next_checkpoint_ = Clock::now() + std::chrono::seconds(1);
    return true;
  }

  state::Ledger& ledger() { return *ledger_; }
  std::uint64_t disk() const { return store_->size_bytes(); }

 private:
  static bool fail(const Error& error) {
    fmt::print(stderr, "cells_bench: {}\n", error.message);
    return false;
  }

  std::string folder_, name_;
  config::Settings settings_;
  std::unique_ptr<state::Store> store_;
  std::unique_ptr<state::Ledger> ledger_;
  Offset next_ = 0;
  Clock::time_point next_checkpoint_ = Clock::now() + std::chrono::seconds(1);
};

void say(Bench& bench, const char* what, const Timer& timer) {
  const auto cells = static_cast<double>(bench.ledger().cells());
  fmt::print("{}: {}; {:.0f} cells of {} prompts, {} of them in the store alone; memory {:.0f} MiB ({:.1f} bytes a cell), cached "
             "{:.0f} MiB, disk {:.1f} bytes a cell\n",
             what, timer.text(), cells, bench.ledger().prompts(), bench.ledger().prompts_in_store(),
             resident_bytes() / 1'048'576, resident_bytes() / cells, static_cast<double>(bench.ledger().cached_bytes()) / 1'048'576,
             static_cast<double>(bench.disk()) / cells);
  std::fflush(stdout);
}

int measure(const std::string& folder, std::uint64_t cells, std::uint64_t events, std::uint64_t cache) {
  const std::uint64_t prompts = std::max<std::uint64_t>(1, cells / kPolicies);
  // A cell with its evidence, as cached_bytes() counts it, is about 90 bytes here.
  Bench bench(folder, cache > 0 ? cache : 9 * cells);
  if (!bench.open()) return 1;
  std::mt19937_64 random(1);
  Timer filling;
  for (std::uint64_t p = 0; p < prompts; ++p) {
    for (std::uint64_t m = 0; m < kPolicies; ++m) {
      if (!bench.count(p, m, 0, random() % 3 == 0)) return 1;
    }
  }
  if (!bench.settle(true)) return 1;
  say(bench, "filled", filling);
  Timer running;
  for (std::uint64_t i = 0; i < events; ++i) {
    const auto bits = random();
    if (!bench.count(bits % prompts, (bits >> 40) % kPolicies, 1 + ((bits >> 50) & 31), (bits >> 63) != 0)) return 1;
  }
  if (!bench.settle(true)) return 1;
  fmt::print("{:.0f} events/s; ", static_cast<double>(events) / running.wall_seconds());
  say(bench, "random cells", running);
  bench.close();
  Timer starting;
  if (!bench.open()) return 1;
  say(bench, "started again", starting);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "cells_bench FOLDER [CELLS [EVENTS [CACHE_BYTES]]]\n");
    return 2;
  }
  const auto number = [&](int at, std::uint64_t fallback) { return argc > at ? std::stoull(argv[at]) : fallback; };
  return measure(argv[1], number(2, 10'000'000), number(3, 2'000'000), number(4, 0));
}
