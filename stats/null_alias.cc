#include "stats/null_alias.h"

#include <algorithm>
#include <vector>

namespace gapwatch::stats {

void build_alias_row(std::span<const double> weights, std::uint32_t first, AliasEntry* row,
                     std::uint32_t bits) {
  const std::size_t slots = std::size_t{1} << bits;
  thread_local std::vector<double> share;
  thread_local std::vector<std::uint32_t> small, large;
  share.assign(slots, 0.0);
  small.clear();
  large.clear();
  double sum = 0;
  for (const double w : weights) sum += w;
  for (std::size_t k = 0; k < weights.size(); ++k) share[k] = weights[k] / sum * static_cast<double>(slots);
  for (std::size_t k = 0; k < slots; ++k)
    (share[k] < 1 ? small : large).push_back(static_cast<std::uint32_t>(k));
  const auto outcome = [&](std::size_t k) {
    return static_cast<std::uint16_t>(first + std::min(k, weights.size() - 1));
  };
  while (!small.empty() && !large.empty()) {
    const auto s = small.back(), l = large.back();
    small.pop_back();
    row[s] = {static_cast<std::uint32_t>(share[s] * 0x1p32), outcome(s), outcome(l)};
    share[l] -= 1 - share[s];
    if (share[l] < 1) {
      large.pop_back();
      small.push_back(l);
    }
  }
  for (const auto k : large) row[k] = {0, outcome(k), outcome(k)};
  // What rounding left over: slots that are full but for the last bits, or empty ones nothing was left to
  // fill.
  const auto likeliest =
      static_cast<std::size_t>(std::max_element(weights.begin(), weights.end()) - weights.begin());
  for (const auto k : small) {
    const auto own = k < weights.size() && weights[k] > 0 ? k : likeliest;
    row[k] = {0, outcome(own), outcome(own)};
  }
}

}  // namespace gapwatch::stats
