// How much the samples of a chain depend on those before.
//
// Constant series have no autocorrelation. Threads: pure. Cost: 32 passes over the series.
// Source: statistics.md section 5 (burn-in and thinning by measured autocorrelation).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gapwatch::stats {

double mean_of(std::span<const std::int64_t> series);  // not empty

// At lags 0 .. 32 about `mean`; empty where the series is constant.
std::vector<double> autocorrelation(std::span<const std::int64_t> series, double mean);

// 1 + 2 sum of autocorrelations, averaged over `chains` equal parts, up to the first pair that is not positive.
double autocorrelation_time(std::span<const std::int64_t> samples, std::size_t chains);

}  // namespace gapwatch::stats
