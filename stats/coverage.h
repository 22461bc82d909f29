// Coverage beyond the running sums: under posterior rates, its area over a band, and what mixing guarantees.
//
// Every function takes the rows that count (complete_rows) and averages over them; with no row or no policy
// the result is empty (prompts = 0). A missing cell never covers, its rate is 0, and it is left out of the
// mixture. `prior` present: a cell's rate is its posterior mean instead of s/n.
//
// Threads: pure. Cost: one pass over the table.
// Source: statistics.md section 3; [OG] section 2.
#pragma once

#include <optional>
#include <vector>

#include "stats/rates.h"
#include "stats/running.h"

namespace gapwatch::stats {

// Coverage at one threshold, decided on integer counts: with a prior by posterior_need().
// Absent with no row.
std::optional<CoverageSummary> coverage_at(const CountTable& table, double tau,
                                           std::optional<BetaPrior> prior = std::nullopt);

// Area under the reliability curve on [low, high], low < high: the mean of clip((rate - low)/(high - low), 0, 1).
struct BandArea {
  std::size_t prompts = 0;
  std::vector<double> policy;
  double best = 0, oracle = 0, mixture = 0;
  std::size_t best_policy = 0;
};
BandArea band_area(const CountTable& table, double low, double high, std::optional<BetaPrior> prior = std::nullopt);

// C_mix(tau) >= C_oracle(M tau): what mixing all M policies at random must reach. The certificate
// C_oracle(M tau) - C_best(tau) guarantees, where positive, that mixing beats the best single policy.
struct MixingFloor {
  double floor = 0;        // 0 when M tau > 1
  double certificate = 0;  // floor - C_best(tau)
};
std::optional<MixingFloor> mixing_floor(const CountTable& table, double tau);

}  // namespace gapwatch::stats
