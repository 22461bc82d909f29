#include "stats/nulls.h"

#include <algorithm>
#include <cmath>

#include "stats/gaussian_null.h"
#include "stats/margin_chain.h"
#include "stats/margin_moves.h"
#include "stats/null_bootstrap.h"
#include "stats/null_classes.h"
#include "stats/null_compare.h"
#include "stats/null_scores.h"
#include "stats/redeal.h"
#include "stats/redeal_sampler.h"

namespace gapwatch::stats {
namespace {

// Sizes at which sampling gives way to moments: cells of informative prompts times replicates.
constexpr double kMostRedealDraws = 5e7, kMostMarginDraws = 2e7, kMostUncachedDraws = 8e6;
// Sums of fewer prompts are not taken for normal unless asked for.
constexpr std::uint64_t kFewestForNormal = 1'000, kFewestForMarginNormal = 300;
// Where there is no other way, replicates are reduced to about this many draws.
constexpr double kAffordableDraws = 2e9, kAffordableInverted = 1e7;
constexpr std::uint32_t kFewestReplicates = 50, kFewestInverted = 20, kMixtureReplicates = 24;
constexpr double kExactCost = 4e9;
constexpr std::uint64_t kCachedMoves = 400'000'000, kUncachedMoves = 60'000'000, kWideMoves = 6'000'000;
constexpr double kWideTrials =
    2'000;  // trials of a cell, on average, from which a move is drawn by rejection
constexpr std::size_t kNormalDraws = 16'384, kNormalDrawsWide = 4'096, kWidePool = 64;

class Comparison {
 public:
  Comparison(const CountTable& table, std::span<const double> thresholds, const NullOptions& options,
             Executor& executor)
      : table_(table),
        thresholds_(thresholds),
        options_(options),
        executor_(executor),
        classes_(classify_prompts(table)),
        spec_(make_score_spec(classes_, thresholds)),
        prompts_(static_cast<double>(classes_.prompts)) {
    options_.replicates = std::max<std::uint32_t>(1, options_.replicates);
    for (const double tau : thresholds) {
      out_.thresholds.emplace_back();
      out_.thresholds.back().tau = tau;
    }
  }

  NullResults run() {
    if (classes_.prompts == 0) return std::move(out_);
    score_ = observed_score(spec_, table_, classes_);
    observed_ = statistics_of(score_, classes_.pool_size, classes_.prompts);
    if (classes_.informative() == 0 || classes_.pool_size == 1) {
      points();
      return std::move(out_);
    }
    constant_ = constant_score(spec_, classes_);
    moments_feasible_ = moments_feasible(classes_, thresholds_.size());
    redeal();
    margin();
    return std::move(out_);
  }

 private:
  double informative_draws(std::uint32_t replicates) const {
    return static_cast<double>(classes_.informative()) * static_cast<double>(classes_.pool_size) * replicates;
  }

  // Nothing can move: both laws are the observed table.
  void points() {
    const auto both = [](BothNulls& to, double observed) {
      to.redeal = to.margin = compare_with_point(observed);
    };
    for (std::size_t t = 0; t < thresholds_.size(); ++t) {
      auto& at = out_.thresholds[t];
      both(at.gap, static_cast<double>(observed_.gap[t]) / prompts_);
      both(at.disagreement, static_cast<double>(observed_.disagreement[t]) / prompts_);
      at.oracle_minus_mixture =
          compare_with_point(static_cast<double>(observed_.oracle_minus_mixture[t]) / prompts_);
      if (classes_.pool_size >= 2) both(at.rise, static_cast<double>(observed_.rise[t]) / rise_scale());
    }
    both(out_.pass_at_1_gap, static_cast<double>(observed_.pass_at_1_gap) / pass_at_1_scale());
  }

  double rise_scale() const {
    const double pool = static_cast<double>(classes_.pool_size);
    return prompts_ * pool * (pool - 1) / 2;
  }
  double pass_at_1_scale() const { return prompts_ * static_cast<double>(spec_.scale); }
  std::int64_t pass_at_1_tolerance() const {
    return spec_.exact_scale ? 0 : static_cast<std::int64_t>(classes_.prompts);
  }

  // ---- Re-deal ----

