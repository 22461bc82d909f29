// The cost of one event in the ledger, decode left out, as the number of prompts grows.
//
// Draws of random prompts, 20 policies. The sums are refreshed every 100,000 events, as the daemon's are about
// every second, or after every single event: what a row costs that is hit once between two refreshes. What must
// not happen is growth beyond what the caches explain.
#include <benchmark/benchmark.h>

#include <random>
#include <string>
#include <vector>

#include "state/ledger.h"

namespace {

using namespace gapwatch;

constexpr std::uint64_t kPolicies = 20;

void apply_event(benchmark::State& run) {
  const auto prompts = static_cast<std::uint64_t>(run.range(0));
  config::Settings settings;
  state::Ledger ledger(settings, nullptr);
  if (!ledger.take_partition("t", 0)) return;
  state::Shard& shard = *ledger.shard("t", 0);
  std::vector<std::string> names, policies;
  for (std::uint64_t i = 0; i < prompts; ++i) names.push_back("prompt-" + std::to_string(1'000'000 + i));
  for (std::uint64_t m = 0; m < kPolicies; ++m) policies.push_back("policy-" + std::to_string(m));
  std::mt19937_64 random(1);
  state::Event event;
  event.eval = "eval";
  event.scorer = "default";
  // Every cell exists before the clock starts.
  for (const auto& name : names) {
    for (const auto& policy : policies) {
      event.prompt = name;
      event.policy = policy;
      event.draw = 0;
      shard.apply(event);
    }
  }
  ledger.refresh();
  const auto refresh_every = static_cast<std::uint64_t>(run.range(2));
  std::uint64_t applied = 0;
  for (auto _ : run) {
    const auto bits = random();
    event.prompt = names[bits % prompts];
    event.policy = policies[(bits >> 40) % kPolicies];
    event.draw = (bits >> 50) % static_cast<std::uint64_t>(run.range(1));
    event.outcome = (bits >> 63) != 0 ? state::Outcome::kSuccess : state::Outcome::kFailure;
    benchmark::DoNotOptimize(shard.apply(event));
    if (++applied % refresh_every == 0) ledger.refresh();
  }
  run.SetItemsProcessed(run.iterations());
}

}  // namespace

BENCHMARK(apply_event)
    ->ArgNames({"prompts", "draws", "refresh_every"})
    ->ArgsProduct({{1'000, 10'000, 100'000, 1'000'000}, {32, 250}, {100'000, 1}})
    ->MinTime(1);
BENCHMARK_MAIN();
