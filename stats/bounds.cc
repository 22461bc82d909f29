#include "stats/bounds.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "stats/rates.h"

namespace gapwatch::stats {
namespace {

// The values of Bin(n, p) within 12 deviations of its mean: beyond is less than 1e-30.
struct Window {
  std::uint32_t from = 0, to = 0;
};
Window window_of(std::uint32_t n, double p) {
  const double mean = n * p, reach = 12 * std::sqrt(n * p * (1 - p)) + 40;
  return {static_cast<std::uint32_t>(std::max(0.0, std::floor(mean - reach))),
          static_cast<std::uint32_t>(std::min<double>(n, std::ceil(mean + reach)))};
}

// P(Bin(n, p) <= x) for x = from .. to.
std::vector<double> binomial_up_to(std::uint32_t n, double p, std::uint32_t from, std::uint32_t to) {
  std::vector<double> out(to - from + std::size_t{1}, 0);
  if (p <= 0 || p >= 1) {
    for (auto x = from; x <= to; ++x) out[x - from] = p <= 0 || x == n ? 1 : 0;
    return out;
  }
  const auto [low, high] = window_of(n, p);
  const auto mode = std::min(static_cast<std::uint32_t>((n + 1.0) * p), n);
  std::vector<double> mass(high - low + std::size_t{1});
  mass[mode - low] = 1;
  for (auto x = mode; x < high; ++x) mass[x + 1 - low] = mass[x - low] * (n - x) / (x + 1.0) * (p / (1 - p));
  for (auto x = mode; x > low; --x) mass[x - 1 - low] = mass[x - low] * x / (n - x + 1.0) * ((1 - p) / p);
  const double sum = std::accumulate(mass.begin(), mass.end(), 0.0);
  double below = 0;
  for (auto x = low; x <= high && x <= to; ++x) {
    below = std::min(1.0, below + mass[x - low] / sum);
    if (x >= from) out[x - from] = below;
  }
  for (auto x = std::max(from, high); x <= to && x >= from; ++x) out[x - from] = 1;
  return out;
}

// E[max of independent Bin(n, p_m)] / n - max p_m.
double exact_bias(std::span<const double> rates, std::uint32_t n) {
  const double best = *std::max_element(rates.begin(), rates.end());
  // Below the best policy's window the largest is never; above every window it always is.
  Window range = window_of(n, best);
  for (const double p : rates) range.to = std::max(range.to, window_of(n, p).to);
  std::vector<double> all_at_most(range.to - range.from + std::size_t{1}, 1);
  for (const double p : rates) {
    const auto below = binomial_up_to(n, p, range.from, range.to);
    for (std::size_t k = 0; k < below.size(); ++k) all_at_most[k] *= below[k];
  }
  double mean = range.from;
  for (auto x = range.from; x < range.to; ++x) mean += 1 - all_at_most[x - range.from];
  return mean / n - best;
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
