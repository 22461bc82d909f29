#include "stats/count_table.h"

#include <algorithm>
#include <cmath>

namespace gapwatch::stats {

std::uint32_t need(double tau, std::uint32_t trials) {
  const double bound = std::ceil(tau * static_cast<double>(trials) - 1e-9);
  return bound <= 0 ? 0 : static_cast<std::uint32_t>(bound);
}

bool is_complete(std::span<const CellCount> row, const Completeness& rule) {
  if (rule.missing_as_fail) return std::any_of(row.begin(), row.end(), [](CellCount c) { return c.trials > 0; });
  return std::all_of(row.begin(), row.end(), [&](CellCount c) { return c.trials > 0 && c.trials >= rule.min_trials; });
}

CountTable complete_rows(const CountTable& table, const Completeness& rule) {
  CountTable kept;
  kept.policies = table.policies;
  for (std::size_t i = 0; i < table.prompt_count(); ++i) {
    const auto row = table.row(i);
    if (!is_complete(row, rule)) continue;
    kept.cells.insert(kept.cells.end(), row.begin(), row.end());
    if (!table.prompts.empty()) kept.prompts.push_back(table.prompts[i]);
  }
  return kept;
}

}  // namespace gapwatch::stats
