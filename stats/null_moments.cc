#include "stats/null_moments.h"

#include <algorithm>
#include <cmath>

#include "stats/redeal_sampler.h"

namespace gapwatch::stats {
namespace {

using Polynomial = std::vector<double>;

constexpr double kLargestLogRatio = 250;  // masses of one reference rate span e^-250 and stay far above 0

Polynomial multiply(const Polynomial& a, const Polynomial& b, std::size_t most) {
  if (a.empty() || b.empty()) return {};
  Polynomial out(std::min(a.size() + b.size() - 1, most + 1), 0.0);
  const Polynomial &shorter = a.size() < b.size() ? a : b, &longer = a.size() < b.size() ? b : a;
  for (std::size_t i = 0; i < std::min(shorter.size(), out.size()); ++i) {
    const double factor = shorter[i];
    if (factor == 0) continue;
    const std::size_t width = std::min(longer.size(), out.size() - i);
    for (std::size_t j = 0; j < width; ++j) out[i + j] += factor * longer[j];
  }
  return out;
}

// visit(k, product of all factors but the k-th, times `base`) for k in [begin, end).
template <typename Visit>
void leave_one_out(std::span<const Polynomial> factors, std::size_t begin, std::size_t end,
                   const Polynomial& base, std::size_t most, Visit& visit) {
  if (begin >= end) return;
  if (end - begin == 1) return visit(begin, base);
  const std::size_t middle = begin + (end - begin) / 2;
  Polynomial left = base, right = base;
  for (std::size_t k = middle; k < end; ++k) left = multiply(left, factors[k], most);
  for (std::size_t k = begin; k < middle; ++k) right = multiply(right, factors[k], most);
  leave_one_out(factors, begin, middle, left, most, visit);
  leave_one_out(factors, middle, end, right, most, visit);
}

double coefficient(const Polynomial& kernel, const Polynomial& rest, std::uint64_t degree) {
  double sum = 0;
  const std::size_t from = degree >= rest.size() ? degree - rest.size() + 1 : 0;
  const std::size_t to = std::min<std::size_t>(kernel.size(), degree + 1);
  for (std::size_t d = from; d < to; ++d) sum += kernel[d] * rest[degree - d];
  return sum;
}

// The first `count` terms, or those from `count` on (at their own degree).
Polynomial first_terms(const Polynomial& p, std::size_t count) {
  return {p.begin(), p.begin() + static_cast<std::ptrdiff_t>(std::min(count, p.size()))};
}
Polynomial terms_from(const Polynomial& p, std::size_t count) {
  if (count >= p.size()) return {};
  Polynomial out = p;
  std::fill(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(count), 0.0);
  return out;
}
Polynomial times_count(Polynomial p) {
  for (std::size_t c = 0; c < p.size(); ++c) p[c] *= static_cast<double>(c);
  return p;
}

Polynomial binomial_masses(std::uint32_t trials, double log_odds) {
  const double log_hit = -std::log1p(std::exp(-log_odds)), log_miss = -std::log1p(std::exp(log_odds));
  Polynomial out(trials + std::size_t{1});
  for (std::uint32_t c = 0; c <= trials; ++c) {
    out[c] = std::exp(log_factorial(trials) - log_factorial(c) - log_factorial(trials - c) + c * log_hit +
                      (trials - c) * log_miss);
  }
  return out;
}

// Log odds at which the expected total is `total`.
double reference_odds(const TrialPattern& pattern, std::span<const double> log_weights, double total) {
  double low = -100, high = 100;
  for (int k = 0; k < 60; ++k) {
    const double middle = 0.5 * (low + high);
    double expected = 0;
    for (std::size_t m = 0; m < pattern.trials.size(); ++m) {
      const double b = log_weights.empty() ? 0.0 : log_weights[m];
      expected += pattern.trials[m] / (1 + std::exp(-(middle + b)));
    }
    (expected < total ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

// The moments of one pattern at several totals, from masses at one reference rate.
class PatternMoments {
 public:
  PatternMoments(const TrialPattern& pattern, std::span<const std::uint64_t> successes,
                 std::span<const double> thresholds, std::span<const double> log_weights, double log_odds)
      : trials_(pattern.trials),
        successes_(successes),
        thresholds_(thresholds),
        pool_(pattern.trials.size()),
        most_(*std::max_element(successes.begin(), successes.end())),
        out_(successes.size()) {
    for (std::size_t m = 0; m < pool_; ++m) {
      mass_.push_back(binomial_masses(trials_[m], log_odds + (log_weights.empty() ? 0.0 : log_weights[m])));
      counted_.push_back(times_count(mass_[m]));
    }
    for (auto& p : out_) {
      p.count_mean.assign(pool_, 0.0);
      p.count_covariance.assign(pool_ * pool_, 0.0);
    }
  }

  std::vector<PromptMoments> counts_only() {
    singles();
    pairs();
    centre_counts();
    return std::move(out_);
  }

  std::vector<PromptMoments> all() {
    for (auto& p : out_) {
      p.gap.assign(thresholds_.size(),
                   {std::vector<double>(pool_), Matrix(pool_ * pool_), Matrix(pool_ * pool_)});
      p.pass_at_1 = {std::vector<double>(pool_), Matrix(pool_ * pool_), Matrix(pool_ * pool_)};
      p.oracle.assign(thresholds_.size(), 0.0);
      p.disagreement.assign(thresholds_.size(), 0.0);
      p.disagreement_variance.assign(thresholds_.size(), 0.0);
      p.disagreement_with_counts.assign(thresholds_.size(), std::vector<double>(pool_, 0.0));
    }
    for (const double tau : thresholds_) {
      auto& below = below_.emplace_back();
      auto& counted = counted_below_.emplace_back();
      for (std::size_t m = 0; m < pool_; ++m) {
        below.push_back(first_terms(mass_[m], trials_[m] > 0 ? need(tau, trials_[m]) : 1));
        counted.push_back(times_count(below[m]));
      }
    }
    singles();
    pairs();
    for (std::size_t t = 0; t < thresholds_.size(); ++t) thresholds_at(t);
    pass_at_1();
    centre_counts();
    return std::move(out_);
  }

 private:
  // E c_m, E c_m^2, P(m does not cover), E c_m 1{m does not cover}.
  void singles() {
    whole_.assign(successes_.size(), 0.0);
    const auto visit = [&](std::size_t m, const Polynomial& rest) {
      const Polynomial squared = times_count(counted_[m]);
      for (std::size_t k = 0; k < successes_.size(); ++k) {
        const auto s = successes_[k];
        if (m == 0) whole_[k] = coefficient(mass_[m], rest, s);
        out_[k].count_mean[m] = coefficient(counted_[m], rest, s) / whole_[k];
        out_[k].count_covariance[m * pool_ + m] = coefficient(squared, rest, s) / whole_[k];
        for (std::size_t t = 0; t < below_.size(); ++t) {
          out_[k].gap[t].mean[m] = coefficient(below_[t][m], rest, s) / whole_[k];
          out_[k].gap[t].with_counts[m * pool_ + m] = coefficient(counted_below_[t][m], rest, s) / whole_[k];
        }
      }
    };
    leave_one_out(mass_, 0, pool_, {1.0}, most_, visit);
  }

  // The same for two policies.
  void pairs() {
    Polynomial before{1.0};
    for (std::size_t m = 0; m + 1 < pool_; ++m) {
      const auto visit = [&](std::size_t l, const Polynomial& rest) { pair(m, l, rest); };
      leave_one_out(mass_, m + 1, pool_, before, most_, visit);
      before = multiply(before, mass_[m], most_);
    }
  }

  void pair(std::size_t m, std::size_t l, const Polynomial& rest) {
    const auto put = [&](const Polynomial& a, const Polynomial& b, auto target) {
      const Polynomial kernel = multiply(a, b, most_);
      for (std::size_t k = 0; k < successes_.size(); ++k) {
        target(out_[k]) = coefficient(kernel, rest, successes_[k]) / whole_[k];
      }
    };
    const std::size_t ml = m * pool_ + l, lm = l * pool_ + m;
    put(counted_[m], counted_[l], [&](PromptMoments& p) -> double& { return p.count_covariance[ml]; });
    for (auto& p : out_) p.count_covariance[lm] = p.count_covariance[ml];
    for (std::size_t t = 0; t < below_.size(); ++t) {
      put(below_[t][m], below_[t][l], [&](PromptMoments& p) -> double& { return p.gap[t].covariance[ml]; });
      put(below_[t][m], counted_[l], [&](PromptMoments& p) -> double& { return p.gap[t].with_counts[ml]; });
      put(counted_[m], below_[t][l], [&](PromptMoments& p) -> double& { return p.gap[t].with_counts[lm]; });
    }
  }

  // P(every policy's factor holds) and E c_l 1{it holds}, where `factor` and `counted` restrict the masses.
  struct Joint {
    std::vector<double> probability;        // [total]
    std::vector<std::vector<double>> mean;  // [total][policy]
  };
  Joint joint(const std::vector<Polynomial>& factor, const std::vector<Polynomial>& counted) const {
    Joint out{std::vector<double>(successes_.size(), 0.0),
              std::vector<std::vector<double>>(successes_.size(), std::vector<double>(pool_, 0.0))};
    const auto visit = [&](std::size_t l, const Polynomial& rest) {
      for (std::size_t k = 0; k < successes_.size(); ++k) {
        if (l == 0) out.probability[k] = coefficient(factor[l], rest, successes_[k]) / whole_[k];
        out.mean[k][l] = coefficient(counted[l], rest, successes_[k]) / whole_[k];
      }
    };
    leave_one_out(factor, 0, pool_, {1.0}, most_, visit);
    return out;
  }

  // From raw to central moments at threshold t.
  void thresholds_at(std::size_t t) {
    std::vector<Polynomial> above, counted_above;
    for (std::size_t m = 0; m < pool_; ++m) {
      above.push_back(terms_from(mass_[m], trials_[m] > 0 ? need(thresholds_[t], trials_[m]) : 1));
      counted_above.push_back(times_count(above[m]));
    }
    const Joint none = joint(below_[t], counted_below_[t]), every = joint(above, counted_above);
    for (std::size_t k = 0; k < out_.size(); ++k) {
      auto& p = out_[k];
      auto& gap = p.gap[t];
      for (std::size_t m = 0; m < pool_; ++m) gap.mean[m] = std::max(0.0, gap.mean[m] - none.probability[k]);
      for (std::size_t m = 0; m < pool_; ++m) {
        for (std::size_t l = m + 1; l < pool_; ++l) {
          const double both = gap.covariance[m * pool_ + l] - none.probability[k] - gap.mean[m] * gap.mean[l];
          gap.covariance[m * pool_ + l] = gap.covariance[l * pool_ + m] = both;
        }
        gap.covariance[m * pool_ + m] = gap.mean[m] * (1 - gap.mean[m]);
        for (std::size_t l = 0; l < pool_; ++l) {
          gap.with_counts[m * pool_ + l] -= none.mean[k][l] + gap.mean[m] * p.count_mean[l];
        }
      }
      const double d = std::clamp(1 - none.probability[k] - every.probability[k], 0.0, 1.0);
      p.oracle[t] = std::clamp(1 - none.probability[k], 0.0, 1.0);
      p.disagreement[t] = d;
      p.disagreement_variance[t] = d * (1 - d);
      for (std::size_t l = 0; l < pool_; ++l) {
        p.disagreement_with_counts[t][l] = p.count_mean[l] * (1 - d) - none.mean[k][l] - every.mean[k][l];
      }
    }
  }

  std::vector<double> rate_levels() const {
    std::vector<double> levels{0.0};
    for (std::size_t m = 0; m < pool_; ++m) {
      if (m > 0 && trials_[m] == trials_[m - 1]) continue;
      for (std::uint32_t c = 0; c < trials_[m]; ++c) levels.push_back(static_cast<double>(c) / trials_[m]);
    }
    std::sort(levels.begin(), levels.end());
    levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
    levels.push_back(1.0);
    return levels;
  }

  // max_l p_l = 1 - sum over levels of (next level - level) 1{all p at or below the level}.
  void pass_at_1() {
    const std::vector<double> levels = rate_levels();
    std::vector<double> largest(out_.size(), 1.0), square(out_.size(), 1.0);
    std::vector<std::vector<double>> with_count;
    for (const auto& p : out_) with_count.push_back(p.count_mean);
    std::vector<std::size_t> terms(pool_, 0);
    for (std::size_t v = 0; v + 1 < levels.size(); ++v) {
      std::vector<Polynomial> factor, counted;
      for (std::size_t m = 0; m < pool_; ++m) {
        while (terms[m] <= trials_[m] &&
               (trials_[m] == 0 || static_cast<double>(terms[m]) / trials_[m] <= levels[v])) {
          ++terms[m];
        }
        factor.push_back(first_terms(mass_[m], terms[m]));
        counted.push_back(times_count(factor[m]));
      }
      const Joint at_most = joint(factor, counted);
      const double step = levels[v + 1] - levels[v],
                   squares = levels[v + 1] * levels[v + 1] - levels[v] * levels[v];
      for (std::size_t k = 0; k < out_.size(); ++k) {
        largest[k] -= step * at_most.probability[k];
        square[k] -= squares * at_most.probability[k];
        for (std::size_t l = 0; l < pool_; ++l) with_count[k][l] -= step * at_most.mean[k][l];
      }
    }
    for (std::size_t k = 0; k < out_.size(); ++k)
      centre_pass_at_1(out_[k], largest[k], square[k], with_count[k]);
  }

  // `with_count[l]` = E max c_l.
  void centre_pass_at_1(PromptMoments& p, double largest, double square,
                        const std::vector<double>& with_count) const {
    auto& x = p.pass_at_1;
    const auto inverse = [&](std::size_t m) { return trials_[m] > 0 ? 1.0 / trials_[m] : 0.0; };
    for (std::size_t m = 0; m < pool_; ++m) x.mean[m] = largest - p.count_mean[m] * inverse(m);
    for (std::size_t m = 0; m < pool_; ++m) {
      for (std::size_t l = 0; l < pool_; ++l) {
        const double both = p.count_covariance[m * pool_ + l];  // still E c_m c_l
        x.covariance[m * pool_ + l] = square - with_count[m] * inverse(m) - with_count[l] * inverse(l) +
                                      both * inverse(m) * inverse(l) - x.mean[m] * x.mean[l];
        x.with_counts[m * pool_ + l] = with_count[l] - both * inverse(m) - x.mean[m] * p.count_mean[l];
      }
    }
  }

  void centre_counts() {
    for (auto& p : out_) {
      for (std::size_t m = 0; m < pool_; ++m) {
        for (std::size_t l = 0; l < pool_; ++l)
          p.count_covariance[m * pool_ + l] -= p.count_mean[m] * p.count_mean[l];
      }
    }
  }

  const std::vector<std::uint32_t>& trials_;
  std::span<const std::uint64_t> successes_;
  std::span<const double> thresholds_;
  std::size_t pool_;
  std::size_t most_;
  std::vector<PromptMoments> out_;
  std::vector<Polynomial> mass_, counted_;
  std::vector<std::vector<Polynomial>> below_,
      counted_below_;          // [threshold][policy]: counts that do not cover
  std::vector<double> whole_;  // [total]: coefficient of the whole product
};

double divergence(double total, double a, double b) {
  return total * (a * std::log(a / b) + (1 - a) * std::log((1 - a) / (1 - b)));
}

}  // namespace

std::vector<PromptMoments> prompt_moments(const TrialPattern& pattern,
                                          std::span<const std::uint64_t> successes,
                                          std::span<const double> thresholds,
                                          std::span<const double> log_weights, MomentSet set) {
  if (successes.empty()) return {};
  const auto [least, most] = std::minmax_element(successes.begin(), successes.end());
  const double total = static_cast<double>(pattern.total);
  const auto rate = [&](double s) { return (s + 0.5) / (total + 1); };
  const double low = static_cast<double>(*least), high = static_cast<double>(*most),
               middle = 0.5 * (low + high);
  if (*least < *most && std::max(divergence(total, rate(low), rate(middle)),
                                 divergence(total, rate(high), rate(middle))) > kLargestLogRatio) {
    std::vector<std::uint64_t> halves[2];
    for (const auto s : successes) halves[static_cast<double>(s) > middle].push_back(s);
    const auto lower = prompt_moments(pattern, halves[0], thresholds, log_weights, set);
    const auto upper = prompt_moments(pattern, halves[1], thresholds, log_weights, set);
    std::vector<PromptMoments> out;
    std::size_t next[2] = {0, 0};
    for (const auto s : successes) {
      const bool up = static_cast<double>(s) > middle;
      out.push_back((up ? upper : lower)[next[up]++]);
    }
    return out;
  }
  PatternMoments moments(pattern, successes, thresholds, log_weights,
                         reference_odds(pattern, log_weights, middle));
  return set == MomentSet::kAll ? moments.all() : moments.counts_only();
}

}  // namespace gapwatch::stats
