#include "exporters/prometheus.h"

#include <cmath>
#include <optional>
#include <set>
#include <sstream>

#include "tests/exporters/fixture.h"
#include "tests/exporters/odd_locale.h"

namespace gapwatch::exporters {
namespace {

using testing::HasSubstr;
using testing::Not;
using Labels = std::map<std::string, std::string>;

struct Sample {
  std::string name;
  Labels labels;
  double value = 0;
};

// The text format, read by its own rules (version 0.0.4): fails the test where a line is not of it.
class Scrape {
 public:
  explicit Scrape(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) read(line);
  }

  std::optional<double> value(const std::string& name, const Labels& labels = {}) const {
    for (const auto& sample : samples) {
      if (sample.name == name && sample.labels == labels) return sample.value;
    }
    return std::nullopt;
  }

  std::vector<Sample> samples;
  std::map<std::string, std::string> types, helps;

 private:
  void read(const std::string& line) {
    std::istringstream words(line);
    std::string mark, kind, name;
    if (line.starts_with("# ")) {
      words >> mark >> kind >> name;
      std::string rest;
      std::getline(words, rest);
      ASSERT_TRUE((kind == "TYPE" ? types : helps).emplace(name, rest.substr(1)).second) << "twice: " << line;
      return;
    }
    Sample sample;
    std::size_t at = line.find_first_of("{ ");
    sample.name = line.substr(0, at);
    if (line[at] == '{') at = read_labels(line, at + 1, sample.labels);
    ASSERT_EQ(line[at], ' ') << line;
    const auto number = line.substr(at + 1);
    std::istringstream digits(number);
    digits.imbue(std::locale::classic());
    digits >> sample.value;
    ASSERT_TRUE(digits.eof() && !digits.fail()) << line;
    ASSERT_TRUE(seen_.emplace(sample.name, sample.labels).second) << "the same series twice: " << line;
    samples.push_back(sample);
  }

  static std::size_t read_labels(const std::string& line, std::size_t at, Labels& labels) {
    while (line[at] != '}') {
      const auto equals = line.find('=', at);
      const auto name = line.substr(at, equals - at);
      at = equals + 2;
      std::string value;
      for (; line[at] != '"'; ++at) {
        if (line[at] != '\\') {
          value += line[at];
          continue;
        }
        ++at;
        value += line[at] == 'n' ? '\n' : line[at];
      }
      labels[name] = value;
      ++at;
      if (line[at] == ',') ++at;
    }
    return at + 1;
  }

