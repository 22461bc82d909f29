// Levels of a pool's policies in log-odds, from a table: what population_gap takes as given.
//
// One Newton step of the conditional likelihood given every prompt's total, from equality, each policy against all,
// then shrunk toward 0 by the share of its variance that is not error. They sum to about 0 and lie in [-3, 3]; all 0 where fewer than two policies
// say anything.
// Threads: pure. Cost: one pass over the table. Source: sequential.md, H.
#pragma once

#include <vector>

#include "stats/count_table.h"

namespace gapwatch::stats {

std::vector<double> policy_levels(const CountTable& table);

}  // namespace gapwatch::stats
