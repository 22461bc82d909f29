#include "stats/best_of_r.h"

#include <algorithm>
#include <cmath>

#include "stats/rates.h"

namespace gapwatch::stats {

std::vector<BestOfR> best_of_r(const CountTable& table, std::span<const std::uint32_t> rs) {
  std::vector<BestOfR> out;
  const auto prompts = table.prompt_count();
  if (prompts == 0) return out;
  for (const auto r : rs) {
    BestOfR at;
    at.r = r;
    double shares = 0;
    for (std::size_t i = 0; i < prompts; ++i) {
      double miss = 1, best = 0;
      for (const CellCount cell : table.row(i)) {
        miss *= 1 - raw_rate(cell);
        best = std::max(best, raw_rate(cell));
      }
      const double any = 1 - std::pow(miss, r), committed = 1 - std::pow(1 - best, r);
      at.union_product += any;
      at.committed += committed;
      if (any > 0) shares += (any - committed) / any;
    }
    const auto n = static_cast<double>(prompts);
    at.union_product /= n;
    at.committed /= n;
    at.premium = at.union_product - at.committed;
    at.mean_share = shares / n;
    if (at.union_product > 0) at.share = at.premium / at.union_product;
    out.push_back(at);
  }
  return out;
}

}  // namespace gapwatch::stats
