// Benjamini-Hochberg: p-values adjusted for having looked at many.
//
// adjusted_(i) = min over j >= i of p_(j) m / j, in order of size. Calling everything with adjusted <= q a finding keeps
// the expected share of false ones at most q, for independent or positively dependent tests. What it does not
// say: which findings are false; and it does not protect a monitor that looks again and again.
//
// Empty in, empty out. p in [0, 1]. Threads: pure. Cost: m log m.
// Source: statistics.md section 5; Benjamini and Hochberg (1995).
#pragma once

#include <span>
#include <vector>

namespace gapwatch::stats {

std::vector<double> benjamini_hochberg(std::span<const double> p);

}  // namespace gapwatch::stats
