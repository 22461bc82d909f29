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

// Gathers prompts, cell by cell, into the numbers of one table.
class Tally {
 public:
  explicit Tally(std::size_t pool) { out_.pass_at_1.assign(pool, 0); }

  // `rate(m)` of each policy; `effect` of the paired coupling.
  template <typename F>
  void add(F&& rate, double effect) {
    double best = 0, miss = 1;
    for (std::size_t m = 0; m < out_.pass_at_1.size(); ++m) {
      const double p = rate(m);
      best = std::max(best, p);
      miss *= 1 - p;
      out_.pass_at_1[m] += p;
    }
    ceiling_ += best;
    any_ += 1 - miss;
    effect_ += effect;
    ++prompts_;
  }

  Replicate result(bool paired) {
    for (double& sum : out_.pass_at_1) sum /= prompts_;
    out_.premium = (any_ - ceiling_) / prompts_;
    out_.noise_share = share(any_);
    if (paired) out_.noise_share_paired = share(any_ + effect_);
    return std::move(out_);
  }

 private:
  Number share(double unions) const {
    const double gap = unions / prompts_ - *std::max_element(out_.pass_at_1.begin(), out_.pass_at_1.end());
    if (gap <= 1e-12) return std::nullopt;
    return (unions - ceiling_) / prompts_ / gap;
  }

  Replicate out_;
  double ceiling_ = 0, any_ = 0, effect_ = 0, prompts_ = 0;
};

// `effects` is empty where there is no paired coupling.
Replicate one_replicate(const CountTable& table, std::span<const double> effects, const NestedBootstrap& options,
                        std::size_t draws, std::uint64_t index) {
  FastRandom random(options.seed, kBootstrapStream, index);
  Tally tally(table.pool_size());
  for (std::size_t draw = 0; draw < draws; ++draw) {
    const auto prompt = bounded(random, table.prompt_count());
    const auto row = table.row(prompt);
    const auto rate = [&](std::size_t m) {
      if (row[m].trials == 0) return 0.0;
      return beta_draw(random, options.prior.alpha + row[m].successes,
                       options.prior.beta + (row[m].trials - row[m].successes));
    };
    tally.add(rate, effects.empty() ? 0 : effects[prompt]);
  }
  return tally.result(!effects.empty());
}

// The table's own numbers, by raw rates.
Replicate estimate(const CountTable& table, std::span<const double> effects) {
  Tally tally(table.pool_size());
  for (std::size_t i = 0; i < table.prompt_count(); ++i) {
    tally.add([row = table.row(i)](std::size_t m) { return raw_rate(row[m]); }, effects.empty() ? 0 : effects[i]);
  }
  return tally.result(!effects.empty());
}

// The order statistics nearest to the level's tails, by their distance from the mean, drawn in by `scale`, laid
// around `centre`, the mean itself where there is none.
Interval interval_of(std::vector<double> values, double level, double scale, Number centre) {
  std::sort(values.begin(), values.end());
  const auto last = static_cast<double>(values.size() - 1);
  double mean = 0;
  for (const double v : values) mean += v;
  mean /= static_cast<double>(values.size());
  const auto at = [&](double q) {
    const double v = values[static_cast<std::size_t>(std::lround(q * last))];
    return std::clamp(centre.value_or(mean) + (v - mean) * scale, 0.0, 1.0);
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
  const auto seen = estimate(table, effects);
  // Of those replicates that have the number; nothing where fewer than half do, or the table itself does not.
  const auto interval = [&](auto&& number_of, bool around_seen) -> std::optional<Interval> {
    const Number centre = around_seen ? number_of(seen) : std::nullopt;
    if (around_seen && !centre) return std::nullopt;
    std::vector<double> values;
    for (const auto& replicate : replicates) {
      if (const Number number = number_of(replicate)) values.push_back(*number);
    }
    if (2 * values.size() < replicates.size()) return std::nullopt;
    return interval_of(std::move(values), options.level, scale, centre);
  };
  out.noise_share = interval([](const Replicate& r) { return r.noise_share; }, true);
  out.noise_share_paired = interval([](const Replicate& r) { return r.noise_share_paired; }, true);
  out.premium = interval([](const Replicate& r) { return Number(r.premium); }, true);
  for (std::size_t m = 0; m < pool; ++m) {
    out.pass_at_1[m] = interval([m](const Replicate& r) { return Number(r.pass_at_1[m]); }, false);
  }
  return out;
}

}  // namespace gapwatch::stats
