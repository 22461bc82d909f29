#include "stats/member_spread.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "stats/rates.h"

namespace gapwatch::stats {
namespace {

constexpr std::uint32_t kSpreadStream = 0x53505244;  // "SPRD"

// Whether each cell covers, row by row. Shuffling a row of these is shuffling its cells.
std::vector<char> covered_cells(const CountTable& table, double tau) {
  std::vector<char> covered;
  for (const CellCount cell : table.cells) covered.push_back(covers(cell, need(tau, cell.trials)));
  return covered;
}

std::int64_t spread_of(const std::vector<std::int64_t>& counts) {
  const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
  return *most - *least;
}

// Prompts by how many policies cover them: shuffled labels give a random subset of that size.
std::int64_t shuffled_spread(const std::vector<std::int64_t>& prompts_by_size, FastRandom& random) {
  const auto pool = prompts_by_size.size() - 1;
  std::vector<std::int64_t> counts(pool);
  std::vector<std::size_t> order(pool);
  for (std::size_t m = 0; m < pool; ++m) order[m] = m;
  for (std::size_t size = 1; size < pool; ++size) {
    const auto take = std::min(size, pool - size);  // the smaller side of the subset is drawn
    const std::int64_t sign = take == size ? 1 : -1;
    for (std::int64_t i = 0; i < prompts_by_size[size]; ++i) {
      for (std::size_t j = 0; j < take; ++j) {
        std::swap(order[j], order[j + bounded(random, pool - j)]);
        counts[order[j]] += sign;
      }
    }
  }
  return spread_of(counts);
}

}  // namespace

std::optional<MemberSpread> member_spread(const CountTable& table, double tau, const SpreadOptions& options,
                                          Executor& executor) {
  const auto prompts = table.prompt_count(), pool = table.pool_size();
  if (prompts == 0 || options.replicates == 0) return std::nullopt;
  const auto covered = covered_cells(table, tau);
  std::vector<std::int64_t> counts(pool), by_size(pool + 1);
  bool even = true;
  for (std::size_t i = 0; i < prompts; ++i) {
    std::size_t size = 0;
    for (std::size_t m = 0; m < pool; ++m) {
      counts[m] += covered[i * pool + m];
      size += static_cast<std::size_t>(covered[i * pool + m]);
      even &= table.row(i)[m].trials == table.row(i)[0].trials;
    }
    ++by_size[size];
  }
  const auto observed = spread_of(counts);
  std::vector<std::int64_t> null(options.replicates);
  executor.run(null.size(), [&](std::size_t b) {
    FastRandom random(options.seed, kSpreadStream, b);
    null[b] = shuffled_spread(by_size, random);
  });
  std::sort(null.begin(), null.end());
  const auto n = static_cast<double>(prompts), b = static_cast<double>(null.size());
  MemberSpread out;
  out.tau = tau;
  out.samples = null.size();
  out.approximate = !even;
  out.observed = static_cast<double>(observed) / n;
  double sum = 0;
  for (const auto spread : null) sum += static_cast<double>(spread);
  out.mean = sum / b / n;
  const auto quantile = [&](double q) {
    const auto rank = static_cast<std::size_t>(std::clamp(std::ceil(q * b - 1e-9) - 1, 0.0, b - 1));
    return static_cast<double>(null[rank]) / n;
  };
  out.p05 = quantile(0.05);
  out.p95 = quantile(0.95);
  const auto at_least = static_cast<double>(null.end() - std::lower_bound(null.begin(), null.end(), observed));
  const auto at_most = static_cast<double>(std::upper_bound(null.begin(), null.end(), observed) - null.begin());
  out.fraction_upper = at_least / b;
  out.fraction_lower = at_most / b;
  out.p_upper = (1 + at_least) / (1 + b);
  out.p_lower = (1 + at_most) / (1 + b);
  return out;
}

}  // namespace gapwatch::stats
