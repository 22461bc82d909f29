#include "stats/prefix_paths.h"

#include <algorithm>
#include <numeric>

#include "base/random.h"

namespace gapwatch::stats {
namespace {

constexpr std::uint32_t kOrderStream = 0x4f524452;  // "ORDR"

// Aligned draws of one prompt: by draw in order of index, the policies' outcomes.
using Aligned = std::vector<std::vector<bool>>;

Aligned aligned_draws(std::span<const DrawSet* const> pool, std::size_t most) {
  Aligned rows;
  for_each_aligned(pool, [&](std::uint64_t, const std::vector<bool>& successes) {
    if (rows.size() < most) rows.push_back(successes);
  });
  return rows;
}

// The table and paired counts that the first k draws of every prompt give.
PrefixPoint point_at(std::uint32_t k, const std::vector<Aligned>& prompts, std::size_t pool_size,
                     std::span<const std::uint32_t> order) {
  SumsSpec spec;
  spec.pool_size = pool_size;
  PoolSums sums(spec);
  std::vector<CellCount> cells(pool_size);
  for (const auto& draws : prompts) {
    if (draws.size() < k || k == 0) continue;
    std::fill(cells.begin(), cells.end(), CellCount{k, 0});
    PairedCount paired{k, 0};
    for (std::uint32_t j = 0; j < k; ++j) {
      const auto position = order.empty() ? j : order[j];
      if (position >= draws.size()) {  // a permutation of more draws than this prompt has
        paired.aligned = 0;
        break;
      }
      bool any = false;
      for (std::size_t m = 0; m < pool_size; ++m) {
        cells[m].successes += draws[position][m];
        any |= draws[position][m];
      }
      paired.any_success += any;
    }
    if (paired.aligned == k) sums.add({cells, paired});
  }
  const auto summary = summarize(sums, spec);
  PrefixPoint point;
  point.k = k;
  point.prompts = summary.complete;
  if (summary.complete == 0) return point;
  point.ceiling = summary.ceiling;
  point.union_product = summary.union_product;
  point.union_paired = summary.union_paired;
  point.premium = summary.premium_product;
  point.best_single = summary.pass_at_1[summary.best_single];
  point.noise_share_product = split_gap(summary, "product", "", *point.best_single).noise_share;
  point.noise_share_paired = split_gap(summary, "paired", "", *point.best_single).noise_share;
  return point;
}

std::vector<Aligned> all_aligned(const DrawTable& draws, std::size_t most) {
  std::vector<Aligned> prompts;
  for (std::size_t i = 0; i < draws.prompt_count(); ++i) prompts.push_back(aligned_draws(draws.row(i), most));
  return prompts;
}

std::vector<std::uint32_t> permutation(std::size_t size, std::uint64_t seed, std::uint32_t index) {
  std::vector<std::uint32_t> order(size);
  std::iota(order.begin(), order.end(), 0u);
  CounterRandom random(seed, kOrderStream, index);
  for (std::size_t i = size; i > 1; --i) std::swap(order[i - 1], order[bounded(random, i)]);
  return order;
}

// Mean and extremes of the numbers there are.
void set_range(std::span<const double> values, Number& mean, Number& min, Number& max) {
  if (values.empty()) return;
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  min = *low;
  max = *high;
  mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

std::vector<PrefixPoint> prefix_path(const DrawTable& draws, std::span<const std::uint32_t> ks,
                                     std::span<const std::uint32_t> order) {
  std::vector<PrefixPoint> path;
  if (draws.empty() || ks.empty()) return path;
  const std::size_t most = order.empty() ? *std::max_element(ks.begin(), ks.end()) : order.size();
  const auto prompts = all_aligned(draws, most);
  for (const auto k : ks) {
    if (!order.empty() && k > order.size()) continue;
    path.push_back(point_at(k, prompts, draws.pool_size, order));
  }
  return path;
}

std::vector<PrefixRange> prefix_ranges(const DrawTable& draws, std::span<const std::uint32_t> ks,
                                       std::uint32_t permutations, std::uint64_t seed) {
  std::vector<PrefixRange> out;
  if (draws.empty() || ks.empty() || permutations == 0) return out;
  const auto prompts = all_aligned(draws, ~std::size_t{0});
  std::size_t common = prompts.empty() ? 0 : prompts[0].size();
  for (const auto& prompt : prompts) common = std::min(common, prompt.size());
  std::vector<std::vector<std::uint32_t>> orders;
  for (std::uint32_t p = 0; p < permutations; ++p) orders.push_back(permutation(common, seed, p));
  for (const auto k : ks) {
    if (k == 0 || k > common) continue;
    std::vector<double> premiums, shares;
    for (const auto& order : orders) {
      const auto point = point_at(k, prompts, draws.pool_size, order);
      if (point.premium) premiums.push_back(*point.premium);
      if (point.noise_share_paired) shares.push_back(*point.noise_share_paired);
    }
    PrefixRange range;
    range.k = k;
    range.permutations = permutations;
    set_range(premiums, range.premium_mean, range.premium_min, range.premium_max);
    set_range(shares, range.share_paired_mean, range.share_paired_min, range.share_paired_max);
    out.push_back(range);
  }
  return out;
}

}  // namespace gapwatch::stats
