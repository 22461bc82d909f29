#include "stats/noise_interval.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "stats/running.h"

namespace gapwatch::stats {
namespace {

constexpr std::uint32_t kBootstrapStream = 0x4e4f4953;  // "NOIS"

struct Replicate {
  Number noise_share;
  double premium = 0;
  std::vector<double> pass_at_1;
};

Replicate one_replicate(const CountTable& table, const NestedBootstrap& options, std::size_t draws,
                        std::uint64_t index) {
  FastRandom random(options.seed, kBootstrapStream, index);
  const auto prompts = table.prompt_count();
  Replicate out;
  out.pass_at_1.assign(table.pool_size(), 0);
  double ceiling = 0, any = 0;
  for (std::size_t draw = 0; draw < draws; ++draw) {
    const auto row = table.row(bounded(random, prompts));
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
  const double gap = any / n - *std::max_element(out.pass_at_1.begin(), out.pass_at_1.end());
  if (gap > 1e-12) out.noise_share = out.premium / gap;
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

NoiseIntervals noise_intervals(const CountTable& table, const NestedBootstrap& options, Executor& executor) {
  NoiseIntervals out;
  const auto prompts = table.prompt_count(), pool = table.pool_size();
  out.pass_at_1.resize(pool);
  if (prompts == 0 || options.replicates == 0) return out;
  const auto draws = std::min(prompts, std::max<std::size_t>(100, kMostBootstrapCells / pool));
  const double scale = std::sqrt(static_cast<double>(draws) / static_cast<double>(prompts));
  std::vector<Replicate> replicates(options.replicates);
  executor.run(replicates.size(), [&](std::size_t b) { replicates[b] = one_replicate(table, options, draws, b); });
  std::vector<double> shares, premiums;
  for (const auto& replicate : replicates) {
    if (replicate.noise_share) shares.push_back(*replicate.noise_share);
    premiums.push_back(replicate.premium);
  }
  if (2 * shares.size() >= replicates.size()) out.noise_share = interval_of(std::move(shares), options.level, scale);
  out.premium = interval_of(std::move(premiums), options.level, scale);
  for (std::size_t m = 0; m < pool; ++m) {
    std::vector<double> rates;
    for (const auto& replicate : replicates) rates.push_back(replicate.pass_at_1[m]);
    out.pass_at_1[m] = interval_of(std::move(rates), options.level, scale);
  }
  return out;
}

}  // namespace gapwatch::stats
