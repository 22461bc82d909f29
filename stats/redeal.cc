#include "stats/redeal.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "stats/byte_scores.h"
#include "stats/redeal_sampler.h"

namespace gapwatch::stats {
namespace {

constexpr std::uint32_t kStream = 0x5244;            // re-deal samples
constexpr std::size_t kBlock = ByteScores::kTables;  // replicates that share a random stream of a prompt
constexpr std::size_t kSharedTableBytes = 64u << 20;

// ---- Exact probabilities ----

using Polynomial = std::vector<long double>;

// Binomial masses of one policy, at the prompts' mean rate: generating-function weights without overflow.
Polynomial masses(std::uint32_t trials, long double rate) {
  const long double miss = 1 - rate, mode = std::floor(rate * (trials + 1));
  Polynomial mass(trials + 1, 0.0L);
  const auto peak = std::min(trials, static_cast<std::uint32_t>(mode));
  const auto n = static_cast<std::uint64_t>(trials);
  mass[peak] =
      std::exp(static_cast<long double>(log_factorial(n) - log_factorial(peak) - log_factorial(n - peak)) +
               peak * std::log(rate) + static_cast<long double>(n - peak) * std::log(miss));
  for (auto c = peak; c < trials; ++c) mass[c + 1] = mass[c] * rate / miss * (trials - c) / (c + 1);
  for (auto c = peak; c > 0; --c) mass[c - 1] = mass[c] * miss / rate * c / (trials - c + 1);
  return mass;
}

// product *= masses restricted to counts in [from, to), up to degree `most`.
void multiply(Polynomial& product, const Polynomial& mass, std::uint32_t from, std::uint32_t to,
              std::size_t most) {
  if (from >= to) {
    product.assign(1, 0.0L);
    return;
  }
  Polynomial out(std::min(product.size() + to - 1, most + 1), 0.0L);
  for (std::uint32_t c = from; c < to; ++c) {
    for (std::size_t r = 0; r < product.size() && r + c < out.size(); ++r) out[r + c] += product[r] * mass[c];
  }
  product = std::move(out);
}

long double at(const Polynomial& p, std::uint64_t degree) {
  return degree < p.size() ? p[degree] : 0.0L;
}

// P(c >= needed) of one policy: a hypergeometric tail, summed on its shorter side.
double policy_covers(std::uint64_t total, std::uint64_t successes, std::uint64_t trials,
                     std::uint64_t needed) {
  if (needed > std::min(trials, successes)) return 0;
  const std::uint64_t low = trials + successes > total ? trials + successes - total : 0;
  if (needed <= low) return 1;
  const auto log_choose = [](std::uint64_t n, std::uint64_t k) {
    return log_factorial(n) - log_factorial(k) - log_factorial(n - k);
  };
  const double whole = log_choose(total, trials);
  const auto mass = [&](std::uint64_t c) {
    return std::exp(log_choose(successes, c) + log_choose(total - successes, trials - c) - whole);
  };
  const std::uint64_t high = std::min(trials, successes);
  double sum = 0;
  if (high - needed < needed - low) {
    for (auto c = needed; c <= high; ++c) sum += mass(c);
    return std::min(sum, 1.0);
  }
  for (auto c = low; c < needed; ++c) sum += mass(c);
  return std::max(0.0, 1 - sum);
}

struct Products {
  Polynomial whole{1.0L}, none{1.0L}, all{1.0L};
};

Products cover_products(const TrialPattern& pattern, double tau, long double rate, std::size_t most) {
  Products out;
  for (const auto n : pattern.trials) {
    const std::uint32_t needed = n > 0 ? std::min(need(tau, n), n + 1) : 1;
    const Polynomial mass = masses(n, rate);
    multiply(out.whole, mass, 0, n + 1, most);
    multiply(out.none, mass, 0, std::min(needed, n + 1), most);
    multiply(out.all, mass, needed, n + 1, most);
  }
  return out;
}

}  // namespace

double redeal_exact_cost(const TrialPattern& pattern) {
  double cost = 0, before = 1;
  for (const auto n : pattern.trials) {
    cost += before * (n + 1.0) * 3;
    before += n;
  }
  return cost;
}

std::vector<CoverProbabilities> redeal_cover_probabilities(const TrialPattern& pattern,
                                                           std::span<const std::uint64_t> successes,
                                                           double tau) {
  std::vector<CoverProbabilities> out(successes.size());
  if (successes.empty()) return out;
  // One reference rate serves totals whose mass there is far above the smallest number.
  constexpr double kLargestLogRatio = 9'000;
  std::vector<std::size_t> order(successes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return successes[a] < successes[b]; });
  const auto total = static_cast<double>(pattern.total);
  const auto rate_of = [&](std::uint64_t s) { return (static_cast<double>(s) + 0.5) / (total + 1); };
  const auto divergence = [&](double a, double b) {
    return total * (a * std::log(a / b) + (1 - a) * std::log((1 - a) / (1 - b)));
  };
  for (std::size_t begin = 0; begin < order.size();) {
    const double rate = rate_of(successes[order[begin]]);
    std::size_t end = begin + 1;
    while (end < order.size() && divergence(rate_of(successes[order[end]]), rate) < kLargestLogRatio) ++end;
    const Products products = cover_products(pattern, tau, rate, successes[order[end - 1]]);
    for (; begin < end; ++begin) {
      const std::uint64_t s = successes[order[begin]];
      auto& p = out[order[begin]];
      const long double whole = at(products.whole, s);
      p.any = static_cast<double>(std::clamp(1 - at(products.none, s) / whole, 0.0L, 1.0L));
      p.all = static_cast<double>(std::clamp(at(products.all, s) / whole, 0.0L, 1.0L));
      for (const auto n : pattern.trials) {
        p.policy.push_back(n > 0 ? policy_covers(pattern.total, s, n, need(tau, n)) : 0.0);
      }
    }
  }
  return out;
}

