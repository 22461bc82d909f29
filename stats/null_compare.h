// From a null law, in whatever form it is known, to a NullComparison.
//
// Threads: pure. Cost: linear in the samples, draws or indicators. Source: statistics.md section 5, "Reported".
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stats/evaluation.h"
#include "stats/poisson_binomial.h"

namespace gapwatch::stats {

// A law that is one point, the observed value.
NullComparison compare_with_point(double observed);

// Samples of an integer statistic whose value is integer / scale. Samples within `tolerance` of the observed
// integer count as ties. Not empty.
NullComparison compare_with_samples(std::int64_t observed, std::span<const std::int64_t> samples,
                                    double scale, std::int64_t tolerance = 0);

// A sum of indicators minus `shift`, over `scale`: exact.
NullComparison compare_with_indicators(std::int64_t observed, const PoissonBinomial& law, std::int64_t shift,
                                       double scale);

// Ascending draws from a continuous approximation of a statistic of at least 0. On the integers (`lattice`) a
// tail starts half a step before the observed value and quantiles are rounded.
NullComparison compare_with_draws(double observed, std::span<const double> draws, double scale, bool lattice);

// A normal approximation of an integer statistic in [0, scale].
NullComparison compare_with_normal(double observed, double mean, double variance, double scale);

}  // namespace gapwatch::stats
