#include "tests/exporters/fixture.h"

#include <cmath>

namespace gapwatch::exporters::fixture {
namespace {

constexpr const char* kPool[] = {"deepseek-r1-7b", "gemma-2-9b",    "llama-3.1-8b",  "mathstral-7b",
                                 "mistral-7b",     "phi-4",         "qwen2.5-14b",   "qwen2.5-32b",
                                 "qwen2.5-7b",     "qwen2.5-math-7b", "yi-1.5-9b"};
constexpr double kRates[] = {0.62, 0.44, 0.47, 0.53, 0.125, 0.7265, 0.75, 0.7725, 0.71, 0.76, 0.49};

stats::NullComparison comparison(double observed, double mean, double p05, double p95, double upper) {
  stats::NullComparison out;
  out.observed = observed;
  out.mean = mean;
  out.p05 = p05;
  out.p95 = p95;
  out.p_upper = upper;
  out.p_lower = 1.0009765625 - upper;
  out.fraction_upper = upper;
  out.fraction_lower = 1 - upper;
  out.excess = observed - mean;
  out.excess_interval = stats::Interval{out.excess - 0.015625, out.excess + 0.015625};
  out.samples = 2000;
  out.method = "monte-carlo";
  return out;
}

void fill_coverage(MonitorReport& monitor) {
  constexpr double kGaps[] = {0.0625, 0.0725, 0.0925, 0.1025};
  for (std::size_t t = 0; t < monitor.thresholds.size(); ++t) {
    stats::CoverageSummary coverage;
    coverage.tau = monitor.thresholds[t];
    for (const double rate : kRates) coverage.policy.push_back(std::pow(rate, 0.5 + coverage.tau));
    coverage.best_policy = 7;
    coverage.best = coverage.policy[7];
    coverage.gap = kGaps[t];
    coverage.oracle = coverage.best + coverage.gap;
    coverage.mixture = coverage.best - 0.03125;
    coverage.disagreement = 0.75 - coverage.tau / 2;
    coverage.break_even_error = coverage.gap / coverage.disagreement;
    coverage.oracle_minus_mixture = coverage.oracle - coverage.mixture;
    monitor.summary.coverage.push_back(coverage);
  }
}

void fill_summary(MonitorReport& monitor) {
  auto& summary = monitor.summary;
  summary.complete = 500;
  summary.degenerate = 40;
  summary.trials_min = summary.trials_median = summary.trials_max = 30;
  summary.trials_total = 165'000;
  summary.identifiable = true;
  summary.pass_at_1.assign(std::begin(kRates), std::end(kRates));
  for (const double rate : kRates) summary.rauc.push_back(std::sqrt(rate));
  summary.best_single = 7;
  summary.ceiling = 0.8375;
  summary.union_product = 0.8744;
  summary.union_paired = 0.8732;
  summary.frechet_upper = 0.8884;
  summary.premium_product = 0.8744 - 0.8375;
  summary.premium_paired = 0.8732 - 0.8375;
  summary.frechet_width = 0.8884 - 0.8375;
  summary.oracle_pass_at_1_gap = 0.8375 - 0.7725;
  summary.positive_fraction = 0.24;
  summary.conditional_premium = 0.15625;
  summary.certain = 350;
  summary.dead = 27;
  summary.lone = 3;
  summary.oracle_noise_share_product = summary.premium_product / summary.union_product;
  summary.oracle_noise_share_paired = *summary.premium_paired / *summary.union_paired;
  summary.rauc_best = 0.875;
  summary.rauc_oracle = 0.9375;
  summary.rauc_mixture = 0.84375;
  fill_coverage(monitor);
}

stats::Evaluation evaluation(const MonitorReport& monitor) {
  stats::Evaluation out;
  out.prior = {config::PriorKind::kMoments, 0.40625, 0.28125};
  for (const double rate : kRates) out.pass_at_1_intervals.push_back(stats::Interval{rate - 0.03125, rate + 0.03125});
  out.noise_share_interval = stats::Interval{0.3125, 0.40625};
  out.effective_pool_size = 1.75;
  for (const auto& coverage : monitor.summary.coverage) {
    stats::ThresholdNulls nulls;
    nulls.tau = coverage.tau;
    nulls.gap.redeal = comparison(coverage.gap, 0.064, 0.05, 0.078, 0.25);
    nulls.gap.margin = comparison(coverage.gap, 0.03, 0.02, 0.042, 0.00048828125);
    nulls.disagreement.redeal = comparison(coverage.disagreement, 0.5, 0.484375, 0.515625, 0.00048828125);
    nulls.disagreement.redeal->samples = 0;
    nulls.disagreement.redeal->method = "exact";
    nulls.disagreement.margin = comparison(coverage.disagreement, 0.625, 0.609375, 0.640625, 0.03125);
    nulls.mixture_matched = coverage.mixture - 0.015625;
    nulls.split_half = {coverage.gap - 0.03125, coverage.gap - 0.046875};
    out.thresholds.push_back(nulls);
  }
  out.pass_at_1_gap.redeal = comparison(0.065, 0.04, 0.03125, 0.046875, 0.00048828125);
  out.pass_at_1_gap.margin = comparison(0.065, 0.02, 0.015625, 0.0234375, 0.00048828125);
  out.checks = {{"draws_exchangeable", 0.9375, true, "Draws of a cell look alike in any order."},
                {"policies_independent", 0.015625, false,
                 "Policies that share a draw index agree more than by chance: prefer the paired coupling."}};
  return out;
}

}  // namespace

MonitorReport full_monitor() {
  MonitorReport monitor;
  monitor.name = "math500";
  monitor.eval = "math500";
  monitor.scorer = "lexical";
  monitor.window = "all";
  monitor.pool.assign(std::begin(kPool), std::end(kPool));
  monitor.groups = {{"qwen2.5-14b", "Qwen"}, {"qwen2.5-32b", "Qwen"}, {"phi-4", "Phi"}};
  monitor.thresholds = {0.05, 0.1, 0.2, 0.3};
  monitor.band_low = 0.05;
  monitor.band_high = 0.3;
  monitor.alarm_threshold = 0.1;
  monitor.alpha = 0.01;
  monitor.seed = 1;
  monitor.prompts_total = 500;
  monitor.unscored = 12;
  monitor.state = "quiet";
  fill_summary(monitor);
  monitor.evaluation = evaluation(monitor);
  monitor.evaluated_at = 1'790'000'000'000;
  monitor.evaluation_seconds = 1.25;
  RouterReport router;
  router.router = "knn";
  router.summary.prompts = 480;
  router.summary.pass_at_1 = 0.78125;
  router.summary.routed = monitor.summary;
  router.summary.disagreement_error = {0.09375, 0.09375, 0.125, std::nullopt};
  router.summary.gain = {0.015625, 0.0078125, -0.015625, std::nullopt};
  monitor.routers.push_back(router);
  return monitor;
}

MonitorReport unevaluated_monitor() {
  auto monitor = full_monitor();
  monitor.name = "first-look";
  monitor.slice = "algebra";
  monitor.window = "last_draws: 1";
  monitor.state = "insufficient";
  monitor.evaluation.reset();
  monitor.routers.clear();
  auto& summary = monitor.summary;
  summary.complete = 12;
  summary.partial = 7;
  summary.trials_min = summary.trials_median = summary.trials_max = 1;
  summary.trials_total = 132;
  summary.identifiable = false;
  summary.union_product = summary.ceiling;
  summary.union_paired.reset();
  summary.premium_paired.reset();
  summary.premium_product = 0;
  summary.conditional_premium.reset();
  summary.positive_fraction = 0;
  summary.oracle_noise_share_product = 0.0;
  summary.oracle_noise_share_paired.reset();
  return monitor;
}

MonitorReport empty_monitor() {
  MonitorReport monitor;
  monitor.name = kHostileName;
  monitor.eval = "e";
  monitor.scorer = "s";
  monitor.window = "all";
  monitor.pool = {"a", kHostileName};
  monitor.thresholds = {0.1};
  monitor.band_low = 0.05;
  monitor.band_high = 0.3;
  monitor.alarm_threshold = 0.1;
  monitor.alpha = 0.01;
  monitor.prompts_total = 3;
  monitor.state = "collecting";
  monitor.summary.partial = 3;
  return monitor;
}

Published published() {
  Published out;
  for (auto monitor : {empty_monitor(), unevaluated_monitor(), full_monitor()}) {
    out.monitors.push_back(std::make_shared<const MonitorReport>(std::move(monitor)));
  }
  auto& stream = out.stream;
  stream.events = {{"applied", 165'144}, {"correction", 5}, {"duplicate", 2048}, {"rejected", 7}};
  stream.rejected = {{"not_json", 4}, {kHostileName, 3}};
  stream.partitions = {{"eval-scores", 0, 82'600, 12}, {"eval-scores", 1, 82'400, std::nullopt}};
  stream.watermark = 1'790'000'000'500;
  stream.rebalances = 2;
  stream.cells = 5'600;
  stream.prompts = 515;
  stream.state_bytes = 1'048'576;
  stream.overflow = {{"policy", 0}, {"prompt", 0}};
  stream.apply_seconds_buckets = {4, 3, 2, 1, 0, 0, 0, 0, 0, 1};
  stream.apply_seconds_sum = 2.5;
  stream.ready = true;
  out.at = 1'790'000'001'000;
  return out;
}

Report report() {
  Report out;
  out.version = "0.1.0";
  out.input.files = {"run.jsonl.gz"};
  out.input.events = 167'204;
  out.input.applied = 165'144;
  out.input.duplicates = 2048;
  out.input.corrections = 5;
  out.input.rejected = {{"not_json", 7}};
  out.input.sha256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
  out.monitors = {empty_monitor(), unevaluated_monitor(), full_monitor()};
  return out;
}

std::vector<PromptReport> prompts() {
  PromptReport prompt;
  prompt.prompt = "p17";
  prompt.premium = 0.25;
  prompt.ceiling = 0.5;
  prompt.disagrees = true;
  prompt.cells = {{"a", 4, 2, 0.5, {0.125, 0.875}}, {kHostileName, 4, 0, 0.1875, {0, 0.5}}};
  return {prompt};
}

state::HistorySlice history() {
  state::HistorySample empty;
  empty.at = 1'790'000'000'000;
  empty.state = "insufficient";
  empty.prompts = 3;
  state::HistorySample full;
  full.at = empty.at + 60'000;
  full.state = "evidence";
  full.complete = full.prompts = 500;
  full.trials = 165'000;
  full.paired = true;
  full.comparator = 0.75;
  full.ceiling = 0.8125;
  full.union_rate = 0.875;
  full.union_upper = 0.9375;
  full.noise_share = 0.5;
  full.redeal.log10_e = -0.25;
  full.margin = {2.5, true};
  full.thresholds = {{0.1, 0.125, {}, {0.0625, 0.03125, 0.09375, 0.0625}}};
  return {60'000, {empty, full}};
}

}  // namespace gapwatch::exporters::fixture