  void redeal() {
    const bool large = classes_.informative() >= kFewestForNormal &&
                       informative_draws(options_.replicates) > kMostRedealDraws;
    const bool gaussian = moments_feasible_ && (options_.redeal == NullRoute::kGaussian ||
                                                (options_.redeal == NullRoute::kAuto && large));
    std::vector<PromptMoments> moments;
    if (moments_feasible_ && (gaussian || options_.bootstrap > 0)) {
      moments = class_moments(classes_, thresholds_, {}, MomentSet::kAll, executor_);
    }
    if (gaussian) {
      redeal_gaussian(moments);
    } else {
      redeal_sampled();
    }
    redeal_exact_parts();
    if (moments.empty()) return;
    const auto intervals = intervals_of(moments, {});
    for (std::size_t t = 0; t < thresholds_.size(); ++t) {
      auto& at = out_.thresholds[t];
      at.gap.redeal->excess_interval = intervals.gap[t];
      at.disagreement.redeal->excess_interval = intervals.disagreement[t];
      if (all_even()) at.oracle_minus_mixture->excess_interval = intervals.oracle[t];
    }
    out_.pass_at_1_gap.redeal->excess_interval = intervals.pass_at_1_gap;
  }

  ExcessIntervals intervals_of(std::span<const PromptMoments> moments, std::span<const double> totals) const {
    const BootstrapOptions how{options_.bootstrap, options_.interval_level, options_.seed};
    return bootstrap_excess(table_, classes_, thresholds_, moments, totals, how, executor_);
  }

  bool all_even() const {
    return std::all_of(classes_.patterns.begin(), classes_.patterns.end(),
                       [](const auto& p) { return p.even; });
  }

  std::uint32_t affordable(double draws, std::uint32_t fewest) const {
    const double replicates = draws / std::max(1.0, informative_draws(1));
    const auto most = static_cast<std::uint32_t>(std::clamp(replicates, static_cast<double>(fewest), 4e9));
    return std::min(options_.replicates, most);
  }

  bool rows_are_looked_up() const {
    return std::all_of(classes_.patterns.begin(), classes_.patterns.end(),
                       [](const auto& pattern) { return RowSampler::fits(pattern, pattern.total); });
  }

  void redeal_sampled() {
    const std::uint32_t replicates = options_.redeal == NullRoute::kSampled ? options_.replicates
                                     : rows_are_looked_up()
                                         ? affordable(kAffordableDraws, kFewestReplicates)
                                         : affordable(kAffordableInverted, kFewestInverted);
    const NullSamples samples = sample_redeal(classes_, spec_, replicates, options_.seed, executor_);
    for (std::size_t t = 0; t < thresholds_.size(); ++t) {
      auto& at = out_.thresholds[t];
      at.gap.redeal = compare_with_samples(observed_.gap[t], samples.gap[t], prompts_);
      at.disagreement.redeal =
          compare_with_samples(observed_.disagreement[t], samples.disagreement[t], prompts_);
      at.oracle_minus_mixture =
          compare_with_samples(observed_.oracle_minus_mixture[t], samples.oracle_minus_mixture[t], prompts_);
      at.rise.redeal = compare_with_samples(observed_.rise[t], samples.rise[t], rise_scale());
    }
    out_.pass_at_1_gap.redeal = compare_with_samples(observed_.pass_at_1_gap, samples.pass_at_1_gap,
                                                     pass_at_1_scale(), pass_at_1_tolerance());
  }

  // D always, oracle minus mixture where the mixture cannot move.
  void redeal_exact_parts() {
    double cost = 0;
    for (const auto& pattern : classes_.patterns) cost += redeal_exact_cost(pattern);
    if (cost * static_cast<double>(thresholds_.size()) > kExactCost) return;
    std::vector<RedealExact> exact_of(thresholds_.size());
    if (classes_.patterns.size() < thresholds_.size()) {
      executor_.run(thresholds_.size(), [&](std::size_t t) {
        InlineExecutor here;
        exact_of[t] = redeal_exact(classes_, thresholds_[t], here);
      });
    } else {
      for (std::size_t t = 0; t < thresholds_.size(); ++t)
        exact_of[t] = redeal_exact(classes_, thresholds_[t], executor_);
    }
    for (std::size_t t = 0; t < thresholds_.size(); ++t) {
      const RedealExact& exact = exact_of[t];
      auto& at = out_.thresholds[t];
      at.disagreement.redeal =
          compare_with_indicators(observed_.disagreement[t], exact.disagreement, 0, prompts_);
      if (!all_even()) continue;
      at.oracle_minus_mixture = compare_with_indicators(observed_.oracle_minus_mixture[t], exact.oracle,
                                                        score_.mixture[t], prompts_);
    }
  }

