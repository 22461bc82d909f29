// Correlation of policies over prompts, and the effective pool size.
//
// Pearson correlation of the raw rates over prompts (or of single draws over (prompt, aligned draw) pairs).
// Effective pool size: the participation ratio (sum lambda)^2 / sum lambda^2 of the correlation matrix's
// eigenvalues, which is M^2 / sum r^2: M for uncorrelated policies, 1 for identical ones. What it does not say:
// that correlated policies are redundant; a shared difficulty of prompts correlates everything.
//
// A policy without variance has no correlation and is left out; below one policy or two rows: absent.
// A missing cell's rate is 0. Threads: pure. Cost: N M^2.
// Source: statistics.md section 4; [RG].
#pragma once

#include <map>
#include <string>

#include "stats/draw_table.h"
#include "stats/running.h"

namespace gapwatch::stats {

struct Correlation {
  Number effective_pool_size;
  Number mean_between;                       // mean off-diagonal correlation
  Number mean_within_group, mean_across_groups;  // absent without two policies in a lineage, or two lineages
  std::size_t policies = 0;                  // with variance
};
Correlation rate_correlation(const CountTable& table, const std::map<std::string, std::string>& groups = {});
// Over the draws judged for every policy; `policies` names the columns of `draws`.
Correlation draw_correlation(const DrawTable& draws, const std::vector<std::string>& policies,
                             const std::map<std::string, std::string>& groups = {});

}  // namespace gapwatch::stats
