// What keeping evidence costs the counting thread, as a ratio: events a second in the ledger with evidence and
// without, decode left out, 11 policies answering in random order. Refreshed every 100,000 events and written
// every million, as the daemon does about every second. The whole rate of `gapwatch run` suffers less: it decodes too.
#include <benchmark/benchmark.h>

#include <random>
#include <string>
#include <vector>

#include "state/ledger.h"

namespace {

using namespace gapwatch;

constexpr std::uint64_t kPolicies = 11;

void apply_event(benchmark::State& run) {
  const auto prompts = static_cast<std::uint64_t>(run.range(0));
  config::Settings settings;
  settings.automatic_monitor.evidence.enabled = run.range(1) != 0;
  state::MemoryStore store;
  state::Ledger ledger(settings, &store);
  if (!ledger.open() || !ledger.take_partition("t", 0)) return;
  state::Shard& shard = *ledger.shard("t", 0);
  std::vector<std::string> names, policies;
  std::vector<std::uint64_t> draws(prompts * kPolicies, 0);
  for (std::uint64_t i = 0; i < prompts; ++i) names.push_back("prompt-" + std::to_string(1'000'000 + i));
  for (std::uint64_t m = 0; m < kPolicies; ++m) policies.push_back("policy-" + std::to_string(m));
  std::mt19937_64 random(1);
  state::Event event;
  event.eval = "eval";
  event.scorer = "default";
  std::uint64_t applied = 0;
  const auto next = [&] {
    const auto bits = random();
    const auto prompt = bits % prompts, policy = (bits >> 40) % kPolicies;
    event.prompt = names[prompt];
    event.policy = policies[policy];
    event.draw = draws[prompt * kPolicies + policy]++;
    // Prompts from easy to hard: a third succeed always or never.
    const auto rate = 2 * (prompt % 64);
    event.outcome = (bits >> 56) % 128 < rate ? state::Outcome::kSuccess : state::Outcome::kFailure;
    shard.apply(event);
    shard.set_next_offset(static_cast<Offset>(++applied));
    if (applied % 100'000 == 0) ledger.refresh();
    if (applied % 1'000'000 == 0) benchmark::DoNotOptimize(ledger.checkpoint());
  };
  for (std::uint64_t i = 0; i < prompts * kPolicies * 2; ++i) next();  // every prompt is known before the clock starts
  for (auto _ : run) next();
  run.SetItemsProcessed(run.iterations());
}

}  // namespace

BENCHMARK(apply_event)
    ->ArgNames({"prompts", "evidence"})
    ->ArgsProduct({{500, 10'000, 100'000}, {0, 1}})
    ->MinTime(1);
BENCHMARK_MAIN();
