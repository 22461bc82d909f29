// What the null comparisons cost, beside tests/bench/reference_nulls.py. ops/bench-nulls prints the ratios.

#include <benchmark/benchmark.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/executor.h"
#include "base/random.h"
#include "stats/nulls.h"
#include "stats/subpools.h"

namespace gapwatch::stats {
namespace {

const std::vector<double> kTaus{0.05, 0.1, 0.2, 0.3};

// Identical policies, difficulties Beta(0.6, 1.4).
CountTable make_table(std::size_t prompts, std::size_t policies, std::uint32_t trials) {
  CounterRandom random(1);
  CountTable table;
  for (std::size_t m = 0; m < policies; ++m) table.policies.push_back("policy-" + std::to_string(1000 + m));
  table.cells.reserve(prompts * policies);
  for (std::size_t i = 0; i < prompts; ++i) {
    const double rate = beta_draw(random, 0.6, 1.4);
    for (std::size_t m = 0; m < policies; ++m)
      table.cells.push_back({trials, binomial_draw(random, trials, rate)});
  }
  return table;
}

// Both laws, all four thresholds. Arguments: prompts, policies, bootstrap replicates.
void both_nulls(benchmark::State& state) {
  const auto table =
      make_table(static_cast<std::size_t>(state.range(0)), static_cast<std::size_t>(state.range(1)), 16);
  const auto executor = make_thread_executor(0);
  NullOptions options;
  options.bootstrap = static_cast<std::uint32_t>(state.range(2));
  NullResults results;
  for (auto _ : state) {
    ++options.seed;  // how far apart the chain's samples lie is measured anew each time
    results = compare_with_nulls(table, kTaus, options, *executor);
    benchmark::DoNotOptimize(results);
  }
  state.counters["redeal_L"] = results.thresholds[1].gap.redeal->mean;
  state.counters["margin_L"] = results.thresholds[1].gap.margin->mean;
  state.counters["effective"] = results.chain.effective_samples;
  state.SetLabel(results.thresholds[1].gap.redeal->method + ", " + results.thresholds[1].gap.margin->method);
}
BENCHMARK(both_nulls)
    ->ArgNames({"prompts", "policies", "bootstrap"})
    ->Args({240, 5, 0})
    ->Args({240, 5, 400})
    ->Args({10'000, 10, 0})
    ->Args({100'000, 10, 0})
    ->Args({1'000'000, 10, 0})
    ->Args({1'000'000, 10, 400})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// All 2^20 - 1 subsets of 20 policies on 1,000 prompts.
void subpools(benchmark::State& state) {
  const auto table = make_table(1'000, 20, 16);
  const auto executor = make_thread_executor(0);
  for (auto _ : state) benchmark::DoNotOptimize(all_subpools(table, *executor));
}
BENCHMARK(subpools)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace gapwatch::stats

BENCHMARK_MAIN();
