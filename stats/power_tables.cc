#include "stats/power_tables.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "stats/gaussian_null.h"
#include "stats/null_classes.h"
#include "stats/prior.h"

namespace gapwatch::stats {
namespace {

constexpr std::uint32_t kOutcomes = 0x706f7700;  // stream of the seed
constexpr double kMostQuality = 4;               // a policy with no success, or nothing else, is held here

double logit(double rate) { return std::log(rate) - std::log1p(-rate); }
double expit(double x) { return 1 / (1 + std::exp(-x)); }

// The prompts' pooled counts, as a table of one policy.
CountTable pooled(const CountTable& table) {
  CountTable out;
  out.policies = {"pool"};
  for (std::size_t i = 0; i < table.prompt_count(); ++i) {
    CellCount sum;
    for (const auto cell : table.row(i)) {
      sum.trials += cell.trials;
      sum.successes += cell.successes;
    }
    out.cells.push_back(sum);
  }
  return out;
}

// Centred log weights of the margin law; where that fit costs too much, centred logits of the pooled rates.
std::vector<double> fitted_quality(const CountTable& table, Executor& executor) {
  constexpr double kMostFitCost = 2e8;
  const std::size_t pool = table.pool_size();
  const auto classes = classify_prompts(table);
  std::vector<std::uint64_t> totals(pool, 0);
  std::vector<double> successes(pool, 0.5), trials(pool, 1), out(pool, 0);
  for (std::size_t i = 0; i < table.prompt_count(); ++i) {
    const bool moves = !classes.degenerate(classes.classes[classes.class_of_row[i]]);
    for (std::size_t m = 0; m < pool; ++m) {
      const auto cell = table.row(i)[m];
      totals[m] += moves ? cell.successes : 0;
      successes[m] += cell.successes;
      trials[m] += cell.trials;
    }
  }
  if (classes.informative() == 0 || pool < 2) return {};
  for (std::size_t m = 0; m < pool; ++m) out[m] = logit(successes[m] / trials[m]);
  if (moments_feasible(classes, 1) && moments_cost(classes, 1) <= kMostFitCost) {
    if (const auto tilt = fit_margin_tilt(classes, totals, executor)) out = tilt->log_weights;
  }
  double mean = 0;
  for (double& b : out) mean += std::clamp(b, -kMostQuality, kMostQuality) / static_cast<double>(pool);
  for (double& b : out) b = std::clamp(std::clamp(b, -kMostQuality, kMostQuality) - mean, -kMostQuality, kMostQuality);
  return out;
}

// The true rate of a cell: the simulation's, moved by the policy's quality.
double rate_of(const Simulation& simulation, const PowerPool& pool, std::uint32_t prompt, std::uint32_t policy) {
  const double planted = simulation.rate(prompt, policy, 1);
  if (pool.quality.empty()) return planted;
  const auto& effects = simulation.options().effects;
  const double quality = pool.quality[policy];
  if (effects.specialist_share == 0 && effects.transfer == 0) return expit(logit(planted) + quality);
  const double before = simulation.rate(prompt, policy, 0);
  return std::clamp(expit(logit(before) + quality) + planted - before, 0.0, 1.0);
}

Simulation simulation_of(const PowerPool& pool, const SimulatedEffects& effects, std::uint64_t seed) {
  SimulationOptions options;
  options.prompts = pool.prompts;
  options.policies = pool.policies;
  options.draws = 1;
  options.alpha = pool.alpha;
  options.beta = pool.beta;
  options.effects = effects;
  options.effects_from = 1;  // event 0: without the effect
  options.seed = seed;
  return Simulation::make(options).value();
}

}  // namespace

Status check_power_pool(const PowerPool& pool) {
  if (pool.policies < 2) return refuse("a power analysis needs at least two policies");
  if (pool.prompts == 0) return refuse("a power analysis needs at least one prompt");
  const auto cells = pool.prompts * pool.policies;
  if (cells > (1ull << 26)) return refuse("a power analysis takes at most 2^26 prompts x policies");
  if (!pool.cell_trials.empty() && pool.cell_trials.size() != cells) {
    return refuse("the cells' trials must be prompts x policies of them");
  }
  if (pool.cell_trials.empty() && (pool.trials == 0 || pool.trials > 100'000)) {
    return refuse("the trials of a cell must be from 1 to 100000");
  }
  if (!pool.quality.empty() && pool.quality.size() != pool.policies) {
    return refuse("there must be one quality a policy");
  }
  SimulationOptions options;
  options.prompts = pool.prompts;
  options.policies = pool.policies;
  options.alpha = pool.alpha;
  options.beta = pool.beta;
  const auto simulation = Simulation::make(options);
  return simulation ? Status() : Status(simulation.error());
}

PowerPool power_pool_of(const CountTable& table, Executor& executor) {
  PowerPool pool;
  pool.prompts = table.prompt_count();
  pool.policies = static_cast<std::uint32_t>(table.pool_size());
  for (const auto cell : table.cells) pool.cell_trials.push_back(cell.trials);
  if (pool.prompts == 0) return pool;
  constexpr double kLeastShape = 0.01, kMostShape = 1e6;
  const auto fitted = fit_likelihood(pooled(table));
  pool.alpha = std::clamp(fitted.prior.alpha, kLeastShape, kMostShape);
  pool.beta = std::clamp(fitted.prior.beta, kLeastShape, kMostShape);
  pool.difficulty_identified = fitted.identified;
  pool.quality = fitted_quality(table, executor);
  const auto first = pool.cell_trials.front();
  if (std::all_of(pool.cell_trials.begin(), pool.cell_trials.end(), [&](auto n) { return n == first; })) {
    pool.trials = first;
    pool.cell_trials.clear();
  }
  return pool;
}

PowerPool with_trials(PowerPool pool, std::uint32_t trials) {
  pool.trials = trials;
  pool.cell_trials.clear();
  return pool;
}

PowerTable draw_power_table(const PowerPool& pool, const SimulatedEffects& effects, double tau,
                            std::uint64_t seed) {
  PowerTable out;
  for (std::uint32_t m = 0; m < pool.policies; ++m) out.table.policies.push_back(simulated_policy(m));
  if (pool.prompts == 0 || pool.policies == 0) return out;
  const auto simulation = simulation_of(pool, effects, seed);
  out.table.cells.resize(pool.prompts * pool.policies);
  std::vector<std::uint64_t> reached(pool.policies, 0);
  std::uint64_t some_reached = 0, cell = 0;
  for (std::uint32_t i = 0; i < pool.prompts; ++i) {
    bool some = false;
    for (std::uint32_t m = 0; m < pool.policies; ++m, ++cell) {
      const double rate = rate_of(simulation, pool, i, m);
      some |= rate >= tau;
      reached[m] += rate >= tau ? 1 : 0;
      const auto trials = pool.cell_trials.empty() ? pool.trials : pool.cell_trials[cell];
      FastRandom random(seed, kOutcomes, cell);
      out.table.cells[cell] = {trials, binomial_draw(random, trials, rate)};
    }
    some_reached += some ? 1 : 0;
  }
  out.population_gap = static_cast<double>(some_reached - *std::max_element(reached.begin(), reached.end())) /
                       static_cast<double>(pool.prompts);
  return out;
}

}  // namespace gapwatch::stats