RedealExact redeal_exact(const PromptClasses& classes, double tau, Executor& executor) {
  std::vector<CoverProbabilities> of_class(classes.classes.size());
  const auto first = first_classes(classes);
  executor.run(classes.patterns.size(), [&](std::size_t pattern) {
    std::vector<std::uint64_t> totals;
    for (auto k = first[pattern]; k < first[pattern + 1]; ++k) totals.push_back(classes.classes[k].successes);
    auto found = redeal_cover_probabilities(classes.patterns[pattern], totals, tau);
    std::move(found.begin(), found.end(), of_class.begin() + static_cast<std::ptrdiff_t>(first[pattern]));
  });
  RedealExact out;
  out.mean_policy.assign(classes.pool_size, 0.0);
  std::vector<PoissonBinomial::Group> any, differ;
  for (std::size_t k = 0; k < of_class.size(); ++k) {
    const auto prompts = classes.classes[k].prompts;
    any.push_back({of_class[k].any, prompts});
    differ.push_back({std::max(0.0, of_class[k].any - of_class[k].all), prompts});
    for (std::size_t m = 0; m < classes.pool_size; ++m) {
      out.mean_policy[m] += static_cast<double>(prompts) * of_class[k].policy[m];
    }
  }
  out.oracle = PoissonBinomial(any);
  out.disagreement = PoissonBinomial(differ);
  if (classes.prompts == 0) return out;
  const auto n = static_cast<double>(classes.prompts);
  for (double& c : out.mean_policy) c /= n;
  out.mean_oracle = out.oracle.mean() / n;
  out.mean_disagreement = out.disagreement.mean() / n;
  return out;
}

// ---- Samples ----

NullSamples::NullSamples(std::size_t thresholds, std::size_t replicates)
    : gap(thresholds, std::vector<std::int64_t>(replicates)),
      disagreement(gap),
      oracle_minus_mixture(gap),
      rise(gap),
      oracle(gap),
      best(gap),
      pass_at_1_gap(replicates) {}

void NullSamples::put(std::size_t replicate, const TableStatistics& statistics) {
  for (std::size_t t = 0; t < gap.size(); ++t) {
    gap[t][replicate] = statistics.gap[t];
    disagreement[t][replicate] = statistics.disagreement[t];
    oracle_minus_mixture[t][replicate] = statistics.oracle_minus_mixture[t];
    rise[t][replicate] = statistics.rise[t];
    oracle[t][replicate] = statistics.oracle[t];
    best[t][replicate] = statistics.best[t];
  }
  pass_at_1_gap[replicate] = statistics.pass_at_1_gap;
}

namespace {

// The informative prompts of one pattern, and what draws and scores them.
struct PatternJob {
  std::size_t pattern = 0, first_class = 0, last_class = 0;  // classes [first, last), none degenerate
  std::uint64_t first_prompt = 0;                            // ordinal of the first
  std::optional<RowSampler> sampler;
  std::optional<PatternScores> scores;

  void prepare(const PromptClasses& classes, const ScoreSpec& spec) {
    sampler.emplace(classes.patterns[pattern], classes.classes[first_class].successes,
                    classes.classes[last_class - 1].successes);
    scores.emplace(spec, classes.patterns[pattern]);
  }
};

std::vector<PatternJob> pattern_jobs(const PromptClasses& classes) {
  std::vector<PatternJob> jobs;
  std::uint64_t prompt = 0;
  for (std::size_t k = 0; k < classes.classes.size(); ++k) {
    const auto& c = classes.classes[k];
    if (classes.degenerate(c)) continue;
    if (jobs.empty() || jobs.back().pattern != c.pattern) jobs.push_back({c.pattern, k, k, prompt, {}, {}});
    jobs.back().last_class = k + 1;
    prompt += c.prompts;
  }
  return jobs;
}

// Replicates [begin, end) of the whole table.
class ReplicateRange {
 public:
  ReplicateRange(const PromptClasses& classes, const ScoreSpec& spec, std::uint64_t seed, std::size_t begin,
                 std::size_t end, const TrialPattern* only)
      : classes_(classes),
        seed_(seed),
        begin_(begin),
        end_(end),
        sums_(spec, end - begin),
        bytes_(only != nullptr ? std::make_unique<ByteScores>(spec, *only) : nullptr),
        totals_(classes.informative() > ScoreAccumulator::kMaxRows ? end - begin : 0, empty_score(spec)),
        counts_(spec.pool_size) {}

