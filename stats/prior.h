// The Beta prior of a table's cells: stated, or fitted to their spread beyond chance.
//
// Moments: m = mean of the raw rates, v their sample variance, v_bin = mean p(1-p)/n, v_b = v - v_bin; if
// v_b <= 1e-9 or m is 0 or 1 the spread is no more than chance: (0.5, 0.5), not identified; else
// nu = max(m(1-m)/v_b - 1, 1e-6), prior (m nu, (1-m) nu). Likelihood: beta-binomial maximum likelihood started
// from the moments; not identified where all cells are 0 or all are 1, or where there is no spread.
// Cells without trials do not count. No cell, or one: not identified.
//
// Threads: pure. Cost: moments one pass; likelihood some 100 passes over the distinct (trials, successes).
// Source: statistics.md section 2.
#pragma once

#include "config/settings.h"
#include "stats/rates.h"

namespace gapwatch::stats {

struct FittedPrior {
  BetaPrior prior{0.5, 0.5};
  bool identified = false;
  double log_likelihood = 0;  // of the likelihood fit, binomial coefficients included
};

FittedPrior fit_moments(const CountTable& table);
FittedPrior fit_likelihood(const CountTable& table);

// Distinct (trials, successes) of cells with trials, counted up to one more than `most`: what a likelihood costs.
std::size_t distinct_cells(const CountTable& table, std::size_t most);

// The prior that a monitor's setting means on this table; `identified` is true for a stated one.
FittedPrior resolve_prior(const config::Prior& setting, const CountTable& table);

}  // namespace gapwatch::stats
