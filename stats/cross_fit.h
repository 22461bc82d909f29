// The best single policy, chosen on some prompts and scored on others.
//
// The best of M noisy means is too high, so a gap to it is too small. Here the prompts are dealt to `folds` parts
// at random; each part is scored with the policy whose mean rate is the highest over all other parts. `rate` is
// the mean over all prompts, and the splits are the gaps from it to the table's unions. What it does not say: how the
// chosen policy does on another eval; and its rate is that of a choice on (folds - 1)/folds of the prompts, a
// little worse than one on all.
//
// Absent below two prompts, or without policies. With fewer prompts than folds each prompt is its own part. Ties
// go to the first policy by name. Threads: pure. Cost: one pass. Source: statistics.md section 4, comparators.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "stats/running.h"

namespace gapwatch::stats {

struct CrossFit {
  std::size_t folds = 0;
  std::vector<std::size_t> chosen;  // by part: the policy chosen without it
  double rate = 0;                  // in [0, 1]; a missing cell's rate is 0
  double same_data_rate = 0;        // of the policy that is best on all prompts, scored on all
  GapSplit product, paired;         // comparator: "chosen on other prompts"
};

// `paired` is empty or by prompt.
std::optional<CrossFit> cross_fit(const CountTable& table, std::span<const PairedCount> paired, std::size_t folds,
                                  std::uint64_t seed);

}  // namespace gapwatch::stats