  std::set<std::pair<std::string, Labels>> seen_;
};

std::string text_of(const Published& published) {
  return metrics_text(SnapshotCollectable(std::make_shared<const Published>(published), {"0.1.0", "abc123"}));
}

Published only(const MonitorReport& monitor) {
  Published out;
  out.monitors = {std::make_shared<const MonitorReport>(monitor)};
  return out;
}

TEST(Metrics, WithoutASnapshotThereIsOnlyTheBuild) {
  EXPECT_EQ(metrics_text(SnapshotCollectable(nullptr, {"0.1.0", "abc123"})),
            "# HELP gapwatch_build_info Always 1; the version and revision that runs.\n"
            "# TYPE gapwatch_build_info gauge\n"
            "gapwatch_build_info{version=\"0.1.0\",revision=\"abc123\"} 1\n");
}

TEST(Metrics, GoldenTextOfAStream) {
  Published published;
  published.stream = fixture::published().stream;
  published.stream.rejected = {{"not_json", 4}};
  EXPECT_THAT(text_of(published), HasSubstr(R"(# TYPE gapwatch_events_total counter
gapwatch_events_total{result="applied"} 165144
gapwatch_events_total{result="correction"} 5
gapwatch_events_total{result="duplicate"} 2048
gapwatch_events_total{result="rejected"} 7
# HELP gapwatch_rejected_total Events that could not be counted, by reason; they changed nothing.
# TYPE gapwatch_rejected_total counter
gapwatch_rejected_total{reason="not_json"} 4
# HELP gapwatch_consumer_lag Records of the partition known to exist and not yet applied.
# TYPE gapwatch_consumer_lag gauge
gapwatch_consumer_lag{topic="eval-scores",partition="0"} 12
# HELP gapwatch_watermark_timestamp_seconds Largest event time applied, Unix time.
# TYPE gapwatch_watermark_timestamp_seconds gauge
gapwatch_watermark_timestamp_seconds 1790000000.5
# HELP gapwatch_apply_seconds Time to decode and apply one batch of records.
# TYPE gapwatch_apply_seconds histogram
gapwatch_apply_seconds_count 11
gapwatch_apply_seconds_sum 2.5
gapwatch_apply_seconds_bucket{le="0.0001"} 4
)"));
}

TEST(Metrics, HistogramIsCumulativeAndEndsInInfinity) {
  const Scrape scrape(text_of(fixture::published()));
  EXPECT_EQ(scrape.value("gapwatch_apply_seconds_bucket", {{"le", "0.001"}}), 9);
  EXPECT_EQ(scrape.value("gapwatch_apply_seconds_bucket", {{"le", "1"}}), 10);
  EXPECT_EQ(scrape.value("gapwatch_apply_seconds_bucket", {{"le", "+Inf"}}), 11);
  EXPECT_EQ(scrape.value("gapwatch_apply_seconds_count"), 11);
}

TEST(Metrics, ExportsTheStatisticsUnderTheirNames) {
  const Scrape scrape(text_of(fixture::published()));
  const Labels monitor{{"monitor", "math500"}};
  const auto with = [&](Labels labels) {
    labels.insert(monitor.begin(), monitor.end());
    return labels;
  };
  EXPECT_EQ(scrape.value("gapwatch_ceiling_ratio", monitor), 0.8375);
  EXPECT_EQ(scrape.value("gapwatch_union_ratio", with({{"coupling", "paired"}})), 0.8732);
  EXPECT_EQ(scrape.value("gapwatch_union_upper_ratio", monitor), 0.8884);
  EXPECT_EQ(scrape.value("gapwatch_oracle_gap_ratio", with({{"tau", "0.1"}})), 0.0725);
  EXPECT_EQ(scrape.value("gapwatch_pass_at_1_ratio", with({{"policy", "yi-1.5-9b"}})), 0.49);
  EXPECT_EQ(scrape.value("gapwatch_null_quantile_ratio", with({{"tau", "0.1"}, {"null", "margin"}, {"quantile", "0.95"}})),
            0.042);
  EXPECT_EQ(scrape.value("gapwatch_p_value", with({{"tau", "0.1"}, {"null", "redeal"}, {"tail", "upper"}})), 0.25);
  EXPECT_NEAR(*scrape.value("gapwatch_noise_share_ratio", with({{"coupling", "paired"}, {"comparator", "best_single"}})),
              0.0357 / 0.1007, 1e-9);
  EXPECT_NEAR(*scrape.value("gapwatch_recoverable_gap_ratio", with({{"comparator", "best_single"}})), 0.065, 1e-12);
  EXPECT_NEAR(*scrape.value("gapwatch_recoverable_gap_ratio", with({{"comparator", "router:knn"}})), 0.05625, 1e-12);
  EXPECT_EQ(scrape.value("gapwatch_router_gain_ratio", with({{"router", "knn"}, {"tau", "0.2"}})), -0.015625);
  EXPECT_EQ(scrape.value("gapwatch_prompts", with({{"state", "complete"}})), 500);
  EXPECT_EQ(scrape.value("gapwatch_trials", with({{"quantile", "0.5"}})), 30);
  EXPECT_EQ(scrape.value("gapwatch_monitor_state", with({{"state", "quiet"}})), 1);
  EXPECT_EQ(scrape.value("gapwatch_monitor_state", with({{"state", "stale"}})), 0);
  EXPECT_EQ(scrape.value("gapwatch_check_ok", with({{"check", "policies_independent"}})), 0);
  EXPECT_EQ(scrape.value("gapwatch_evaluation_timestamp_seconds", monitor), 1.79e9);
}

TEST(Metrics, TheNormalLawIsServedAndTheSamplesAreItsCheck) {
  auto monitor = fixture::full_monitor();
  auto live = std::make_shared<stats::NullResults>();
  live->thresholds.emplace_back();
  live->thresholds[0].tau = 0.1;
  live->thresholds[0].gap.redeal = monitor.evaluation->thresholds[1].gap.redeal;
  live->thresholds[0].gap.redeal->mean = 0.0625;
  live->thresholds[0].gap.redeal->p_upper = 0.375;
  monitor.live_nulls = live;
  const Scrape scrape(text_of(only(monitor)));
  const Labels redeal{{"monitor", "math500"}, {"tau", "0.1"}, {"null", "redeal"}};
  const Labels margin{{"monitor", "math500"}, {"tau", "0.1"}, {"null", "margin"}};
  const auto upper = [](Labels labels) {
    labels["tail"] = "upper";
    return labels;
  };
  EXPECT_EQ(scrape.value("gapwatch_null_mean_ratio", redeal), 0.0625);
  EXPECT_EQ(scrape.value("gapwatch_p_value", upper(redeal)), 0.375);
  EXPECT_EQ(scrape.value("gapwatch_null_check_mean_ratio", redeal), 0.064);
  EXPECT_EQ(scrape.value("gapwatch_p_value_check", upper(redeal)), 0.25);
  EXPECT_EQ(scrape.value("gapwatch_null_mean_ratio", margin), 0.03) << "no live law of this null: the samples stand in";
}

TEST(Metrics, SaysWhatAMonitorLooksAtAndWhetherItIsWhole) {
  auto monitor = fixture::full_monitor();
  monitor.split_prompts = 3;
  const Scrape scrape(text_of(only(monitor)));
  EXPECT_EQ(scrape.value("gapwatch_monitor_info", {{"monitor", "math500"}, {"eval", "math500"}, {"scorer", "lexical"}, {"slice", ""},
                                                   {"window", "all"}, {"tau", "0.1"}, {"alpha", "0.01"}}), 1);
  EXPECT_EQ(scrape.value("gapwatch_split_prompts", {{"monitor", "math500"}}), 3);
  // Prometheus' linter wants no label `quantile` on a gauge.
  EXPECT_EQ(scrape.types.at("gapwatch_trials"), "untyped");
  EXPECT_EQ(scrape.types.at("gapwatch_null_quantile_ratio"), "untyped");
}

TEST(Metrics, SaysWhetherTheLastReloadWasTakenAndTheStateIsWritten) {
  Published published;
  EXPECT_EQ(Scrape(text_of(published)).value("gapwatch_state_writable"), 1);
  published.stream.state_writable = false;
  EXPECT_EQ(Scrape(text_of(published)).value("gapwatch_state_writable"), 0);
  EXPECT_EQ(Scrape(text_of(published)).value("gapwatch_config_reload_success"), 1);
  published.stream.config_reload_success = false;
  EXPECT_EQ(Scrape(text_of(published)).value("gapwatch_config_reload_success"), 0);
}

TEST(Metrics, UndefinedIsAbsent) {
  const Scrape scrape(text_of(only(fixture::empty_monitor())));
  std::set<std::string> names;
  for (const auto& sample : scrape.samples) names.insert(sample.name);
  EXPECT_THAT(names, testing::UnorderedElementsAre("gapwatch_prompts", "gapwatch_monitor_state",
                                                   "gapwatch_monitor_info", "gapwatch_cells", "gapwatch_state_writable",
                                                   "gapwatch_state_bytes", "gapwatch_rebalances_total",
                                                   "gapwatch_config_reload_success", "gapwatch_build_info",
                                                   "gapwatch_dead_letters_total", "gapwatch_stream_split_prompts", "gapwatch_late_total"));
  const Scrape early(text_of(only(fixture::unevaluated_monitor())));
  for (const auto& sample : early.samples) {
    EXPECT_NE(sample.name, "gapwatch_p_value");
    EXPECT_NE(sample.labels.contains("coupling") ? sample.labels.at("coupling") : "", "paired") << sample.name;
  }
  auto odd = fixture::full_monitor();
  odd.summary.ceiling = std::nan("");
  EXPECT_FALSE(Scrape(text_of(only(odd))).value("gapwatch_ceiling_ratio", {{"monitor", "math500"}}));
}

TEST(Metrics, HostileLabelsReadBackAsTheyAre) {
  auto monitor = fixture::full_monitor();
  monitor.name = "m\"} 1\n# HELP x\\";
  monitor.pool[0] = fixture::kHostileName;
  monitor.pool[1] = "\xFF\xFE";
  const Scrape scrape(text_of(only(monitor)));
  EXPECT_EQ(scrape.value("gapwatch_pass_at_1_ratio", {{"monitor", monitor.name}, {"policy", fixture::kHostileName}}), 0.62);
  EXPECT_EQ(scrape.value("gapwatch_pass_at_1_ratio",
                         {{"monitor", monitor.name}, {"policy", "\xEF\xBF\xBD\xEF\xBF\xBD"}}), 0.44);
}

TEST(Metrics, EveryFamilyHasHelpTypeAndPrefix) {
  const Scrape scrape(text_of(fixture::published()));
  for (const auto& [name, help] : scrape.helps) {
    EXPECT_TRUE(name.starts_with("gapwatch_")) << name;
    EXPECT_GT(help.size(), 15u) << name;
    EXPECT_TRUE(scrape.types.contains(name)) << name;
    EXPECT_EQ(name.ends_with("_total"), scrape.types.at(name) == "counter") << name;
  }
  for (const auto& sample : scrape.samples) {
    if (!sample.name.ends_with("_ratio")) continue;
    EXPECT_LE(std::abs(sample.value), 1.0) << sample.name;
  }
}

TEST(Metrics, LooksAtNoLocale) {
  const auto expected = text_of(fixture::published());
  const OddLocale odd;
  EXPECT_EQ(text_of(fixture::published()), expected);
}

}  // namespace
}  // namespace gapwatch::exporters
