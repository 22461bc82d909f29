#include "stats/null_bootstrap.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "stats/null_linear.h"

namespace gapwatch::stats {
namespace {

constexpr std::uint32_t kStream = 0x4253, kBatchStream = 0x4241, kFluctuationStream = 0x464C;
constexpr std::size_t kBatches = 1024, kChunks = 4, kFluctuations = 128, kReplicatesAJob = 25;

void add(std::span<double> to, std::span<const double> from, double times = 1) {
  for (std::size_t k = 0; k < to.size(); ++k) to[k] += times * from[k];
}

// One statistic within a record: observed values, null means, and the size of the null's fluctuation.
struct Term {
  std::size_t size = 1, at = 0;      // values, and where they begin
  std::vector<double> slopes;        // size x M: regression of the null means on the policy totals
  std::vector<double> fluctuations;  // draws x size: the null about its mean, sums over all prompts
  double spread = 0;                 // sum of the records' spread
  double offset = 0;                 // accurate null mean minus the one from `fluctuations`

  std::span<const double> observed(std::span<const double> record) const { return record.subspan(at, size); }
  std::span<const double> null_mean(std::span<const double> record) const {
    return record.subspan(at + size, size);
  }
  double spread_of(std::span<const double> record) const { return record[at + 2 * size]; }
};

// The average variance of the difference of two elements, halved: scales with the null's fluctuation.
double spread(const Matrix& covariance, std::size_t size) {
  if (size < 2) return 0;
  double trace = 0, sum = 0;
  for (const double x : covariance) sum += x;
  for (std::size_t m = 0; m < size; ++m) trace += covariance[m * size + m];
  const double pool = static_cast<double>(size);
  return trace / pool - (sum - trace) / (pool * (pool - 1));
}

double minimum(std::span<const double> values) {
  return *std::min_element(values.begin(), values.end());
}

class Bootstrap {
 public:
  Bootstrap(const CountTable& table, const PromptClasses& classes, std::span<const double> thresholds,
            std::span<const PromptMoments> moments, std::span<const double> totals)
      : table_(table),
        classes_(classes),
        thresholds_(thresholds),
        moments_(moments),
        totals_(totals),
        pool_(classes.pool_size) {
    std::size_t at = 1 + pool_;
    const auto place = [&](std::size_t size) {
      terms_.push_back({size, at, {}, {}, 0, 0});
      at += 2 * size + 1;
    };
    for (std::size_t t = 0; t < thresholds.size(); ++t) {
      place(pool_);
      place(1);
      place(1);
    }
    place(pool_);
    width_ = at;
  }

  // Per batch: prompts, counts minus their expectation, then the terms.
  void collect(Executor& executor, std::uint64_t seed) {
    batches_ = std::min<std::size_t>(kBatches, classes_.prompts);
    const std::size_t chunks = classes_.prompts > kBatches ? kChunks : 1;
    std::vector<std::vector<double>> of_chunk(chunks);
    const std::vector<double> class_records = make_class_records();
    executor.run(chunks, [&](std::size_t k) {
      of_chunk[k].assign(batches_ * width_, 0.0);
      const std::size_t begin = classes_.prompts * k / chunks, end = classes_.prompts * (k + 1) / chunks;
      CounterRandom random(seed, kBatchStream, k);
      for (std::size_t i = begin; i < end; ++i) {
        const std::size_t batch = chunks == 1 ? i : random() % batches_;
        add_row(i, class_records, {of_chunk[k].data() + batch * width_, width_});
      }
    });
    records_ = std::move(of_chunk[0]);
    for (std::size_t k = 1; k < chunks; ++k) add(records_, of_chunk[k]);
  }

  void prepare_terms() {
    const PromptMoments sums = sum_moments(classes_, moments_);
    std::vector<double> total(width_, 0.0);
    for (std::size_t b = 0; b < batches_; ++b) add(total, record(b));
    for (std::size_t k = 0; k < terms_.size(); ++k) prepare(terms_[k], moments_of(sums, k), sums, total);
    if (totals_.empty()) return;
    for (std::size_t b = 0; b < batches_; ++b) {
      double* values = records_.data() + b * width_;
      for (const auto& term : terms_) {
        for (std::size_t m = 0; m < term.size; ++m) {
          for (std::size_t l = 0; l < pool_; ++l) {
            values[term.at + term.size + m] += term.slopes[m * pool_ + l] * values[1 + l];
          }
        }
      }
    }
  }

  // Excess of every term in one bootstrap table.
  std::vector<double> replicate(std::uint64_t seed, std::size_t index) const {
    FastRandom random(seed, kStream, index);
    std::vector<double> sum(width_, 0.0);
    for (std::size_t b = 0; b < batches_; ++b) add(sum, record(bounded(random, batches_)));
    const double prompts = static_cast<double>(classes_.prompts), ratio = prompts / sum[0];
    for (double& x : sum) x *= ratio;
    std::vector<double> out;
    for (const auto& term : terms_) {
      out.push_back((minimum(term.observed(sum)) - null_mean(term, sum) - term.offset) / prompts);
    }
    return out;
  }

