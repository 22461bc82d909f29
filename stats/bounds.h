// Winner's curse: how much the best of M measured rates overstates the best of M true ones.
//
// Bounds on E[max p-hat] - max p for M independent cells of n trials each:
//   hoeffding    sqrt(ln M / 2n)
//   kearns_saul  sqrt(2 nu ln M / n), nu the largest Kearns-Saul proxy (1-2p)/(2 ln((1-p)/p)) of the rates
//   bernstein    sqrt(2 v ln M / n) + ln M / 3n, v the largest p(1-p)
// and its exact value for M tied policies, or for given independent rates. Their rates must be known; put in
// estimates and they are estimates. What they do not say: anything about dependent policies beyond an upper bound
// (all three hold for any dependence, the exact values for independence only).
//
// M = 0 or n = 0: 0. Threads: pure. Cost: exact ones n M.
// Source: statistics.md section 4; [RG].
#pragma once

#include <cstdint>
#include <span>

#include "stats/running.h"

namespace gapwatch::stats {

struct CurseBounds {
  double hoeffding = 0, kearns_saul = 0, bernstein = 0;
  double exact_independent = 0;
};
CurseBounds winners_curse(std::span<const double> rates, std::uint32_t trials);

// The Kearns-Saul proxy of the variance of a Bernoulli(p), scaled so that it is 1/4 at p = 1/2.
double kearns_saul_proxy(double p);
// E[max of M independent Bin(n, p)]/n - p.
double tied_bias(double p, std::size_t policies, std::uint32_t trials);

// The premium that survives a margin: mean over prompts of (P - r - (R + r))+ with r = sqrt(ln max(M, 2) / 2n), n the
// prompt's smallest number of trials, P its paired union (the product union where draws do not align).
// Absent with no row. `paired` is empty or by prompt.
Number conservative_premium_floor(const CountTable& table, std::span<const PairedCount> paired = {});

}  // namespace gapwatch::stats
