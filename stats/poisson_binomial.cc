#include "stats/poisson_binomial.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>

namespace gapwatch::stats {
namespace {

struct Law {
  std::int64_t first = 0;
  std::vector<double> mass{1.0};
};

void trim(Law& law, double below) {
  std::size_t begin = 0, end = law.mass.size();
  double left = 0, right = 0;
  while (begin + 1 < end && (left += law.mass[begin]) <= below) ++begin;
  while (end > begin + 1 && (right += law.mass[end - 1]) <= below) --end;
  law.mass.erase(law.mass.begin() + static_cast<std::ptrdiff_t>(end), law.mass.end());
  law.mass.erase(law.mass.begin(), law.mass.begin() + static_cast<std::ptrdiff_t>(begin));
  law.first += static_cast<std::int64_t>(begin);
}

// Binomial(count, p), each way from the mode until the mass is below 1e-30 of it (1e-300 where `full`).
Law binomial(std::uint64_t count, double p, bool full) {
  if (p <= 0) return {};
  const auto n = static_cast<std::int64_t>(count);
  if (p >= 1) return {n, {1.0}};
  const auto mode = std::min(n, static_cast<std::int64_t>(static_cast<double>(n + 1) * p));
  const double odds = p / (1 - p), floor = full ? 1e-300 : 1e-30;
  std::vector<double> down, up{1.0};
  for (auto k = mode; k < n && up.back() > floor; ++k) {
    up.push_back(up.back() * odds * static_cast<double>(n - k) / static_cast<double>(k + 1));
  }
  double weight = 1;
  for (auto k = mode; k > 0 && weight > floor; --k) {
    weight *= static_cast<double>(k) / (odds * static_cast<double>(n - k + 1));
    down.push_back(weight);
  }
  Law law{mode - static_cast<std::int64_t>(down.size()), {down.rbegin(), down.rend()}};
  law.mass.insert(law.mass.end(), up.begin(), up.end());
  double total = 0;
  for (const double w : law.mass) total += w;
  for (double& w : law.mass) w /= total;
  return law;
}

Law convolve(const Law& a, const Law& b) {
  const Law& longer = a.mass.size() >= b.mass.size() ? a : b;
  const Law& shorter = a.mass.size() >= b.mass.size() ? b : a;
  Law out{a.first + b.first, std::vector<double>(a.mass.size() + b.mass.size() - 1, 0.0)};
  const std::size_t width = longer.mass.size();
  for (std::size_t j = 0; j < shorter.mass.size(); ++j) {
    const double weight = shorter.mass[j];
    const double* from = longer.mass.data();
    double* to = out.mass.data() + j;
    for (std::size_t i = 0; i < width; ++i) to[i] += weight * from[i];
  }
  return out;
}

}  // namespace

PoissonBinomial::PoissonBinomial(std::span<const Group> groups) {
  std::uint64_t indicators = 0;
  for (const auto& g : groups) indicators += g.probability > 0 && g.probability < 1 ? g.count : 0;
  const bool full = indicators <= kExactWidth;
  const auto longer = [](const Law& a, const Law& b) { return a.mass.size() > b.mass.size(); };
  std::priority_queue<Law, std::vector<Law>, decltype(longer)> queue(longer);
  for (const auto& g : groups) {
    if (g.count == 0) continue;
    const double p = std::clamp(g.probability, 0.0, 1.0);
    mean_ += static_cast<double>(g.count) * p;
    variance_ += static_cast<double>(g.count) * p * (1 - p);
    queue.push(binomial(g.count, p, full));
  }
  while (queue.size() > 1) {
    const Law a = queue.top();
    queue.pop();
    const Law b = queue.top();
    queue.pop();
    Law sum = convolve(a, b);
    trim(sum, full ? 1e-300 : 1e-18);
    queue.push(std::move(sum));
  }
  const Law law = queue.empty() ? Law{} : queue.top();
  first_ = law.first;
  mass_ = law.mass;
}

double PoissonBinomial::probability(std::int64_t sum) const {
  const auto k = sum - first_;
  return k >= 0 && k < static_cast<std::int64_t>(mass_.size()) ? mass_[static_cast<std::size_t>(k)] : 0;
}

double PoissonBinomial::upper(std::int64_t sum) const {
  const auto from = std::clamp<std::int64_t>(sum - first_, 0, static_cast<std::int64_t>(mass_.size()));
  double tail = 0;
  for (std::size_t k = mass_.size(); k > static_cast<std::size_t>(from); --k) tail += mass_[k - 1];
  return std::min(tail, 1.0);
}

double PoissonBinomial::lower(std::int64_t sum) const {
  const auto to = std::clamp<std::int64_t>(sum - first_ + 1, 0, static_cast<std::int64_t>(mass_.size()));
  double tail = 0;
  for (std::size_t k = 0; k < static_cast<std::size_t>(to); ++k) tail += mass_[k];
  return std::min(tail, 1.0);
}

std::int64_t PoissonBinomial::quantile(double level) const {
  double tail = 0;
  for (std::size_t k = 0; k < mass_.size(); ++k) {
    tail += mass_[k];
    if (tail >= level) return first_ + static_cast<std::int64_t>(k);
  }
  return first_ + static_cast<std::int64_t>(mass_.size()) - 1;
}

}  // namespace gapwatch::stats