  std::size_t terms() const { return terms_.size(); }

 private:
  std::span<const double> record(std::size_t batch) const {
    return {records_.data() + batch * width_, width_};
  }

  VectorMoments moments_of(const PromptMoments& p, std::size_t term) const {
    const std::size_t t = term / 3;
    if (t == thresholds_.size()) return p.pass_at_1;
    if (term % 3 == 0) return p.gap[t];
    if (term % 3 == 1)
      return {{p.disagreement[t]}, {p.disagreement_variance[t]}, p.disagreement_with_counts[t]};
    return {{p.oracle[t]}, {0}, std::vector<double>(pool_, 0.0)};
  }

  std::vector<double> make_class_records() const {
    std::vector<double> out(classes_.classes.size() * width_, 0.0);
    for (std::size_t c = 0; c < classes_.classes.size(); ++c) {
      double* to = out.data() + c * width_;
      to[0] = 1;
      const auto& p = moments_[c];
      if (p.count_mean.empty()) continue;
      for (std::size_t m = 0; m < pool_; ++m) to[1 + m] = -p.count_mean[m];
      for (std::size_t k = 0; k < terms_.size(); ++k) {
        const VectorMoments x = moments_of(p, k);
        std::copy(x.mean.begin(), x.mean.end(), to + terms_[k].at + terms_[k].size);
        to[terms_[k].at + 2 * terms_[k].size] = spread(x.covariance, terms_[k].size);
      }
    }
    return out;
  }

  void add_row(std::size_t i, std::span<const double> class_records, std::span<double> to) const {
    const std::size_t c = classes_.class_of_row[i];
    const auto row = table_.row(i);
    add(to, class_records.subspan(c * width_, width_));
    const bool still = moments_[c].count_mean.empty();
    for (std::size_t m = 0; m < pool_ && !still; ++m) to[1 + m] += row[m].successes;
    // A degenerate prompt is its own null mean.
    const auto put = [&](const Term& term, std::size_t m, double value) {
      to[term.at + m] += value;
      if (still) to[term.at + term.size + m] += value;
    };
    for (std::size_t t = 0; t < thresholds_.size(); ++t) {
      std::size_t covering = 0;
      for (const auto& cell : row) covering += covers(cell, need(thresholds_[t], cell.trials)) ? 1 : 0;
      if (covering == 0) continue;
      for (std::size_t m = 0; m < pool_; ++m) {
        if (!covers(row[m], need(thresholds_[t], row[m].trials))) put(terms_[3 * t], m, 1);
      }
      if (covering < pool_) put(terms_[3 * t + 1], 0, 1);
      put(terms_[3 * t + 2], 0, 1);
    }
    double best = 0;
    const auto rate = [](CellCount cell) {
      return cell.trials > 0 ? static_cast<double>(cell.successes) / cell.trials : 0;
    };
    for (const auto& cell : row) best = std::max(best, rate(cell));
    for (std::size_t m = 0; m < pool_; ++m) put(terms_.back(), m, best - rate(row[m]));
  }

  void prepare(Term& term, const VectorMoments& sums, const PromptMoments& all,
               std::span<const double> total) const {
    term.spread = term.spread_of(total);
    NormalVector law{sums.mean, sums.covariance};
    if (!totals_.empty()) {
      const Cholesky counts(all.count_covariance, pool_);
      for (std::size_t m = 0; m < term.size; ++m) {
        const auto slope = counts.solve({sums.with_counts.data() + m * pool_, pool_});
        term.slopes.insert(term.slopes.end(), slope.begin(), slope.end());
      }
      law = condition_on_totals(sums, all.count_mean, all.count_covariance, totals_);
    }
    // What degenerate prompts add to the means.
    const auto observed_mean = term.null_mean(total);
    std::vector<double> constant(term.size);
    for (std::size_t m = 0; m < term.size; ++m) constant[m] = observed_mean[m] - sums.mean[m];
    add(law.mean, constant);
    if (term.size < 2) return;
    const Cholesky root(law.covariance, term.size);
    CounterRandom random(0, kFluctuationStream);
    std::vector<double> normals(term.size), one(term.size);
    for (std::size_t d = 0; d < kFluctuations; ++d) {
      for (double& z : normals) z = normal(random);
      root.multiply(normals, one);
      term.fluctuations.insert(term.fluctuations.end(), one.begin(), one.end());
    }
    double accurate = 0;
    const auto draws = minimum_draws(law, 4096);
    for (const double x : draws) accurate += x / static_cast<double>(draws.size());
    std::vector<double> centre(width_, 0.0);
    std::copy(law.mean.begin(), law.mean.end(),
              centre.begin() + static_cast<std::ptrdiff_t>(term.at + term.size));
    centre[term.at + 2 * term.size] = term.spread;
    term.offset = accurate - null_mean(term, centre);
  }

