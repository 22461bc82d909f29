#include "stats/evidence_pairs.h"

#include <cassert>
#include <cmath>

#include "base/wide.h"
#include "stats/evidence_batch.h"

namespace gapwatch::stats {

GAPWATCH_WIDE void pair_pool(std::span<const Lanes> tilts, std::span<const bool> won, Lanes& log_e) {
  assert(tilts.size() == won.size() && tilts.size() <= kPoolSize);
  std::array<Lanes, kPoolSize + 1> elementary{};
  elementary[0].fill(1);
  Lanes seen{}, weights;
  std::uint32_t wins = 0;
  for (const bool one : won) wins += one;
  for (std::size_t j = 0; j < tilts.size(); ++j) {
    tilt_weights(tilts[j], weights);
    for (std::size_t k = wins; k >= 1; --k) {
      for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
        elementary[k][lane] += weights[lane] * elementary[k - 1][lane];
      }
    }
    if (!won[j]) continue;
    for (std::size_t lane = 0; lane < kLaneCount; ++lane) seen[lane] += tilts[j][lane];
  }
  // Differences within +-8 keep the polynomials below C(16, 8) exp(128).
  const double tables = log_binomial(static_cast<std::uint32_t>(tilts.size()), wins);
  for (std::size_t lane = 0; lane < kMarginComponents; ++lane) {
    log_e[lane] = seen[lane] + tables - std::log(elementary[wins][lane]);
  }
}

std::optional<PairQueue::Partner> PairQueue::match(std::uint32_t new_policy, bool success) {
  if (waiting > 0 && policy != new_policy) {
    const Partner partner{policy, (outcomes & 1) != 0};
    outcomes >>= 1;
    --waiting;
    return partner;
  }
  policy = new_policy;
  if (waiting < 64) {
    outcomes |= (success ? std::uint64_t{1} : 0) << waiting;
    ++waiting;
  }
  return std::nullopt;
}

}  // namespace gapwatch::stats
