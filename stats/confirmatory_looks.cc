#include "stats/confirmatory_looks.h"

#include <algorithm>
#include <bit>

#include "base/random.h"
#include "stats/nulls.h"
#include "stats/power_tests.h"

namespace gapwatch::stats {
namespace {

enum Stream : std::uint32_t { kLookSeed = 0x100c };

// The first k judged draws of a cell; fewer trials where it has fewer.
CellCount first_draws(const DrawSet& draws, std::uint32_t k) {
  CellCount count;
  for (std::size_t w = 0; w < draws.words() && count.trials < k; ++w) {
    const auto [judged, success] = draws.word(w);
    for (auto left = judged; left != 0 && count.trials < k; left &= left - 1) {
      ++count.trials;
      count.successes += static_cast<std::uint32_t>((success >> std::countr_zero(left)) & 1);
    }
  }
  for (const auto& [draw, outcome] : draws.far()) {
    if (count.trials == k) break;
    count.trials += outcome != DrawOutcome::kUnscored;
    count.successes += outcome == DrawOutcome::kSuccess;
  }
  return count;
}

CountTable names_of(std::size_t pool) {
  CountTable table;
  for (std::size_t m = 0; m < pool; ++m) table.policies.push_back(std::to_string(m));
  return table;
}

void test(ConfirmatoryLook& look, const CountTable& table, const LookPlan& plan, Executor& executor) {
  NullOptions options;
  options.replicates = plan.replicates;
  options.bootstrap = 0;
  options.seed = CounterRandom(plan.seed, kLookSeed, look.draws)();
  const double taus[] = {plan.tau};
  const auto nulls = compare_with_nulls(table, taus, options, executor);
  const auto& gap = nulls.thresholds.front().gap;
  const auto decide = [&](double p) { return LookTest{p, p <= look.level}; };
  look.gap = decide(gap.redeal ? gap.redeal->p_upper : 1.0);
  look.margin_gap = decide(gap.margin ? gap.margin->p_upper : 1.0);
  look.heterogeneity = decide(heterogeneity_p_value(table, plan.replicates, options.seed).p);
}

}  // namespace

std::vector<ConfirmatoryLook> confirmatory_looks(std::span<const DrawSet> draws, std::size_t pool,
                                                 const LookPlan& plan, Executor& executor) {
  auto schedule = plan.draws;
  std::sort(schedule.begin(), schedule.end());
  schedule.erase(std::unique(schedule.begin(), schedule.end()), schedule.end());
  std::erase(schedule, 0u);
  std::vector<ConfirmatoryLook> looks;
  for (const auto k : schedule) {
    ConfirmatoryLook look;
    look.draws = k;
    look.level = plan.alpha / static_cast<double>(schedule.size());
    look.prompts = draws.size() / pool;
    CountTable table = names_of(pool);
    for (std::size_t i = 0; i < look.prompts; ++i) {
      bool ready = true;
      for (const auto& cell : draws.subspan(i * pool, pool)) {
        table.cells.push_back(first_draws(cell, k));
        ready &= table.cells.back().trials == k;
      }
      look.ready += ready;
    }
    look.taken = look.prompts > 0 && look.ready == look.prompts;
    if (look.taken) test(look, table, plan, executor);
    looks.push_back(look);
  }
  return looks;
}

}  // namespace gapwatch::stats