  void add(const PatternJob& job) {
    std::fill(counts_.begin(), counts_.end(), 0);
    std::uint64_t prompt = job.first_prompt;
    for (std::size_t k = job.first_class; k < job.last_class; ++k) {
      for (std::uint64_t i = 0; i < classes_.classes[k].prompts; ++i) {
        add_prompt(job, classes_.classes[k].successes, prompt++);
        if (bytes_) continue;
        if (++rows_ == ScoreAccumulator::kMaxRows) drain();
      }
    }
  }

  void finish(const TableScore& constant, NullSamples& out) {
    TableScore score;
    TableStatistics statistics;
    for (std::size_t r = begin_; r < end_; ++r) {
      score = constant;
      if (bytes_) {
        bytes_->drain(r - begin_, score);
      } else {
        sums_.drain(r - begin_, score);
      }
      if (!totals_.empty()) add_score(score, totals_[r - begin_]);
      statistics_of(score, classes_.pool_size, classes_.prompts, statistics);
      out.put(r, statistics);
    }
  }

 private:
  void add_prompt(const PatternJob& job, std::uint64_t successes, std::uint64_t prompt) {
    if (bytes_) {
      FastRandom random(seed_, kStream, (prompt << 24) | (begin_ / kBlock));
      job.sampler->draw(random, successes, end_ - begin_, *bytes_);
      bytes_->add();
      return;
    }
    for (std::size_t block = begin_; block < end_; block += kBlock) {
      FastRandom random(seed_, kStream, (prompt << 24) | (block / kBlock));
      for (std::size_t r = block; r < std::min(block + kBlock, end_); ++r) {
        job.sampler->draw(random, successes, counts_.data());
        sums_.add(r - begin_, *job.scores, counts_.data());
      }
    }
  }

  void drain() {
    for (std::size_t r = 0; r < totals_.size(); ++r) sums_.drain(r, totals_[r]);
    sums_.clear();
    rows_ = 0;
  }

  const PromptClasses& classes_;
  std::uint64_t seed_;
  std::size_t begin_, end_;
  ScoreAccumulator sums_;
  std::unique_ptr<ByteScores> bytes_;  // in place of sums_
  std::vector<TableScore> totals_;
  std::vector<std::uint32_t> counts_;
  std::size_t rows_ = 0;
};

bool tables_can_be_shared(const PromptClasses& classes, const std::vector<PatternJob>& jobs) {
  return jobs.size() * RowSampler::kTableBytes <= kSharedTableBytes ||
         std::all_of(jobs.begin(), jobs.end(), [&](const PatternJob& job) {
           return RowSampler::table_bytes(classes.patterns[job.pattern],
                                          classes.classes[job.last_class - 1].successes) *
                      jobs.size() <=
                  kSharedTableBytes;
         });
}

}  // namespace

NullSamples sample_redeal(const PromptClasses& classes, const ScoreSpec& spec, std::uint32_t replicates,
                          std::uint64_t seed, Executor& executor) {
  NullSamples out(spec.thresholds.size(), replicates);
  const TableScore constant = constant_score(spec, classes);
  std::vector<PatternJob> jobs = pattern_jobs(classes);
  const bool shared = tables_can_be_shared(classes, jobs);
  if (shared) executor.run(jobs.size(), [&](std::size_t k) { jobs[k].prepare(classes, spec); });
  // Tables that cannot be kept are built anew by every range of replicates: then there are few ranges.
  const std::size_t range = shared ? kBlock : kBlock * ((replicates + 4 * kBlock - 1) / (4 * kBlock));
  const bool bytes = jobs.size() == 1 && shared && jobs[0].sampler->in_bytes() &&
                     ByteScores::can(spec, classes.patterns[jobs[0].pattern]);
  const TrialPattern* only = bytes ? &classes.patterns[jobs[0].pattern] : nullptr;
  executor.run((replicates + range - 1) / range, [&](std::size_t k) {
    ReplicateRange tables(classes, spec, seed, k * range, std::min<std::size_t>((k + 1) * range, replicates),
                          only);
    for (const auto& job : jobs) {
      if (shared) {
        tables.add(job);
        continue;
      }
      PatternJob own = job;
      own.prepare(classes, spec);
      tables.add(own);
    }
    tables.finish(constant, out);
  });
  return out;
}

}  // namespace gapwatch::stats
