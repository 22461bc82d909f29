#include "exporters/prometheus.h"

#include <iterator>
#include <locale>
#include <numbers>
#include <sstream>

#include <prometheus/text_serializer.h>

#include "exporters/json_writer.h"
#include "exporters/report_facts.h"

namespace gapwatch::exporters {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;
using stats::Number;

// Of a gauge with a label `quantile`, which Prometheus' linter keeps for summaries.
constexpr auto kUntyped = MetricType::Untyped;

// Families in the order of first use; a family without a sample is left out at the end.
class Families {
 public:
  void describe(const char* name, MetricType type, const char* help) {
    index_.emplace(name, families_.size());
    MetricFamily family;
    family.name = std::string("gapwatch_") + name;
    family.help = help;
    family.type = type;
    families_.push_back(std::move(family));
  }

  void add(std::string_view name, Labels labels, const Number& number) {
    if (!number || !std::isfinite(*number)) return;
    auto& sample = append(name, std::move(labels));
    sample.gauge.value = *number;
    sample.counter.value = *number;
    sample.untyped.value = *number;
  }

  ClientMetric& append(std::string_view name, Labels labels) {
    for (auto& label : labels) label.value = valid_utf8(label.value);
    auto& family = families_[index_.at(std::string(name))];
    family.metric.emplace_back();
    family.metric.back().label = std::move(labels);
    return family.metric.back();
  }

  std::vector<MetricFamily> take() {
    std::erase_if(families_, [](const MetricFamily& family) { return family.metric.empty(); });
    return std::move(families_);
  }

