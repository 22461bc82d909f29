// Every comparator that a monitor's gap can be taken to: each policy, each router, the policy chosen on other
// prompts, the best single policy of another monitor. A share without its comparator is undefined, so each
// split names it, and what it was chosen on.
//
// Pure; any thread. Source: statistics.md section 4.
#pragma once

#include <string>
#include <vector>

#include "exporters/report_model.h"

namespace gapwatch::exporters {

struct Comparator {
  std::string kind;       // "policy", "router", "cross_fit", "monitor"
  std::string chosen_on;  // "stated", "the same prompts", "other prompts", a monitor's name
  bool best_single = false;  // the policy with the highest pass@1 here
  bool same_data = false;    // chosen on draws that also score it
  stats::Number pass_at_1;
  stats::GapSplit split;
};

// Empty while nothing is measured. The paired coupling only where draws align.
std::vector<Comparator> comparators(const MonitorReport& monitor);

// Sets chosen_elsewhere of every monitor from the others of its eval and scorer.
void cross_comparators(std::vector<MonitorReport>& monitors);

}  // namespace gapwatch::exporters
