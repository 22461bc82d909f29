#include "stats/cross_fit.h"

#include <algorithm>
#include <numeric>

#include "base/random.h"
#include "stats/rates.h"

namespace gapwatch::stats {
namespace {

constexpr std::uint32_t kFoldStream = 0x464f4c44;  // "FOLD"

// By prompt: its part. Parts differ by one prompt at most.
std::vector<std::size_t> parts_of(std::size_t prompts, std::size_t folds, std::uint64_t seed) {
  std::vector<std::size_t> order(prompts), part(prompts);
  std::iota(order.begin(), order.end(), std::size_t{0});
  CounterRandom random(seed, kFoldStream);
  for (std::size_t i = prompts; i > 1; --i) std::swap(order[i - 1], order[bounded(random, i)]);
  for (std::size_t place = 0; place < prompts; ++place) part[order[place]] = place % folds;
  return part;
}

std::size_t best_of(std::span<const double> sums) {
  return static_cast<std::size_t>(std::max_element(sums.begin(), sums.end()) - sums.begin());
}

}  // namespace

std::optional<CrossFit> cross_fit(const CountTable& table, std::span<const PairedCount> paired, std::size_t folds,
                                  std::uint64_t seed) {
  const auto prompts = table.prompt_count(), pool = table.pool_size();
  if (prompts < 2 || pool == 0 || folds < 2) return std::nullopt;
  CrossFit out;
  out.folds = std::min(folds, prompts);
  const auto part = parts_of(prompts, out.folds, seed);
  std::vector<double> by_part(out.folds * pool, 0.0), all(pool, 0.0);
  for (std::size_t i = 0; i < prompts; ++i) {
    for (std::size_t m = 0; m < pool; ++m) {
      const double rate = raw_rate(table.row(i)[m]);
      by_part[part[i] * pool + m] += rate;
      all[m] += rate;
    }
  }
  double sum = 0;
  std::vector<double> others(pool);
  for (std::size_t f = 0; f < out.folds; ++f) {
    for (std::size_t m = 0; m < pool; ++m) others[m] = all[m] - by_part[f * pool + m];
    out.chosen.push_back(best_of(others));
    sum += by_part[f * pool + out.chosen.back()];
  }
  out.rate = sum / static_cast<double>(prompts);
  out.same_data_rate = all[best_of(all)] / static_cast<double>(prompts);
  SumsSpec spec;
  spec.pool_size = pool;
  spec.completeness.missing_as_fail = true;  // the table holds the rows that count
  const auto summary = summarize(sum_table(table, spec, paired), spec);
  out.product = split_gap(summary, "product", "chosen on other prompts", out.rate);
  out.paired = split_gap(summary, "paired", "chosen on other prompts", out.rate);
  return out;
}

}  // namespace gapwatch::stats
