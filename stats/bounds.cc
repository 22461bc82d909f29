#include "stats/bounds.h"

#include <algorithm>
#include <cmath>

#include "stats/rates.h"

namespace gapwatch::stats {
namespace {

// P(Bin(n, p) = x), x = 0..n.
std::vector<double> binomial(std::uint32_t n, double p) {
  std::vector<double> pmf(n + std::size_t{1});
  if (p <= 0 || p >= 1) {
    pmf[p <= 0 ? 0 : n] = 1;
    return pmf;
  }
  for (std::uint32_t x = 0; x <= n; ++x) {
    pmf[x] = std::exp(std::lgamma(n + 1.0) - std::lgamma(x + 1.0) - std::lgamma(n - x + 1.0) + x * std::log(p) +
                      (n - x) * std::log1p(-p));
  }
  return pmf;
}

// E[max of independent Bin(n, p_m)] / n - max p_m.
double exact_bias(std::span<const double> rates, std::uint32_t n) {
  std::vector<double> all_at_most(n + std::size_t{1}, 1);
  for (const double p : rates) {
    double below = 0;
    const auto pmf = binomial(n, p);
    for (std::uint32_t x = 0; x <= n; ++x) {
      below = std::min(1.0, below + pmf[x]);
      all_at_most[x] *= below;
    }
  }
  double mean = 0;
  for (std::uint32_t x = 0; x < n; ++x) mean += 1 - all_at_most[x];
  return mean / n - *std::max_element(rates.begin(), rates.end());
}

}  // namespace

double kearns_saul_proxy(double p) {
  if (p <= 0 || p >= 1) return 0;
  const double away = 1 - 2 * p;
  // The ratio's expansion about 1/2, where it is 0/0.
  if (std::abs(away) < 1e-4) return 0.25 * (1 - away * away / 3);
  return away / (2 * std::log((1 - p) / p));
}

CurseBounds winners_curse(std::span<const double> rates, std::uint32_t trials) {
  CurseBounds out;
  if (rates.empty() || trials == 0) return out;
  double proxy = 0, variance = 0;
  for (const double p : rates) {
    proxy = std::max(proxy, kearns_saul_proxy(p));
    variance = std::max(variance, p * (1 - p));
  }
  const double n = trials, log_pool = std::log(static_cast<double>(rates.size()));
  out.hoeffding = std::sqrt(log_pool / (2 * n));
  out.kearns_saul = std::sqrt(2 * proxy * log_pool / n);
  out.bernstein = std::sqrt(2 * variance * log_pool / n) + log_pool / (3 * n);
  out.exact_independent = std::max(0.0, exact_bias(rates, trials));
  return out;
}

double tied_bias(double p, std::size_t policies, std::uint32_t trials) {
  if (policies == 0 || trials == 0) return 0;
  return std::max(0.0, exact_bias(std::vector<double>(policies, p), trials));
}

Number conservative_premium_floor(const CountTable& table, std::span<const PairedCount> paired) {
  const auto prompts = table.prompt_count();
  if (prompts == 0) return std::nullopt;
  const double log_pool = std::log(static_cast<double>(std::max<std::size_t>(table.pool_size(), 2)));
  double sum = 0;
  for (std::size_t i = 0; i < prompts; ++i) {
    double miss = 1, best = 0;
    std::uint32_t fewest = 0;
    for (const CellCount cell : table.row(i)) {
      miss *= 1 - raw_rate(cell);
      best = std::max(best, raw_rate(cell));
      if (cell.trials > 0) fewest = fewest == 0 ? cell.trials : std::min(fewest, cell.trials);
    }
    if (fewest == 0) continue;
    const double margin = std::sqrt(log_pool / (2.0 * fewest));
    const bool aligned = !paired.empty() && paired[i].aligned > 0;
    const double any = aligned ? static_cast<double>(paired[i].any_success) / static_cast<double>(paired[i].aligned)
                               : 1 - miss;
    sum += std::max(0.0, any - margin - (best + margin));
  }
  return sum / static_cast<double>(prompts);
}

}  // namespace gapwatch::stats