  void redeal_gaussian(std::span<const PromptMoments> moments) {
    const PromptMoments sums = sum_moments(classes_, moments);
    for (std::size_t t = 0; t < thresholds_.size(); ++t) {
      auto& at = out_.thresholds[t];
      at.gap.redeal = minimum_comparison(observed_.gap[t], {sums.gap[t].mean, sums.gap[t].covariance}, t);
      at.disagreement.redeal =
          normal_disagreement(t, sums.disagreement[t], disagreement_variance(moments, t));
    }
    out_.pass_at_1_gap.redeal = pass_at_1_comparison({sums.pass_at_1.mean, sums.pass_at_1.covariance});
    if (!all_even()) mixture_from_few_samples();
  }

  // Oracle minus mixture is a sum of independent indicators; a few replicates give its mean and variance.
  void mixture_from_few_samples() {
    const std::uint32_t replicates = affordable(2e8, kMixtureReplicates);
    const NullSamples samples = sample_redeal(classes_, spec_, replicates, options_.seed, executor_);
    for (std::size_t t = 0; t < thresholds_.size(); ++t) {
      double mean = 0, square = 0;
      for (const auto x : samples.oracle_minus_mixture[t]) mean += static_cast<double>(x) / replicates;
      for (const auto x : samples.oracle_minus_mixture[t])
        square += std::pow(static_cast<double>(x) - mean, 2);
      auto& to = out_.thresholds[t].oracle_minus_mixture;
      to = compare_with_normal(static_cast<double>(observed_.oracle_minus_mixture[t]), mean,
                               square / std::max<std::uint32_t>(1, replicates - 1), prompts_);
      to->samples = replicates;
    }
  }

  // ---- Normal laws ----

  std::size_t normal_draws() const {
    return classes_.pool_size > kWidePool ? kNormalDrawsWide : kNormalDraws;
  }

  // Degenerate prompts add constants to the means.
  NullComparison minimum_comparison(std::int64_t observed, NormalVector law, std::size_t t) const {
    for (std::size_t m = 0; m < law.mean.size(); ++m) {
      law.mean[m] += static_cast<double>(constant_.any[t]) - constant_.policy[t * classes_.pool_size + m];
    }
    return compare_with_draws(static_cast<double>(observed), minimum_draws(law, normal_draws()), prompts_,
                              true);
  }

  NullComparison pass_at_1_comparison(NormalVector law) const {
    const double scale = static_cast<double>(spec_.scale);
    for (std::size_t m = 0; m < law.mean.size(); ++m) {
      law.mean[m] +=
          (static_cast<double>(constant_.best_value) - static_cast<double>(constant_.value[m])) / scale;
    }
    return compare_with_draws(static_cast<double>(observed_.pass_at_1_gap) / scale,
                              minimum_draws(law, normal_draws()), prompts_, false);
  }

  double disagreement_variance(std::span<const PromptMoments> moments, std::size_t t) const {
    double variance = 0;
    for (std::size_t k = 0; k < moments.size(); ++k) {
      if (moments[k].count_mean.empty()) continue;
      variance += static_cast<double>(classes_.classes[k].prompts) * moments[k].disagreement_variance[t];
    }
    return variance;
  }

  NullComparison normal_disagreement(std::size_t t, double mean, double variance) const {
    const double constant = static_cast<double>(constant_.any[t]) - constant_.all[t];
    return compare_with_normal(static_cast<double>(observed_.disagreement[t]), mean + constant, variance,
                               prompts_);
  }

  // ---- Margin-preserving ----

  std::vector<std::uint64_t> informative_totals() const {
    std::vector<std::uint64_t> totals(classes_.pool_size, 0);
    for (std::size_t i = 0; i < classes_.class_of_row.size(); ++i) {
      if (classes_.degenerate(classes_.classes[classes_.class_of_row[i]])) continue;
      const auto row = table_.row(i);
      for (std::size_t m = 0; m < totals.size(); ++m) totals[m] += row[m].successes;
    }
    return totals;
  }

  // Moves are looked up where all prompts have the same few trials.
  bool moves_are_cached() const {
    const auto& trials = classes_.patterns[0].trials;
    return classes_.patterns.size() == 1 &&
           std::all_of(trials.begin(), trials.end(), [](auto n) { return n <= HeatBath::kCachedTrials; });
  }

