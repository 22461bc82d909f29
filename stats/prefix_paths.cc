#include "stats/prefix_paths.h"

#include <algorithm>

namespace gapwatch::stats {
namespace {

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

}  // namespace

std::vector<PrefixPoint> prefix_path(const DrawTable& draws, std::span<const std::uint32_t> ks,
                                     std::span<const std::uint32_t> order) {
  std::vector<PrefixPoint> path;
  if (draws.empty() || ks.empty()) return path;
  const std::size_t most = order.empty() ? *std::max_element(ks.begin(), ks.end()) : order.size();
  std::vector<Aligned> prompts;
  for (std::size_t i = 0; i < draws.prompt_count(); ++i) prompts.push_back(aligned_draws(draws.row(i), most));
  for (const auto k : ks) {
    if (!order.empty() && k > order.size()) continue;
    path.push_back(point_at(k, prompts, draws.pool_size, order));
  }
  return path;
}

}  // namespace gapwatch::stats
