// The mixture at one policy's budget: for each prompt, `budget` of its outcomes drawn without replacement.
//
// The uniform mixture sees all T_i outcomes of a prompt, a policy only n_im: the mixture's coverage is
// smoother for its larger sample alone. Here the draw has the size of a typical cell, k = floor(median n_im)
// over all cells with trials (at least 1, never more than T_i), or a budget that is given. Its successes are hypergeometric, so coverage,
// area and Pass@1 are exact expectations; where they spread by more than 300 they are taken for normal with their own
// skewness (coverage is then right to 1e-5, the area to 1e-6). What it does not say: anything about the mixture's true rate.
//
// No row: prompts = 0. Threads: pure. Cost: distinct prompt totals x some 20 deviations.
// Source: statistics.md section 3; [OG] section 2.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "stats/rates.h"

namespace gapwatch::stats {

struct BudgetMixture {
  std::size_t prompts = 0;
  std::uint32_t budget = 0;
  std::vector<double> coverage;  // by threshold
  double area = 0;               // over the band
  double pass_at_1 = 0;          // of the pooled outcomes
};
BudgetMixture budget_mixture(const CountTable& table, std::span<const double> thresholds, double band_low,
                             double band_high, std::optional<BetaPrior> prior = std::nullopt,
                             std::uint32_t budget = 0);

}  // namespace gapwatch::stats