  void margin() {
    const bool cached = moves_are_cached();
    const bool large =
        classes_.informative() >= kFewestForMarginNormal &&
        informative_draws(options_.replicates) > (cached ? kMostMarginDraws : kMostUncachedDraws);
    bool gaussian = moments_feasible_ && (options_.margin == NullRoute::kGaussian ||
                                          (options_.margin == NullRoute::kAuto && large));
    std::vector<PromptMoments> moments;
    std::vector<double> totals;
    if (moments_feasible_ && (gaussian || options_.bootstrap > 0)) {
      const auto counts = informative_totals();
      const auto tilt = fit_margin_tilt(classes_, counts, executor_);
      if (tilt) moments = class_moments(classes_, thresholds_, tilt->log_weights, MomentSet::kAll, executor_);
      totals.assign(counts.begin(), counts.end());
    }
    gaussian = gaussian && !moments.empty();
    if (gaussian) {
      margin_gaussian(moments, totals);
    } else {
      margin_sampled(cached);
    }
    if (moments.empty()) return;
    const auto intervals = intervals_of(moments, totals);
    for (std::size_t t = 0; t < thresholds_.size(); ++t) {
      out_.thresholds[t].gap.margin->excess_interval = intervals.gap[t];
      out_.thresholds[t].disagreement.margin->excess_interval = intervals.disagreement[t];
    }
    out_.pass_at_1_gap.margin->excess_interval = intervals.pass_at_1_gap;
  }

  void margin_gaussian(std::span<const PromptMoments> moments, std::span<const double> totals) {
    const PromptMoments sums = sum_moments(classes_, moments);
    const auto condition = [&](const VectorMoments& x) {
      return condition_on_totals(x, sums.count_mean, sums.count_covariance, totals);
    };
    for (std::size_t t = 0; t < thresholds_.size(); ++t) {
      auto& at = out_.thresholds[t];
      at.gap.margin = minimum_comparison(observed_.gap[t], condition(sums.gap[t]), t);
      const auto law = condition(
          {{sums.disagreement[t]}, {disagreement_variance(moments, t)}, sums.disagreement_with_counts[t]});
      at.disagreement.margin = normal_disagreement(t, law.mean[0], law.covariance[0]);
    }
    out_.pass_at_1_gap.margin = pass_at_1_comparison(condition(sums.pass_at_1));
  }

  bool moves_are_wide() const {
    double trials = 0, cells = 0;
    for (const auto& c : classes_.classes) {
      const auto& pattern = classes_.pattern_of(c);
      trials += static_cast<double>(c.prompts) * static_cast<double>(pattern.total);
      cells += static_cast<double>(c.prompts) * static_cast<double>(pattern.present);
    }
    return trials > kWideTrials * cells;
  }

  void margin_sampled(bool cached) {
    MarginChainOptions how;
    how.samples = options_.replicates;
    how.seed = options_.seed;
    how.max_moves = options_.margin == NullRoute::kSampled ? ~0ull
                    : cached                               ? kCachedMoves
                    : moves_are_wide()                     ? kWideMoves
                                                           : kUncachedMoves;
    const auto chain = sample_margin(table_, classes_, spec_, how, executor_);
    const auto& samples = chain.samples;
    for (std::size_t t = 0; t < thresholds_.size(); ++t) {
      auto& at = out_.thresholds[t];
      at.gap.margin = compare_with_samples(observed_.gap[t], samples.gap[t], prompts_);
      at.disagreement.margin =
          compare_with_samples(observed_.disagreement[t], samples.disagreement[t], prompts_);
      at.rise.margin = compare_with_samples(observed_.rise[t], samples.rise[t], rise_scale());
    }
    out_.pass_at_1_gap.margin = compare_with_samples(observed_.pass_at_1_gap, samples.pass_at_1_gap,
                                                     pass_at_1_scale(), pass_at_1_tolerance());
    out_.chain = {chain.chains,
                  static_cast<std::uint64_t>(0),
                  chain.sweeps_per_sample,
                  chain.autocorrelation_time,
                  chain.effective_samples,
                  chain.long_cycles};
    const double rounds = static_cast<double>(std::max<std::uint64_t>(1, chain.rounds_per_sample));
    out_.chain.burn_in_sweeps = static_cast<std::uint64_t>(
        std::ceil(chain.sweeps_per_sample * static_cast<double>(chain.burn_in_rounds) / rounds));
  }

  const CountTable& table_;
  std::span<const double> thresholds_;
  NullOptions options_;
  Executor& executor_;
  PromptClasses classes_;
  ScoreSpec spec_;
  double prompts_;
  TableScore score_, constant_;
  TableStatistics observed_;
  bool moments_feasible_ = false;
  NullResults out_;
};

}  // namespace

NullResults compare_with_nulls(const CountTable& table, std::span<const double> thresholds,
                               const NullOptions& options, Executor& executor) {
  return Comparison(table, thresholds, options, executor).run();
}

}  // namespace gapwatch::stats
