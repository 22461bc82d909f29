#include "stats/strata.h"

#include <algorithm>
#include <cmath>

#include "stats/rates.h"

namespace gapwatch::stats {
namespace {

SumsSpec plain_spec(const CountTable& table) {
  SumsSpec spec;
  spec.pool_size = table.pool_size();
  spec.completeness.missing_as_fail = true;  // rows that count were chosen before
  return spec;
}

// The prompt's support, or absent where it has none to look at.
Number support_of(std::span<const CellCount> row, Support support, std::span<const DrawSet* const> draws) {
  if (support == Support::kFirstDraw) {
    const auto first = first_aligned(draws);
    if (!first) return std::nullopt;
    return static_cast<double>(std::count_if(draws.begin(), draws.end(), [&](const DrawSet* d) {
      return d->get(*first) == DrawOutcome::kSuccess;
    }));
  }
  double sum = 0;
  for (const CellCount cell : row) sum += support == Support::kExpected ? raw_rate(cell) : cell.successes > 0;
  return sum;
}

Stratum stratum_of(const PoolSums& part, const SumsSpec& spec, const PoolSummary& whole,
                   const std::string& best_policy) {
  Stratum out;
  const auto summary = summarize(part, spec);
  out.prompts = summary.complete;
  out.split.coupling = "product";
  out.split.comparator = best_policy;
  out.paired_split.coupling = "paired";
  out.paired_split.comparator = best_policy;
  if (summary.complete == 0) return out;
  out.fraction = static_cast<double>(summary.complete) / static_cast<double>(whole.complete);
  out.comparator_rate = summary.pass_at_1[whole.best_single];
  out.premium = summary.premium_product;
  out.split = split_gap(summary, "product", best_policy, *out.comparator_rate);
  out.paired_split = split_gap(summary, "paired", best_policy, *out.comparator_rate);
  return out;
}

}  // namespace

std::optional<std::uint64_t> first_aligned(std::span<const DrawSet* const> pool) {
  std::optional<std::uint64_t> found;
  for_each_aligned(pool, [&](std::uint64_t draw, const std::vector<bool>&) {
    if (!found) found = draw;
  });
  return found;
}

Strata thin_support(const CountTable& table, double limit, Support support, const DrawTable& draws) {
  Strata out;
  if (table.prompt_count() == 0) return out;
  const auto spec = plain_spec(table);
  const auto whole = summarize(sum_table(table, spec), spec);
  PoolSums thin(spec), dense(spec);
  for (std::size_t i = 0; i < table.prompt_count(); ++i) {
    const auto kept = draws.empty() ? std::span<const DrawSet* const>() : draws.row(i);
    const auto value = support_of(table.row(i), support, kept);
    if (!value) continue;
    (*value <= limit + 1e-12 ? thin : dense).add({table.row(i), paired_count(kept)});
  }
  if (whole.complete == 0) return out;
  const auto& best = table.policies[whole.best_single];
  out.thin = stratum_of(thin, spec, whole, best);
  out.dense = stratum_of(dense, spec, whole, best);
  return out;
}

}  // namespace gapwatch::stats
