#include "stats/noise_interval.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "stats/running.h"

namespace gapwatch::stats {
namespace {

constexpr std::uint32_t kBootstrapStream = 0x4e4f4953;  // "NOIS"

struct Replicate {
  Number noise_share, noise_share_paired;
  double premium = 0;
  std::vector<double> pass_at_1;
};

// How far each prompt's paired union lies from its product union.
std::vector<double> coupling_effects(const CountTable& table, std::span<const PairedCount> paired) {
  std::vector<double> effects;
  for (std::size_t i = 0; i < paired.size(); ++i) {
    double miss = 1;
    for (const CellCount cell : table.row(i)) miss *= 1 - raw_rate(cell);
    effects.push_back(static_cast<double>(paired[i].any_success) / static_cast<double>(paired[i].aligned) - (1 - miss));
  }
  return effects;
}

// `effects` is empty where there is no paired coupling.
Replicate one_replicate(const CountTable& table, std::span<const double> effects, const NestedBootstrap& options,
                        std::size_t draws, std::uint64_t index) {
  FastRandom random(options.seed, kBootstrapStream, index);
  const auto prompts = table.prompt_count();
  Replicate out;
  out.pass_at_1.assign(table.pool_size(), 0);
  double ceiling = 0, any = 0, effect = 0;
  for (std::size_t draw = 0; draw < draws; ++draw) {
    const auto prompt = bounded(random, prompts);
    const auto row = table.row(prompt);
    if (!effects.empty()) effect += effects[prompt];
    double best = 0, miss = 1;
    for (std::size_t m = 0; m < row.size(); ++m) {
      const double p = row[m].trials == 0
                           ? 0
                           : beta_draw(random, options.prior.alpha + row[m].successes,
                                       options.prior.beta + (row[m].trials - row[m].successes));
      best = std::max(best, p);
      miss *= 1 - p;
      out.pass_at_1[m] += p;
    }
    ceiling += best;
    any += 1 - miss;
  }
  const auto n = static_cast<double>(draws);
  for (double& sum : out.pass_at_1) sum /= n;
  out.premium = (any - ceiling) / n;
  const double best_single = *std::max_element(out.pass_at_1.begin(), out.pass_at_1.end());
  const auto share = [&](double unions) -> Number {
    const double gap = unions / n - best_single;
    if (gap <= 1e-12) return std::nullopt;
    return (unions - ceiling) / n / gap;
  };
  out.noise_share = share(any);
  if (!effects.empty()) out.noise_share_paired = share(any + effect);
  return out;
}

// Between the order statistics nearest to the level's tails, drawn in to `scale` of their distance from the mean.
Interval interval_of(std::vector<double> values, double level, double scale) {
  std::sort(values.begin(), values.end());
  const auto last = static_cast<double>(values.size() - 1);
  double mean = 0;
  for (const double v : values) mean += v;
  mean /= static_cast<double>(values.size());
  const auto at = [&](double q) {
    const double v = values[static_cast<std::size_t>(std::lround(q * last))];
    return scale < 1 ? mean + (v - mean) * scale : v;
  };
  return {at((1 - level) / 2), at((1 + level) / 2)};
}

}  // namespace

NoiseIntervals noise_intervals(const CountTable& table, std::span<const PairedCount> paired,
                               const NestedBootstrap& options, Executor& executor) {
  NoiseIntervals out;
  const auto prompts = table.prompt_count(), pool = table.pool_size();
  out.pass_at_1.resize(pool);
  if (prompts == 0 || options.replicates == 0) return out;
  const auto draws = std::min(prompts, std::max<std::size_t>(100, kMostBootstrapCells / pool));
  const double scale = std::sqrt(static_cast<double>(draws) / static_cast<double>(prompts));
  const auto effects = coupling_effects(table, paired);
  std::vector<Replicate> replicates(options.replicates);
  executor.run(replicates.size(),
               [&](std::size_t b) { replicates[b] = one_replicate(table, effects, options, draws, b); });
  // Of those replicates that have the number; nothing where fewer than half do.
  const auto interval = [&](auto&& number_of) -> std::optional<Interval> {
    std::vector<double> values;
    for (const auto& replicate : replicates) {
      if (const Number number = number_of(replicate)) values.push_back(*number);
    }
    if (2 * values.size() < replicates.size()) return std::nullopt;
    return interval_of(std::move(values), options.level, scale);
  };
  out.noise_share = interval([](const Replicate& r) { return r.noise_share; });
  out.noise_share_paired = interval([](const Replicate& r) { return r.noise_share_paired; });
  out.premium = interval([](const Replicate& r) { return Number(r.premium); });
  for (std::size_t m = 0; m < pool; ++m) out.pass_at_1[m] = interval([m](const Replicate& r) { return Number(r.pass_at_1[m]); });
  return out;
}

}  // namespace gapwatch::stats