 private:
  std::map<std::string, std::size_t> index_;
  std::vector<MetricFamily> families_;
};

void describe_coverage(Families& out) {
  constexpr auto kGauge = MetricType::Gauge;
  out.describe("coverage_ratio", kGauge,
               "Share of complete prompts that the policy solves in at least a fraction tau of its draws.");
  out.describe("oracle_coverage_ratio", kGauge,
               "Share of complete prompts that some policy solves in at least a fraction tau of its draws.");
  out.describe("mixture_coverage_ratio", kGauge,
               "Share of complete prompts where the pool's mean success rate reaches tau.");
  out.describe("oracle_gap_ratio", kGauge,
               "Oracle gap L at tau: oracle coverage minus that of the best single policy; not corrected for noise.");
  out.describe("disagreement_ratio", kGauge,
               "D at tau: share of complete prompts that some policy covers and some policy does not.");
  out.describe("break_even_error_ratio", kGauge,
               "L / D: the share of disagreement prompts a router may get wrong and still equal the best policy.");
}

void describe_nulls(Families& out) {
  constexpr auto kGauge = MetricType::Gauge;
  out.describe("null_mean_ratio", kGauge,
               "Mean oracle gap at tau under a null law without specialization, by the normal law, at the last evaluation.");
  out.describe("null_quantile_ratio", kUntyped,
               "Quantile of the oracle gap at tau under a null law, at the last evaluation.");
  out.describe("excess_ratio", kGauge,
               "Oracle gap at tau minus its mean under a null law, both of the last evaluation.");
  out.describe("p_value", kGauge,
               "Fixed-sample p-value of the oracle gap at tau under a null law: valid for one look, never to alert "
               "on over repeated looks. By the normal law, at the last evaluation.");
  out.describe("null_check_mean_ratio", kGauge,
               "As null_mean_ratio by samples of the law itself, renewed less often: the check on the normal law.");
  out.describe("p_value_check", kGauge, "As p_value by samples of the law itself: the check on the normal law.");
}

void describe_union(Families& out) {
  constexpr auto kGauge = MetricType::Gauge;
  out.describe("pass_at_1_ratio", kGauge, "Mean raw success rate of the policy over complete prompts.");
  out.describe("ceiling_ratio", kGauge, "Mean over complete prompts of the highest raw success rate of any policy.");
  out.describe("union_ratio", kGauge,
               "Mean probability that some policy succeeds in one draw each, under the coupling of draws.");
  out.describe("union_upper_ratio", kGauge, "Upper Frechet end of the union: its largest value given the rates alone.");
  out.describe("premium_ratio", kGauge, "Union minus ceiling: what single-draw luck adds, under the coupling.");
  out.describe("gap_ratio", kGauge, "Union minus the comparator's mean rate (best_single or router:NAME).");
  out.describe("recoverable_gap_ratio", kGauge,
               "Ceiling minus the comparator's mean rate (best_single or router:NAME).");
  out.describe("noise_share_ratio", kGauge,
               "Premium divided by the gap, for the coupling and comparator; 0 by construction while every cell has "
               "one trial; absent when the gap is not positive.");
  out.describe("router_gain_ratio", kGauge,
               "L - D e_D at tau on the prompts the router decided: its coverage minus the best single policy's.");
  out.describe("router_disagreement_error_ratio", kGauge,
               "e_D at tau: share of disagreement prompts where the router's choice does not cover.");
}

void describe_evidence(Families& out) {
  constexpr auto kGauge = MetricType::Gauge;
  out.describe("evidence_log10", kGauge,
               "Log10 of the evidence against a null law since the last acknowledged alarm; holds however often anyone "
               "looks.");
  out.describe("alarm", kGauge,
               "margin: 1 while the monitor's alarm stands. redeal: 1 once evidence of any difference has reached its "
               "level.");
  out.describe("population_gap_ratio", kGauge,
               "Oracle gap at the alarm's threshold that endless draws would show; approximate, of the last evaluation.");
}

void describe_monitor(Families& out) {
  constexpr auto kGauge = MetricType::Gauge;
  out.describe("prompts", kGauge,
               "Prompts of the monitor: complete (every policy has enough trials), partial, degenerate (complete, all "
               "draws alike).");
  out.describe("trials", kUntyped, "Trials of a cell over complete prompts: minimum (0), lower median (0.5), maximum (1).");
  out.describe("unscored_ratio", kGauge,
               "Unscored responses divided by these plus the trials of complete prompts.");
  out.describe("monitor_info", kGauge,
               "Always 1; what the monitor looks at, with its alarm's threshold (tau) and level (alpha).");
  out.describe("monitor_state", kGauge, "1 for the state the monitor is in, 0 for the others.");
  out.describe("split_prompts", kGauge,
               "Prompts of the last evaluation that are on more than one partition, whose statistics are therefore wrong: "
               "produce with the prompt as the key.");
  out.describe("check_ok", kGauge, "1 while an assumption check holds, 0 when it fails, at the last evaluation.");
  out.describe("evaluation_timestamp_seconds", kGauge, "When the null laws were last compared, Unix time.");
  out.describe("evaluation_duration_seconds", kGauge, "How long the last evaluation took.");
}

void describe_stream(Families& out) {
  constexpr auto kCounter = MetricType::Counter;
  constexpr auto kGauge = MetricType::Gauge;
  out.describe("events_total", kCounter, "Events read from the stream, by what applying them did.");
  out.describe("rejected_total", kCounter, "Events that could not be counted, by reason; they changed nothing.");
  out.describe("consumer_lag", kGauge, "Records of the partition known to exist and not yet applied.");
  out.describe("watermark_timestamp_seconds", kGauge, "Largest event time applied, Unix time.");
  out.describe("apply_seconds", MetricType::Histogram, "Time to decode and apply one batch of records.");
  out.describe("rebalances_total", kCounter, "Times the assignment of partitions changed.");
  out.describe("overflow_total", kCounter, "Events refused because a limit on distinct names was reached, by kind.");
  out.describe("skipped_total", kCounter, "Records that are well formed and carry no draw, by reason.");
  out.describe("dead_letters_total", kCounter, "Rejected records written to the dead letters' topic or file.");
  out.describe("late_total", kCounter, "Responses counted whose time lies before a window by time of their monitors.");
  out.describe("partition_watermark_timestamp_seconds", kGauge, "Largest event time applied, of each partition held, Unix time.");
  out.describe("stream_split_prompts", kGauge, "Prompts seen on a second partition: their statistics are wrong. Key the topic by prompt.");
  out.describe("state_bytes", kGauge, "Bytes of the state on disk.");
  out.describe("cells", kGauge, "Cells (prompt and policy) with a response.");
  out.describe("state_writable", kGauge, "0 while checkpoints fail and reading is paused for it (no room on the disk), else 1.");
  out.describe("config_reload_success", kGauge,
               "1 while the last reload of the config was taken, or none was asked for; 0 when it was refused.");
  out.describe("build_info", kGauge, "Always 1; the version and revision that runs.");
}

Families described() {
  Families out;
  describe_coverage(out);
  describe_nulls(out);
  describe_union(out);
  describe_evidence(out);
  describe_monitor(out);
  describe_stream(out);
  return out;
}

Labels with(Labels labels, const char* name, std::string_view value) {
  labels.push_back({name, std::string(value)});
  return labels;
}

void add_coverage(Families& out, const MonitorReport& monitor, const Labels& base) {
  for (const auto& coverage : monitor.summary.coverage) {
    const auto at = with(base, "tau", shortest(coverage.tau));
    for (std::size_t m = 0; m < std::min(coverage.policy.size(), monitor.pool.size()); ++m) {
      out.add("coverage_ratio", with(at, "policy", monitor.pool[m]), coverage.policy[m]);
    }
    out.add("oracle_coverage_ratio", at, coverage.oracle);
    out.add("mixture_coverage_ratio", at, coverage.mixture);
    out.add("oracle_gap_ratio", at, coverage.gap);
    out.add("disagreement_ratio", at, coverage.disagreement);
    out.add("break_even_error_ratio", at, coverage.break_even_error);
  }
}

void add_null(Families& out, const Labels& at, const char* null, const std::optional<stats::NullComparison>& found) {
  if (!found) return;
  const auto labels = with(at, "null", null);
  out.add("null_mean_ratio", labels, found->mean);
  out.add("null_quantile_ratio", with(labels, "quantile", "0.05"), found->p05);
  out.add("null_quantile_ratio", with(labels, "quantile", "0.95"), found->p95);
  out.add("excess_ratio", labels, found->excess);
  out.add("p_value", with(labels, "tail", "upper"), found->p_upper);
  out.add("p_value", with(labels, "tail", "lower"), found->p_lower);
}

void add_null_check(Families& out, const Labels& at, const char* null, const std::optional<stats::NullComparison>& found) {
  if (!found) return;
  const auto labels = with(at, "null", null);
  out.add("null_check_mean_ratio", labels, found->mean);
  out.add("p_value_check", with(labels, "tail", "upper"), found->p_upper);
  out.add("p_value_check", with(labels, "tail", "lower"), found->p_lower);
}

void add_evaluation(Families& out, const MonitorReport& monitor, const Labels& base) {
  if (!monitor.evaluation) return;
  for (const auto& check : monitor.evaluation->checks) {
    out.add("check_ok", with(base, "check", check.name), check.ok ? 1.0 : 0.0);
  }
  out.add("evaluation_timestamp_seconds", base, static_cast<double>(monitor.evaluated_at) / 1000.0);
  out.add("evaluation_duration_seconds", base, monitor.evaluation_seconds);
  if (!is_measured(monitor)) return;
  for (const auto& nulls : monitor.evaluation->thresholds) {
    const auto at = with(base, "tau", shortest(nulls.tau));
    const auto now = gap_nulls_now(monitor, nulls.tau);
    add_null(out, at, "redeal", now.redeal);
    add_null(out, at, "margin", now.margin);
    add_null_check(out, at, "redeal", nulls.gap.redeal);
    add_null_check(out, at, "margin", nulls.gap.margin);
  }
}

void add_split(Families& out, const stats::GapSplit& split, const Labels& base, std::string_view comparator) {
  const auto labels = with(with(base, "coupling", split.coupling), "comparator", comparator);
  out.add("gap_ratio", labels, split.total);
  out.add("noise_share_ratio", labels, split.noise_share);
  if (split.coupling == "product") {
    out.add("recoverable_gap_ratio", with(base, "comparator", comparator), split.recoverable);
  }
}

void add_union(Families& out, const MonitorReport& monitor, const Labels& base) {
  const auto& summary = monitor.summary;
  for (std::size_t m = 0; m < monitor.pool.size(); ++m) {
    out.add("pass_at_1_ratio", with(base, "policy", monitor.pool[m]), summary.pass_at_1[m]);
  }
  out.add("ceiling_ratio", base, summary.ceiling);
  out.add("union_ratio", with(base, "coupling", "product"), summary.union_product);
  out.add("union_ratio", with(base, "coupling", "paired"), summary.union_paired);
  out.add("union_upper_ratio", base, summary.frechet_upper);
  out.add("premium_ratio", with(base, "coupling", "product"), summary.premium_product);
  out.add("premium_ratio", with(base, "coupling", "paired"), summary.premium_paired);
  for (const char* coupling : {"product", "paired"}) {
    add_split(out, best_single_gap(monitor, coupling), base, "best_single");
  }
}

void add_routers(Families& out, const MonitorReport& monitor, const Labels& base) {
  for (const auto& router : monitor.routers) {
    for (const char* coupling : {"product", "paired"}) {
      add_split(out, router_gap(router, coupling), base, "router:" + router.router);
    }
    const auto labels = with(base, "router", router.router);
    for (std::size_t t = 0; t < monitor.thresholds.size(); ++t) {
      const auto at = with(labels, "tau", shortest(monitor.thresholds[t]));
      const auto& summary = router.summary;
      out.add("router_gain_ratio", at, t < summary.gain.size() ? summary.gain[t] : std::nullopt);
      out.add("router_disagreement_error_ratio", at,
              t < summary.disagreement_error.size() ? summary.disagreement_error[t] : std::nullopt);
    }
  }
}

void add_counts(Families& out, const MonitorReport& monitor, const Labels& base) {
  const auto& summary = monitor.summary;
  out.add("prompts", with(base, "state", "complete"), static_cast<double>(summary.complete));
  out.add("prompts", with(base, "state", "partial"), static_cast<double>(summary.partial));
  out.add("prompts", with(base, "state", "degenerate"), static_cast<double>(summary.degenerate));
  auto info = base;
  for (const auto& [name, value] : std::initializer_list<std::pair<const char*, std::string>>{
           {"eval", monitor.eval}, {"scorer", monitor.scorer}, {"slice", monitor.slice.value_or("")},
           {"window", monitor.window}, {"tau", shortest(monitor.alarm_threshold)}, {"alpha", shortest(monitor.alpha)}}) {
    info.push_back({name, value});
  }
  out.add("monitor_info", info, 1.0);
  for (const auto state : kMonitorStates) {
    out.add("monitor_state", with(base, "state", state), monitor.state == state ? 1.0 : 0.0);
  }
  if (monitor.evaluation) out.add("split_prompts", base, static_cast<double>(monitor.split_prompts));
  if (!is_measured(monitor)) return;
  out.add("trials", with(base, "quantile", "0"), summary.trials_min);
  out.add("trials", with(base, "quantile", "0.5"), summary.trials_median);
  out.add("trials", with(base, "quantile", "1"), summary.trials_max);
  const double unscored = static_cast<double>(monitor.unscored);
  const double responses = unscored + static_cast<double>(summary.trials_total);
  if (responses > 0) out.add("unscored_ratio", base, unscored / responses);
}

void add_evidence(Families& out, const MonitorReport& monitor, const Labels& base) {
  if (monitor.population_gap) out.add("population_gap_ratio", base, monitor.population_gap->estimate);
  if (!monitor.evidence) return;
  const auto& evidence = *monitor.evidence;
  const auto add = [&](const char* null, double log_e, bool alarm) {
    const auto labels = with(base, "null", null);
    out.add("evidence_log10", labels, log_e / std::numbers::ln10);
    out.add("alarm", labels, alarm ? 1.0 : 0.0);
  };
  add("redeal", evidence.redeal.log_e, evidence.redeal.reached);
  if (evidence.margin_on) add("margin", evidence.margin.log_e, alarm_stands(monitor));
}

void add_monitor(Families& out, const MonitorReport& monitor) {
  const Labels base{{"monitor", monitor.name}};
  add_counts(out, monitor, base);
  add_evaluation(out, monitor, base);
  if (!is_measured(monitor)) return;
  add_evidence(out, monitor, base);
  add_coverage(out, monitor, base);
  add_union(out, monitor, base);
  add_routers(out, monitor, base);
}

void add_histogram(Families& out, const StreamHealth& stream) {
  constexpr std::size_t kBounds = std::size(kApplyBounds);
  if (stream.apply_seconds_buckets.size() != kBounds + 1) return;
  auto& histogram = out.append("apply_seconds", {}).histogram;
  for (std::size_t b = 0; b <= kBounds; ++b) {
    histogram.sample_count += stream.apply_seconds_buckets[b];
    const double bound = b < kBounds ? kApplyBounds[b] : std::numeric_limits<double>::infinity();
    histogram.bucket.push_back({histogram.sample_count, bound});
  }
  histogram.sample_sum = stream.apply_seconds_sum;
}

void add_stream(Families& out, const StreamHealth& stream) {
  for (const auto& [result, count] : stream.events) {
    out.add("events_total", {{"result", result}}, static_cast<double>(count));
  }
  for (const auto& [reason, count] : stream.rejected) {
    out.add("rejected_total", {{"reason", reason}}, static_cast<double>(count));
  }
  for (const auto& [reason, count] : stream.skipped) {
    out.add("skipped_total", {{"reason", reason}}, static_cast<double>(count));
  }
  out.add("dead_letters_total", {}, static_cast<double>(stream.dead_letters));
  for (const auto& partition : stream.partitions) {
    if (!partition.lag) continue;
    out.add("consumer_lag", {{"topic", partition.topic}, {"partition", std::to_string(partition.partition)}},
            static_cast<double>(*partition.lag));
  }
  if (stream.watermark > 0) out.add("watermark_timestamp_seconds", {}, static_cast<double>(stream.watermark) / 1000.0);
  add_histogram(out, stream);
  out.add("rebalances_total", {}, static_cast<double>(stream.rebalances));
  for (const auto& [kind, count] : stream.overflow) {
    out.add("overflow_total", {{"kind", kind}}, static_cast<double>(count));
  }
  for (const auto& partition : stream.partitions) {
    if (partition.watermark == 0) continue;
    out.add("partition_watermark_timestamp_seconds",
            {{"topic", partition.topic}, {"partition", std::to_string(partition.partition)}},
            static_cast<double>(partition.watermark) / 1000.0);
  }
  out.add("late_total", {}, static_cast<double>(stream.late));
  out.add("stream_split_prompts", {}, static_cast<double>(stream.split_prompts));
  out.add("state_bytes", {}, static_cast<double>(stream.state_bytes));
  out.add("cells", {}, static_cast<double>(stream.cells));
  out.add("state_writable", {}, stream.state_writable ? 1.0 : 0.0);
  out.add("config_reload_success", {}, stream.config_reload_success ? 1.0 : 0.0);
}

}  // namespace

SnapshotCollectable::SnapshotCollectable(std::shared_ptr<const Published> published, BuildInfo build)
    : published_(std::move(published)), build_(std::move(build)) {}

std::vector<MetricFamily> SnapshotCollectable::Collect() const {
  auto out = described();
  if (published_) {
    for (const auto& monitor : published_->monitors) add_monitor(out, *monitor);
    add_stream(out, published_->stream);
  }
  out.add("build_info", {{"version", build_.version}, {"revision", build_.revision}}, 1.0);
  return out.take();
}

std::string metrics_text(const prometheus::Collectable& source) {
  std::ostringstream text;
  text.imbue(std::locale::classic());
  prometheus::TextSerializer().Serialize(text, source.Collect());
  return text.str();
}

}  // namespace gapwatch::exporters