  // The expected minimum over the null's fluctuation, at the record's means and spread.
  static double null_mean(const Term& term, std::span<const double> sum) {
    const auto mean = term.null_mean(sum);
    if (term.size < 2) return mean[0];
    const double grow = term.spread > 0 ? std::sqrt(std::max(0.0, term.spread_of(sum) / term.spread)) : 1;
    double total = 0;
    const std::size_t draws = term.fluctuations.size() / term.size;
    for (std::size_t d = 0; d < draws; ++d) {
      const double* z = term.fluctuations.data() + d * term.size;
      double plus = mean[0] + grow * z[0], minus = mean[0] - grow * z[0];
      for (std::size_t m = 1; m < term.size; ++m) {
        plus = std::min(plus, mean[m] + grow * z[m]);
        minus = std::min(minus, mean[m] - grow * z[m]);
      }
      total += plus + minus;
    }
    return total / (2 * static_cast<double>(draws));
  }

  const CountTable& table_;
  const PromptClasses& classes_;
  std::span<const double> thresholds_;
  std::span<const PromptMoments> moments_;
  std::span<const double> totals_;
  std::size_t pool_, width_ = 0, batches_ = 0;
  std::vector<Term> terms_;      // per threshold: L, D, C_orac; then the Pass@1 gap
  std::vector<double> records_;  // batches x width
};

Interval percentiles(std::vector<double> values, double level) {
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    const double place = share * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const auto above = std::min(below + 1, values.size() - 1);
    return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
  };
  return {at((1 - level) / 2), at((1 + level) / 2)};
}

void add_moments(VectorMoments& to, const VectorMoments& from, double times) {
  add(to.mean, from.mean, times);
  add(to.covariance, from.covariance, times);
  add(to.with_counts, from.with_counts, times);
}

}  // namespace

PromptMoments sum_moments(const PromptClasses& classes, std::span<const PromptMoments> moments) {
  PromptMoments out;
  for (std::size_t c = 0; c < moments.size(); ++c) {
    const auto& p = moments[c];
    if (p.count_mean.empty()) continue;
    const double times = static_cast<double>(classes.classes[c].prompts);
    if (out.count_mean.empty()) {
      out = p;
      out.count_mean.assign(p.count_mean.size(), 0.0);
      out.count_covariance.assign(p.count_covariance.size(), 0.0);
      const auto zero = [](VectorMoments& x) { add_moments(x, VectorMoments(x), -1); };
      for (auto& x : out.gap) zero(x);
      zero(out.pass_at_1);
      out.oracle.assign(p.oracle.size(), 0.0);
      out.disagreement = out.disagreement_variance = out.oracle;
      for (auto& x : out.disagreement_with_counts) x.assign(x.size(), 0.0);
    }
    add(out.count_mean, p.count_mean, times);
    add(out.count_covariance, p.count_covariance, times);
    for (std::size_t t = 0; t < p.gap.size(); ++t) {
      add_moments(out.gap[t], p.gap[t], times);
      out.oracle[t] += times * p.oracle[t];
      out.disagreement[t] += times * p.disagreement[t];
      out.disagreement_variance[t] += times * p.disagreement_variance[t];
      add(out.disagreement_with_counts[t], p.disagreement_with_counts[t], times);
    }
    add_moments(out.pass_at_1, p.pass_at_1, times);
  }
  return out;
}

ExcessIntervals bootstrap_excess(const CountTable& table, const PromptClasses& classes,
                                 std::span<const double> thresholds, std::span<const PromptMoments> moments,
                                 std::span<const double> totals, const BootstrapOptions& options,
                                 Executor& executor) {
  ExcessIntervals out;
  out.gap.resize(thresholds.size());
  out.disagreement.resize(thresholds.size());
  out.oracle.resize(thresholds.size());
  if (options.replicates == 0 || classes.informative() == 0) return out;
  Bootstrap bootstrap(table, classes, thresholds, moments, totals);
  bootstrap.collect(executor, options.seed);
  bootstrap.prepare_terms();
  std::vector<std::vector<double>> excess(bootstrap.terms(), std::vector<double>(options.replicates));
  executor.run((options.replicates + kReplicatesAJob - 1) / kReplicatesAJob, [&](std::size_t job) {
    const std::size_t end = std::min<std::size_t>((job + 1) * kReplicatesAJob, options.replicates);
    for (std::size_t r = job * kReplicatesAJob; r < end; ++r) {
      const auto one = bootstrap.replicate(options.seed, r);
      for (std::size_t k = 0; k < one.size(); ++k) excess[k][r] = one[k];
    }
  });
  for (std::size_t t = 0; t < thresholds.size(); ++t) {
    out.gap[t] = percentiles(std::move(excess[3 * t]), options.level);
    out.disagreement[t] = percentiles(std::move(excess[3 * t + 1]), options.level);
    if (totals.empty()) out.oracle[t] = percentiles(std::move(excess[3 * t + 2]), options.level);
  }
  out.pass_at_1_gap = percentiles(std::move(excess.back()), options.level);
  return out;
}

}  // namespace gapwatch::stats
