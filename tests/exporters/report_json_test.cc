#include "exporters/report_json.h"

#include <simdjson.h>

#include <cmath>

#include "exporters/api_json.h"
#include "tests/exporters/fixture.h"
#include "tests/exporters/odd_locale.h"

namespace gapwatch::exporters {
namespace {

using simdjson::dom::element;

class ReportJson : public testing::Test {
 protected:
  element parse(const std::string& text) {
    text_ = simdjson::padded_string(text);
    return parser_.parse(text_).value();
  }
  static std::vector<std::string> keys(element object) {
    std::vector<std::string> out;
    const simdjson::dom::object fields = object.get_object().value();
    for (const auto field : fields) out.emplace_back(field.key);
    return out;
  }
  // As the report shows monitors: the hostile one first, the full one last.
  element full() { return parse(report_json(fixture::report())).at_pointer("/monitors/2").value(); }
  element empty() { return parse(report_json(fixture::report())).at_pointer("/monitors/0").value(); }

 private:
  simdjson::dom::parser parser_;
  simdjson::padded_string text_;
};

TEST_F(ReportJson, HasTheSchemasKeysInOrder) {
  const auto root = parse(report_json(fixture::report()));
  EXPECT_THAT(keys(root), testing::ElementsAre("schema", "version", "input", "monitors", "scorers"));
  EXPECT_EQ(root["schema"].get_string().value(), "gapwatch.report/1");
  const std::vector<std::string> expected = {
      "name",     "eval",   "scorer", "slice",  "window", "pool",    "identifiable", "prompts",
      "trials",   "unscored", "state", "checks", "prior",  "policies", "oracle",     "gap",
      "routers",  "coverage", "rauc", "pass_at_1_nulls", "population_gap", "sequential", "attribution",
      "groups",   "seed",   "alarm",
      // The detail (docs/STATISTICS.md).
      "comparators", "intervals", "priors", "cross_fit", "family", "chain", "thresholds", "mixture_matched",
      "posterior_rauc", "rate_correlation", "draw_correlation", "strata", "best_of_r", "prefix_path", "prefix_permuted",
      "subpools", "lineages", "winners_curse", "draw_checks", "routing_identity", "plurality", "confirmatory_looks", "driving_prompts"};
  const simdjson::dom::array monitors = root["monitors"].get_array().value();
  for (const auto monitor : monitors) EXPECT_EQ(keys(monitor), expected);
  EXPECT_THAT(keys(full()["oracle"]),
              testing::ElementsAre("ceiling", "union", "premium", "best_single", "pass_at_1_gap", "positive_fraction",
                                   "conditional_premium", "zero", "effective_pool_size", "oracle_noise_share"));
  EXPECT_THAT(keys(full().at_pointer("/coverage/0").value()),
              testing::ElementsAre("tau", "oracle", "best", "best_policy", "mixture", "mixture_matched", "gap",
                                   "disagreement", "break_even_error", "oracle_minus_mixture", "nulls",
                                   "disagreement_nulls", "split_half", "oracle_minus_mixture_nulls"));
  EXPECT_THAT(keys(full().at_pointer("/coverage/0/nulls/redeal").value()),
              testing::ElementsAre("mean", "p05", "p95", "p_upper", "p_lower", "fraction_upper", "fraction_lower",
                                   "excess", "excess_interval", "samples", "observed", "method"));
}

TEST_F(ReportJson, GivesNumbersInFullPrecision) {
  const auto model = fixture::full_monitor();
  const auto monitor = full();
  EXPECT_EQ(monitor.at_pointer("/oracle/premium/paired").get_double().value(), *model.summary.premium_paired);
  EXPECT_EQ(monitor.at_pointer("/coverage/1/break_even_error").get_double().value(),
            *model.summary.coverage[1].break_even_error);
  EXPECT_EQ(monitor.at_pointer("/policies/5/coverage/0.1").get_double().value(), model.summary.coverage[1].policy[5]);
  EXPECT_EQ(monitor.at_pointer("/oracle/zero/certain").get_int64().value(), 350);
}

TEST_F(ReportJson, SplitsTheGapToThePairedUnionWhereDrawsAlign) {
  const auto gap = full()["gap"];
  EXPECT_EQ(gap["coupling"].get_string().value(), "paired");
  EXPECT_EQ(gap["comparator"].get_string().value(), "qwen2.5-32b");
  // By hand: 0.8732 - 0.7725, 0.8375 - 0.7725, 0.8732 - 0.8375.
  EXPECT_NEAR(gap["total"].get_double().value(), 0.1007, 1e-12);
  EXPECT_NEAR(gap["recoverable"].get_double().value(), 0.065, 1e-12);
  EXPECT_NEAR(gap["noise"].get_double().value(), 0.0357, 1e-12);
  EXPECT_NEAR(gap["noise_share"].get_double().value(), 0.0357 / 0.1007, 1e-12);
  const auto product = parse(report_json(fixture::report())).at_pointer("/monitors/1/gap").value();
  EXPECT_EQ(product["coupling"].get_string().value(), "product");
}

TEST_F(ReportJson, UndefinedIsNullAndNeverLeftOut) {
  const auto monitor = empty();
  for (const char* pointer :
       {"/oracle/ceiling", "/oracle/union/product", "/oracle/union/paired", "/oracle/best_single", "/gap/comparator",
        "/gap/total", "/gap/noise_share", "/gap/noise_share_interval", "/trials/min", "/prior", "/rauc/best",
        "/policies/0/pass_at_1", "/policies/0/interval", "/policies/1/coverage/0.1", "/coverage/0/gap",
        "/coverage/0/best_policy", "/coverage/0/nulls/redeal", "/coverage/0/split_half/matched",
        "/pass_at_1_nulls/margin", "/sequential", "/population_gap", "/slice"}) {
    auto found = monitor.at_pointer(pointer);
    ASSERT_FALSE(found.error()) << pointer;
    EXPECT_TRUE(found.value().is_null()) << pointer;
  }
  EXPECT_EQ(monitor["attribution"].get_array().value().size(), 0u);
  EXPECT_EQ(monitor["name"].get_string().value(), fixture::kHostileName);
}

TEST_F(ReportJson, NotANumberIsNull) {
  auto monitor = fixture::full_monitor();
  monitor.summary.ceiling = std::nan("");
  EXPECT_TRUE(parse(monitor_json(monitor)).at_pointer("/oracle/ceiling").value().is_null());
}

TEST_F(ReportJson, AnEvaluationOfAnotherPoolGivesNoIntervals) {
  auto monitor = fixture::full_monitor();
  monitor.evaluation->pass_at_1_intervals.pop_back();
  EXPECT_TRUE(parse(monitor_json(monitor)).at_pointer("/policies/0/interval").value().is_null());
}

TEST_F(ReportJson, AReportHoldsNoTimeAndALiveMonitorDoes) {
  auto first = fixture::report();
  auto later = first;
  later.monitors[2].evaluated_at += 1000;
  later.monitors[2].evaluation_seconds *= 2;
  EXPECT_EQ(report_json(first), report_json(later));
  const auto live = parse(monitor_json(fixture::full_monitor()));
  EXPECT_EQ(live.at_pointer("/evaluation/at").get_int64().value(), 1'790'000'000'000);
  EXPECT_TRUE(parse(monitor_json(fixture::unevaluated_monitor()))["evaluation"].is_null());
}

TEST_F(ReportJson, IsTheSameBytesInAnyLocale) {
  const auto expected = report_json(fixture::report());
  const OddLocale odd;
  EXPECT_EQ(report_json(fixture::report()), expected);
}

TEST_F(ReportJson, ListsMonitorsWithTheirHeadline) {
  const auto list = parse(monitors_json(fixture::published(), "0.1.0"));
  EXPECT_EQ(list["monitors"].get_array().value().size(), 3u);
  EXPECT_TRUE(list.at_pointer("/monitors/0/headline").value().is_null());
  EXPECT_EQ(list.at_pointer("/monitors/2/headline/tau").get_double().value(), 0.1);
  EXPECT_EQ(list.at_pointer("/monitors/2/headline/oracle_gap").get_double().value(), 0.0725);
  EXPECT_EQ(list.at_pointer("/stream/partitions/0/lag").get_int64().value(), 12);
  EXPECT_TRUE(list.at_pointer("/stream/partitions/1/lag").value().is_null());
  EXPECT_TRUE(list.at_pointer("/stream/config_reload_success").get_bool().value());
}

TEST_F(ReportJson, AnEventIsOneLineWithMonitorAndStream) {
  const auto text = event_json(fixture::published(), fixture::full_monitor());
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_THAT(keys(parse(text)), testing::ElementsAre("at", "stream", "monitor"));
}

TEST_F(ReportJson, ShowsThePromptsThatDriveTheGap) {
  const auto root = parse(prompts_json(fixture::prompts()));
  EXPECT_EQ(root.at_pointer("/prompts/0/cells/1/policy").get_string().value(), fixture::kHostileName);
  EXPECT_EQ(root.at_pointer("/prompts/0/cells/0/interval/1").get_double().value(), 0.875);
  EXPECT_TRUE(root.at_pointer("/prompts/0/slice").value().is_null());
}

}  // namespace
}  // namespace gapwatch::exporters
