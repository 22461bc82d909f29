// The exact expectation behind split_half(): a prompt's cells halved at random, the policy with the highest
// choosing-half rate taken, its scoring half judged.
//
// Threads: HalfLaws belongs to one thread, the rest is pure. Cost of a prompt: the values of its cells' laws, times the
// pool, times half the pool again where ties are averaged. Source: statistics.md section 5.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "stats/count_table.h"

namespace gapwatch::stats {

// How a cell's successes fall on its choosing half of floor(n/2) trials: hypergeometric. Values whose
// probability is below 1e-18 of the largest are left out.
struct HalfLaw {
  std::uint32_t half = 0;                  // trials of the choosing half
  std::uint32_t from = 0;                  // smallest number of successes kept
  std::vector<double> probability;         // of from, from + 1, ...
  std::vector<double> cumulative;          // running sums, the last is 1
};
HalfLaw half_law(CellCount cell);
// Its standard deviation, about; the cell has trials. A law has some 18 of them values.
double half_deviation(CellCount cell);

// Laws by (trials, successes), made once.
class HalfLaws {
 public:
  const HalfLaw& of(CellCount cell);

 private:
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::unique_ptr<HalfLaw>> laws_;
};

// The expected coverage of the chosen policy's scoring half, one number a threshold. Every cell has two trials or more.
// `first`: ties go to the first policy, else they are averaged over.
std::vector<double> honest_coverage(std::span<const CellCount> row, std::span<const double> thresholds, bool first,
                                    HalfLaws& laws);

}  // namespace gapwatch::stats
