#include "stats/correlation.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "stats/draw_table.h"
#include "stats/rates.h"
#include "stats/subpools.h"

namespace gapwatch::stats {
namespace {

// Sums over observations of M values: enough for every Pearson correlation. Values are
// centred beforehand where that matters for precision.
class Moments {
 public:
  explicit Moments(std::size_t size) : size_(size), sum_(size), products_(size * size) {}
  void add(const std::vector<double>& x) {
    count_ += 1;
    for (std::size_t a = 0; a < size_; ++a) {
      sum_[a] += x[a];
      if (x[a] == 0) continue;
      for (std::size_t b = 0; b <= a; ++b) products_[a * size_ + b] += x[a] * x[b];
    }
  }
  double covariance(std::size_t a, std::size_t b) const {
    if (a < b) std::swap(a, b);
    return products_[a * size_ + b] - sum_[a] * sum_[b] / count_;
  }
  double count() const { return count_; }

 private:
  std::size_t size_;
  double count_ = 0;
  std::vector<double> sum_, products_;
};

struct Mean {
  double sum = 0, count = 0;
  void add(double x) {
    sum += x;
    count += 1;
  }
  Number value() const { return count > 0 ? Number(sum / count) : std::nullopt; }
};

Correlation summarize_moments(const Moments& moments, const std::vector<std::string>& of) {
  Correlation out;
  if (moments.count() < 2) return out;
  std::vector<std::size_t> varied;
  for (std::size_t m = 0; m < of.size(); ++m) {
    if (moments.covariance(m, m) > 1e-12 * moments.count()) varied.push_back(m);
  }
  out.policies = varied.size();
  if (varied.empty()) return out;
  double squares = static_cast<double>(varied.size());  // the diagonal
  Mean between, within, across;
  for (std::size_t a = 0; a < varied.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      const auto i = varied[a], j = varied[b];
      const double r = moments.covariance(i, j) / std::sqrt(moments.covariance(i, i) * moments.covariance(j, j));
      squares += 2 * r * r;
      between.add(r);
      (of[i] == of[j] ? within : across).add(r);
    }
  }
  const auto size = static_cast<double>(varied.size());
  out.effective_pool_size = size * size / squares;
  out.mean_between = between.value();
  out.mean_within_group = within.value();
  out.mean_across_groups = across.value();
  return out;
}

std::vector<std::string> groups_of(const std::vector<std::string>& policies,
                                   const std::map<std::string, std::string>& groups) {
  CountTable names;
  names.policies = policies;
  return lineages(names, groups);
}

}  // namespace

Correlation rate_correlation(const CountTable& table, const std::map<std::string, std::string>& groups) {
  Moments moments(table.pool_size());
  std::vector<double> rates(table.pool_size());
  for (std::size_t i = 0; i < table.prompt_count(); ++i) {
    const auto row = table.row(i);
    std::transform(row.begin(), row.end(), rates.begin(), raw_rate);
    moments.add(rates);
  }
  return summarize_moments(moments, groups_of(table.policies, groups));
}

Correlation draw_correlation(const DrawTable& draws, const std::vector<std::string>& policies,
                             const std::map<std::string, std::string>& groups) {
  Moments moments(policies.size());
  std::vector<double> outcomes(policies.size());
  for (std::size_t i = 0; i < draws.prompt_count(); ++i) {
    for_each_aligned(draws.row(i), [&](std::uint64_t, const std::vector<bool>& successes) {
      std::copy(successes.begin(), successes.end(), outcomes.begin());
      moments.add(outcomes);
    });
  }
  return summarize_moments(moments, groups_of(policies, groups));
}

}  // namespace gapwatch::stats
