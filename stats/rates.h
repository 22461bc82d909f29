// The rate of one cell: raw, posterior, and its exact limits.
//
// Raw rate s/n, undefined without trials. Posterior Beta(alpha + s, beta + n - s) under a Beta prior: mean and
// equal-tailed interval. Clopper-Pearson limits: at whatever true rate, the interval misses it with
// probability at most 1 - level. `level` lies in (0, 1). With n = 0 a posterior is the prior and a
// Clopper-Pearson interval is [0, 1].
//
// Threads: pure. Cost: a Beta quantile is some microseconds.
// Source: statistics.md section 2.
#pragma once

#include <optional>

#include "stats/count_table.h"

namespace gapwatch::stats {

struct Interval {
  double low = 0, high = 0;
  friend bool operator==(const Interval&, const Interval&) = default;
};

struct BetaPrior {
  double alpha = 1, beta = 1;  // both > 0
};

// 0 where there is no trial; whoever shows a rate looks at `trials` first.
inline double raw_rate(CellCount cell) {
  return cell.trials == 0 ? 0 : static_cast<double>(cell.successes) / static_cast<double>(cell.trials);
}

double posterior_mean(CellCount cell, BetaPrior prior);
Interval posterior_interval(CellCount cell, BetaPrior prior, double level = 0.95);

Interval clopper_pearson(CellCount cell, double level = 0.95);  // two-sided
double clopper_pearson_upper(CellCount cell, double level = 0.95);  // one-sided
double clopper_pearson_lower(CellCount cell, double level = 0.95);

// The fewest successes with which the posterior mean reaches tau, the counterpart of need(); 0 .. trials + 1
// (trials + 1: it cannot).
std::uint32_t posterior_need(double tau, std::uint32_t trials, BetaPrior prior);

}  // namespace gapwatch::stats
