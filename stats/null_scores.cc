#include "stats/null_scores.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "base/fixed_point.h"

namespace gapwatch::stats {
namespace {

constexpr std::uint64_t kExactScaleLimit = 1ull << 31;
constexpr std::uint64_t kRoundedScale = 1ull << 40;

std::uint64_t lane(std::size_t threshold) {
  return 1ull << (16 * (threshold % 4));
}
std::uint32_t lane_of(std::uint64_t word, std::size_t threshold) {
  return static_cast<std::uint32_t>((word >> (16 * (threshold % 4))) & 0xFFFF);
}

}  // namespace

ScoreSpec make_score_spec(const PromptClasses& classes, std::span<const double> thresholds) {
  ScoreSpec spec;
  spec.pool_size = classes.pool_size;
  spec.thresholds.assign(thresholds.begin(), thresholds.end());
  for (const auto& pattern : classes.patterns) {
    for (const std::uint64_t n : pattern.trials) {
      if (n > 0 && spec.scale < kExactScaleLimit) spec.scale = std::lcm(spec.scale, n);
    }
  }
  spec.exact_scale = spec.scale < kExactScaleLimit;
  if (!spec.exact_scale) spec.scale = kRoundedScale;
  return spec;
}

TableStatistics statistics_of(const TableScore& score, std::size_t pool_size, std::uint64_t prompts) {
  TableStatistics out;
  statistics_of(score, pool_size, prompts, out);
  return out;
}

void statistics_of(const TableScore& score, std::size_t pool_size, std::uint64_t prompts,
                   TableStatistics& out) {
  const auto pairs = static_cast<std::int64_t>(pool_size * (pool_size - (pool_size > 0)) / 2);
  for (auto* each :
       {&out.gap, &out.disagreement, &out.oracle_minus_mixture, &out.rise, &out.oracle, &out.best}) {
    each->resize(score.any.size());
  }
  for (std::size_t t = 0; t < score.any.size(); ++t) {
    const auto* policy = score.policy.data() + t * pool_size;
    out.sorted.assign(policy, policy + pool_size);
    std::sort(out.sorted.begin(), out.sorted.end());
    std::int64_t best_of_pairs = 0;
    for (std::size_t r = 0; r < pool_size; ++r) best_of_pairs += static_cast<std::int64_t>(r) * out.sorted[r];
    const auto pair_unions =
        pairs * static_cast<std::int64_t>(prompts) - static_cast<std::int64_t>(score.uncovered_pairs[t]);
    out.oracle[t] = score.any[t];
    out.best[t] = pool_size == 0 ? 0 : out.sorted.back();
    out.gap[t] = out.oracle[t] - out.best[t];
    out.disagreement[t] = out.oracle[t] - score.all[t];
    out.oracle_minus_mixture[t] = out.oracle[t] - score.mixture[t];
    out.rise[t] = pairs * out.gap[t] - (pair_unions - best_of_pairs);
  }
  const auto best_mean = score.value.empty() ? 0 : *std::max_element(score.value.begin(), score.value.end());
  out.pass_at_1_gap = static_cast<std::int64_t>(score.best_value - best_mean);
}

PatternScores::PatternScores(const ScoreSpec& spec, const TrialPattern& pattern, bool look_up)
    : spec_(&spec), even_(pattern.even), looked_up_(look_up), trials_(pattern.trials) {
  const std::size_t pool = spec.pool_size, groups = spec.groups();
  for (const auto n : trials_) {
    looked_up_ = looked_up_ && n <= kLookup;
    rate_.push_back(n > 0 && spec.exact_scale ? spec.scale / n : 0);
  }
  for (const double tau : spec.thresholds) {
    for (const auto n : trials_) needs_.push_back(n > 0 ? need(tau, n) : 1);
    const double slack = spec.exact_scale ? 0 : static_cast<double>(pattern.present);
    const double bound = (tau - 1e-12) * static_cast<double>(pattern.present * spec.scale) - slack;
    mixture_need_.push_back(static_cast<std::uint64_t>(std::max(0.0, std::ceil(bound))));
  }
  if (!looked_up_) return;
  for (std::size_t m = 0; m < pool; ++m) {
    first_.push_back(cells_.size());
    for (std::uint32_t c = 0; c <= trials_[m]; ++c) {
      cells_.push_back(value_of(m, c));
      const std::size_t words = cells_.size();
      cells_.resize(words + groups, 0);
      for (std::size_t t = 0; t < spec.thresholds.size(); ++t) {
        if (c >= need_of(t, m)) cells_[words + t / 4] |= lane(t);
      }
    }
  }
}

std::uint64_t PatternScores::value_of(std::size_t policy, std::uint32_t successes) const {
  if (spec_->exact_scale) return successes * rate_[policy];
  if (trials_[policy] == 0) return 0;
  const UInt128 twice = static_cast<UInt128>(successes) * kRoundedScale * 2 / trials_[policy];
  return static_cast<std::uint64_t>((twice + 1) / 2);
}

ScoreAccumulator::ScoreAccumulator(const ScoreSpec& spec, std::size_t replicates)
    : spec_(&spec), pool_(spec.pool_size), groups_(spec.groups()) {
  any_at_ = pool_ * (1 + groups_);
  all_at_ = any_at_ + groups_;
  mixture_at_ = all_at_ + groups_;
  pairs_at_ = mixture_at_ + groups_;
  best_at_ = pairs_at_ + 4 * groups_;
  stride_ = best_at_ + 1;
  for (std::size_t k = 0; k <= pool_; ++k) {
    const std::size_t left = pool_ - k;
    pairs_of_.push_back(static_cast<std::uint32_t>(left * (left - (left > 0)) / 2));
  }
  sums_.assign(replicates * stride_, 0);
}

void ScoreAccumulator::add_general(std::uint64_t* sums, const PatternScores& scores,
                                   const std::uint32_t* counts) {
  std::uint64_t best = 0, total = 0;
  for (std::size_t m = 0; m < pool_; ++m) {
    const std::uint64_t value = scores.looked_up_
                                    ? scores.cells_[scores.first_[m] + counts[m] * (1 + groups_)]
                                    : scores.value_of(m, counts[m]);
    sums[m * (1 + groups_)] += value;
    total += value;
    best = std::max(best, value);
  }
  sums[best_at_] += best;
  for (std::size_t g = 0; g < groups_; ++g) {
    std::uint64_t covering = 0, all = ~0ull;
    for (std::size_t m = 0; m < pool_; ++m) {
      std::uint64_t lanes = 0;
      if (scores.looked_up_) {
        lanes = scores.cells_[scores.first_[m] + counts[m] * (1 + groups_) + 1 + g];
      } else {
        for (std::size_t t = 4 * g; t < std::min(4 * g + 4, spec_->thresholds.size()); ++t) {
          if (counts[m] >= scores.need_of(t, m)) lanes |= lane(t);
        }
      }
      sums[m * (1 + groups_) + 1 + g] += lanes;
      covering += lanes;
      all &= lanes;
    }
    finish(sums, g, covering, all);
  }
  if (!scores.even_) add_mixture(sums, scores, total);
}

void ScoreAccumulator::add_mixture(std::uint64_t* sums, const PatternScores& scores,
                                   std::uint64_t value_sum) {
  for (std::size_t t = 0; t < spec_->thresholds.size(); ++t) {
    if (value_sum >= scores.mixture_need_[t]) sums[mixture_at_ + t / 4] += lane(t);
  }
}

void ScoreAccumulator::drain(std::size_t replicate, TableScore& to) const {
  const std::uint64_t* sums = sums_.data() + replicate * stride_;
  for (std::size_t m = 0; m < pool_; ++m) {
    to.value[m] += sums[m * (1 + groups_)];
    for (std::size_t t = 0; t < spec_->thresholds.size(); ++t) {
      to.policy[t * pool_ + m] += lane_of(sums[m * (1 + groups_) + 1 + t / 4], t);
    }
  }
  for (std::size_t t = 0; t < spec_->thresholds.size(); ++t) {
    to.any[t] += lane_of(sums[any_at_ + t / 4], t);
    to.all[t] += lane_of(sums[all_at_ + t / 4], t);
    to.mixture[t] += lane_of(sums[mixture_at_ + t / 4], t);
    to.uncovered_pairs[t] += sums[pairs_at_ + t];
  }
  to.best_value += sums[best_at_];
}

void ScoreAccumulator::clear() {
  std::fill(sums_.begin(), sums_.end(), 0);
}

TableScore empty_score(const ScoreSpec& spec) {
  const std::size_t taus = spec.thresholds.size();
  TableScore out;
  out.value.assign(spec.pool_size, 0);
  out.policy.assign(spec.pool_size * taus, 0);
  out.any.assign(taus, 0);
  out.all.assign(taus, 0);
  out.mixture.assign(taus, 0);
  out.uncovered_pairs.assign(taus, 0);
  return out;
}

void add_score(TableScore& to, const TableScore& from, std::uint32_t times) {
  const auto add = [times](auto& sums, const auto& more) {
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += more[k] * times;
  };
  add(to.value, from.value);
  add(to.policy, from.policy);
  add(to.any, from.any);
  add(to.all, from.all);
  add(to.mixture, from.mixture);
  add(to.uncovered_pairs, from.uncovered_pairs);
  to.best_value += from.best_value * times;
}

namespace {

// The mixture of prompts with equal trials, which the accumulator leaves out: the re-deal cannot move it.
void add_even_mixture(const ScoreSpec& spec, const PromptClasses& classes, TableScore& to) {
  for (const auto& c : classes.classes) {
    if (!classes.pattern_of(c).even || classes.pattern_of(c).total == 0) continue;
    for (std::size_t t = 0; t < spec.thresholds.size(); ++t) {
      const double rate = static_cast<double>(c.successes) / static_cast<double>(classes.pattern_of(c).total);
      if (rate >= spec.thresholds[t] - 1e-12) to.mixture[t] += static_cast<std::uint32_t>(c.prompts);
    }
  }
}

}  // namespace

TableScore observed_score(const ScoreSpec& spec, const CountTable& table, const PromptClasses& classes) {
  TableScore score = empty_score(spec);
  ScoreAccumulator sums(spec, 1);
  std::vector<std::uint32_t> counts(spec.pool_size);
  std::optional<PatternScores> scores;
  std::size_t pattern = 0, rows = 0;
  // A table of cells pays where rows share it.
  const bool look_up = classes.patterns.size() * 16 <= classes.prompts;
  for (std::size_t i = 0; i < table.prompt_count(); ++i) {
    const auto& c = classes.classes[classes.class_of_row[i]];
    if (!scores || pattern != c.pattern) scores.emplace(spec, classes.patterns[pattern = c.pattern], look_up);
    const auto row = table.row(i);
    for (std::size_t m = 0; m < counts.size(); ++m) counts[m] = row[m].successes;
    sums.add(0, *scores, counts.data());
    if (++rows == ScoreAccumulator::kMaxRows) {
      sums.drain(0, score);
      sums.clear();
      rows = 0;
    }
  }
  sums.drain(0, score);
  add_even_mixture(spec, classes, score);
  return score;
}

TableScore constant_score(const ScoreSpec& spec, const PromptClasses& classes) {
  TableScore score = empty_score(spec);
  ScoreAccumulator sums(spec, 1);
  for (const auto& c : classes.classes) {
    if (!classes.degenerate(c)) continue;
    const auto& pattern = classes.pattern_of(c);
    const std::vector<std::uint32_t> none(spec.pool_size, 0);
    TableScore one = empty_score(spec);
    sums.clear();
    sums.add(0, PatternScores(spec, pattern, false), c.successes == 0 ? none.data() : pattern.trials.data());
    sums.drain(0, one);
    add_score(score, one, static_cast<std::uint32_t>(c.prompts));
  }
  add_even_mixture(spec, classes, score);
  return score;
}

}  // namespace gapwatch::stats
