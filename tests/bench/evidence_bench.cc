// The cost of one response to the evidence, all components, restarts included, on one core.

#include <benchmark/benchmark.h>

#include <cmath>
#include <vector>

#include "base/random.h"
#include "stats/evidence.h"

namespace gapwatch::stats {
namespace {

struct Prompts final : PromptEvidenceSource {
  explicit Prompts(std::size_t count) : rows(count) {}
  PromptEvidence& at(PromptKey prompt) override { return rows[prompt.value]; }
  std::vector<PromptEvidence> rows;
};

constexpr std::uint32_t kPrompts = 240;

// Random traffic; difficulties as in the papers, policies a little different.
std::vector<Response> make_stream(std::uint32_t policies, double alpha, double beta) {
  FastRandom random(1);
  std::vector<double> rates;
  for (std::uint32_t i = 0; i < kPrompts; ++i) {
    const double rate = beta_draw(random, alpha, beta);
    for (std::uint32_t m = 0; m < policies; ++m) {
      rates.push_back(1 / (1 + (1 - rate) / rate * std::exp(-0.1 * m)));
    }
  }
  std::vector<Response> stream(1 << 17);
  for (std::uint64_t t = 0; t < stream.size(); ++t) {
    const auto i = static_cast<std::uint32_t>(bounded(random, kPrompts));
    const auto m = static_cast<std::uint32_t>(bounded(random, policies));
    stream[t] = {{i}, m, bernoulli(random, rates[i * policies + m]), t, {}};
  }
  return stream;
}

void run_stream(benchmark::State& state, std::vector<Response> stream, const EvidenceOptions& options) {
  EvidenceEngine engine(options);
  PartitionEvidence partition;
  Prompts prompts(kPrompts);
  Restart plain, margin;
  std::size_t at = 0;
  for (auto _ : state) {
    const auto& response = stream[at++ % stream.size()];
    const auto& closed = engine.add(partition, prompts.rows[response.prompt.value], response, prompts);
    if (closed.plain) plain.step(*closed.plain);
    if (closed.margin) margin.step(*closed.margin);
  }
  benchmark::DoNotOptimize(plain);
  state.SetItemsProcessed(state.iterations());
}

// Both nulls: blocks of `batches` up to six policies, pairs above.
void both_nulls(benchmark::State& state) {
  EvidenceOptions options;
  options.block_batches = static_cast<std::uint32_t>(state.range(1));
  run_stream(state, make_stream(static_cast<std::uint32_t>(state.range(0)), 0.347, 0.601), options);
}
BENCHMARK(both_nulls)
    ->ArgNames({"policies", "batches"})
    ->Args({5, 8})
    ->Args({5, 4})
    ->Args({6, 8})
    ->Args({11, 8});

// Prompts of middling difficulty: every batch informs.
void both_nulls_middling(benchmark::State& state) {
  run_stream(state, make_stream(static_cast<std::uint32_t>(state.range(0)), 4, 4), {});
}
BENCHMARK(both_nulls_middling)->ArgName("policies")->Arg(5)->Arg(6)->Arg(11);

// Against the re-deal null alone, a response at a time.
void known_propensities(benchmark::State& state) {
  const auto policies = static_cast<std::uint32_t>(state.range(0));
  EvidenceOptions options;
  options.margin = MarginDesign::kOff;
  const std::vector<double> even(policies, 1.0 / policies);
  auto stream = make_stream(policies, 0.347, 0.601);
  for (auto& response : stream) response.propensities = even;
  run_stream(state, stream, options);
}
BENCHMARK(known_propensities)->ArgName("policies")->Arg(5)->Arg(11);

// Blocks of more policies than can be exact: what pairs save.
void sampled_blocks(benchmark::State& state) {
  EvidenceOptions options;
  options.margin = MarginDesign::kBlocks;
  options.plain = false;
  run_stream(state, make_stream(11, 0.347, 0.601), options);
}
BENCHMARK(sampled_blocks);

}  // namespace
}  // namespace gapwatch::stats

BENCHMARK_MAIN();
