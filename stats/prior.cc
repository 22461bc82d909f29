#include "stats/prior.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace gapwatch::stats {
namespace {

// Distinct cells with their multiplicities: all that a likelihood needs.
using CellClasses = std::map<std::pair<std::uint32_t, std::uint32_t>, double>;

CellClasses classes_of(const CountTable& table) {
  CellClasses classes;
  for (const CellCount cell : table.cells) {
    if (cell.trials > 0) classes[{cell.trials, cell.successes}] += 1;
  }
  return classes;
}

double log_beta(double a, double b) { return std::lgamma(a) + std::lgamma(b) - std::lgamma(a + b); }

double log_choose(double n, double k) { return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1); }

double log_likelihood(const CellClasses& classes, double alpha, double beta) {
  double sum = 0;
  const double base = log_beta(alpha, beta);
  for (const auto& [cell, count] : classes) {
    const double n = cell.first, s = cell.second;
    sum += count * (log_choose(n, s) + log_beta(alpha + s, beta + n - s) - base);
  }
  return sum;
}

// Newton's step needs digammas of small arguments, which cancel; a simplex on (log alpha, log beta) does not.
struct Vertex {
  double x, y, value;
};

template <typename F>
Vertex simplex_maximum(F&& f, double x, double y) {
  const auto at = [&](double a, double b) { return Vertex{a, b, f(a, b)}; };
  std::array<Vertex, 3> v{at(x, y), at(x + 0.5, y), at(x, y + 0.5)};
  for (int step = 0; step < 2000; ++step) {
    std::sort(v.begin(), v.end(), [](const Vertex& a, const Vertex& b) { return a.value > b.value; });
    const double spread = std::max(std::abs(v[0].x - v[2].x) + std::abs(v[0].y - v[2].y),
                                   std::abs(v[0].x - v[1].x) + std::abs(v[0].y - v[1].y));
    if (spread < 1e-11) break;
    const double cx = (v[0].x + v[1].x) / 2, cy = (v[0].y + v[1].y) / 2;
    const auto along = [&](double t) { return at(cx + t * (cx - v[2].x), cy + t * (cy - v[2].y)); };
    const Vertex reflected = along(1);
    if (reflected.value > v[0].value) {
      const Vertex further = along(2);
      v[2] = further.value > reflected.value ? further : reflected;
    } else if (reflected.value > v[1].value) {
      v[2] = reflected;
    } else {
      const Vertex nearer = reflected.value > v[2].value ? along(0.5) : along(-0.5);
      if (nearer.value > std::max(v[2].value, reflected.value)) {
        v[2] = nearer;
      } else {
        for (int i = 1; i < 3; ++i) v[i] = at((v[0].x + v[i].x) / 2, (v[0].y + v[i].y) / 2);
      }
    }
  }
  return v[0];
}

}  // namespace

FittedPrior fit_moments(const CountTable& table) {
  double count = 0, sum = 0, chance = 0;
  for (const CellCount cell : table.cells) {
    if (cell.trials == 0) continue;
    const double p = raw_rate(cell);
    count += 1;
    sum += p;
    chance += p * (1 - p) / cell.trials;
  }
  FittedPrior fit;
  if (count < 2) return fit;
  const double mean = sum / count;
  double squares = 0;
  for (const CellCount cell : table.cells) {
    if (cell.trials > 0) squares += (raw_rate(cell) - mean) * (raw_rate(cell) - mean);
  }
  const double between = squares / (count - 1) - chance / count;
  if (between <= 1e-9 || !(mean > 0 && mean < 1)) return fit;
  const double nu = std::max(mean * (1 - mean) / between - 1, 1e-6);
  fit.prior = {mean * nu, (1 - mean) * nu};
  fit.identified = true;
  return fit;
}

FittedPrior fit_likelihood(const CountTable& table) {
  FittedPrior fit = fit_moments(table);
  if (!fit.identified) return fit;
  const auto classes = classes_of(table);
  // Beyond e^-20 .. e^20 the likelihood is flat: the spread is all or nothing.
  constexpr double kBound = 20;
  const auto value = [&](double x, double y) {
    if (std::abs(x) > kBound || std::abs(y) > kBound) return -1e300;
    return log_likelihood(classes, std::exp(x), std::exp(y));
  };
  auto best = simplex_maximum(value, std::clamp(std::log(fit.prior.alpha), -kBound, kBound - 1),
                              std::clamp(std::log(fit.prior.beta), -kBound, kBound - 1));
  best = simplex_maximum(value, best.x, best.y);
  fit.prior = {std::exp(best.x), std::exp(best.y)};
  fit.log_likelihood = best.value;
  return fit;
}

std::size_t distinct_cells(const CountTable& table, std::size_t most) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
  for (const CellCount cell : table.cells) {
    if (cell.trials > 0) seen.insert({cell.trials, cell.successes});
    if (seen.size() > most) break;
  }
  return seen.size();
}

FittedPrior resolve_prior(const config::Prior& setting, const CountTable& table) {
  switch (setting.kind) {
    case config::PriorKind::kUniform:
      return {{1, 1}, true, 0};
    case config::PriorKind::kJeffreys:
      return {{0.5, 0.5}, true, 0};
    case config::PriorKind::kGiven:
      return {{setting.alpha, setting.beta}, true, 0};
    case config::PriorKind::kMoments:
      return fit_moments(table);
    case config::PriorKind::kLikelihood:
      return fit_likelihood(table);
  }
  return {};
}

}  // namespace gapwatch::stats
