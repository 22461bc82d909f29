// What an alarm looks like in every output.
#include <simdjson.h>

#include <cmath>
#include <numbers>

#include "exporters/api_json.h"
#include "exporters/evidence_json.h"
#include "exporters/prometheus.h"
#include "exporters/report_document.h"
#include "exporters/report_json.h"
#include "exporters/report_text.h"
#include "tests/exporters/fixture.h"

namespace gapwatch::exporters {
namespace {

using testing::HasSubstr;
using testing::Not;

state::NullMoment moment(double log10_e, double log10_peak, bool reached) {
  state::NullMoment null;
  null.log_e = log10_e * std::numbers::ln10;
  null.log_peak = log10_peak * std::numbers::ln10;
  null.p_anytime = std::pow(10, -log10_peak);
  null.wealth = null.log_e + 1;
  null.reached = reached;
  null.reached_at = reached ? 1'790'000'000'250 : 0;
  null.closed = 120;
  return null;
}

MonitorReport alarmed_monitor() {
  auto monitor = fixture::full_monitor();
  monitor.state = "evidence";
  monitor.evidence.emplace();
  auto& evidence = *monitor.evidence;
  evidence.redeal = moment(5.5, 6, true);
  evidence.margin = moment(2.25, 3, true);
  evidence.counts.responses = 4'000;
  evidence.counts.without_propensity = 3'900;
  evidence.counts.late = 2;
  evidence.counts.late_amendments = 3;
  evidence.stay_z = 0.5;
  evidence.state = state::AlarmState::kEvidence;
  evidence.changes = {{1'790'000'000'500, state::AlarmState::kQuiet, state::AlarmState::kEvidence, 5.5 * std::numbers::ln10,
                       2.25 * std::numbers::ln10, 3 * std::numbers::ln10, 480}};
  state::PolicyEvidenceShare share;
  share.policy = fixture::kHostileName;
  share.nats = std::numbers::ln10;
  for (int i = 0; i < 7; ++i) share.better.push_back({"p" + std::to_string(i), 7.0 - i, 1.5, 2.5, 8, 7});
  share.worse = {{"q", 1, -1.5, 2.5, 8, 1}};
  monitor.attribution = {share};
  monitor.population_gap = stats::PopulationGap{0.1, 0.0625, stats::Interval{0.03125, 0.09375}, 480, 20};
  return monitor;
}

class EvidenceOutputs : public testing::Test {
 protected:
  simdjson::dom::element parse(const std::string& text) {
    text_ = simdjson::padded_string(text);
    return parser_.parse(text_).value();
  }
  simdjson::dom::parser parser_;
  simdjson::padded_string text_;
};

TEST_F(EvidenceOutputs, TheReportHasNumbersAttributionAndThePopulationGap) {
  Report report;
  report.monitors = {alarmed_monitor()};
  const auto monitor = parse(report_json(report)).at_pointer("/monitors/0").value();
  const auto margin = monitor.at_pointer("/sequential/margin").value();
  EXPECT_NEAR(margin["log10_e"].get_double().value(), 2.25, 1e-12);
  EXPECT_NEAR(margin["p_anytime"].get_double().value(), 0.001, 1e-12);
  EXPECT_TRUE(margin["alarm"].get_bool().value());
  EXPECT_TRUE(margin["guaranteed"].get_bool().value());
  EXPECT_EQ(margin["since"].get_int64().value(), 1'790'000'000'250);
  EXPECT_EQ(monitor.at_pointer("/sequential/responses/with_propensities").get_int64().value(), 100);
  EXPECT_EQ(monitor.at_pointer("/population_gap/method").get_string().value(), "approximate");
  EXPECT_EQ(monitor.at_pointer("/population_gap/interval/0").get_double().value(), 0.03125);
  EXPECT_EQ(monitor.at_pointer("/attribution/0/policy").get_string().value(), fixture::kHostileName);
  EXPECT_EQ(monitor.at_pointer("/attribution/0/prompts").get_array().value().size(), 7u);
  EXPECT_NEAR(monitor.at_pointer("/attribution/0/prompts/0/log10_e").get_double().value(), 7 / std::numbers::ln10, 1e-12);
  EXPECT_EQ(monitor.at_pointer("/attribution/0/prompts/0/counts/successes").get_int64().value(), 7);
  EXPECT_EQ(monitor["state"].get_string().value(), "evidence");
  EXPECT_TRUE(monitor["transitions"].error()) << "a report of files holds no clock time";
}

TEST_F(EvidenceOutputs, ALiveMonitorHasItsTransitions) {
  const auto monitor = parse(monitor_json(alarmed_monitor()));
  EXPECT_EQ(monitor.at_pointer("/transitions/0/to").get_string().value(), "evidence");
  EXPECT_EQ(monitor.at_pointer("/transitions/0/complete").get_int64().value(), 480);
  EXPECT_NEAR(monitor.at_pointer("/transitions/0/log10_e/margin").get_double().value(), 2.25, 1e-12);
}

TEST_F(EvidenceOutputs, TrafficThatLooksAtOutcomesEndsTheGuarantee) {
  auto monitor = alarmed_monitor();
  monitor.evidence->stay_z = 9.0;
  auto found = parse(monitor_json(monitor));
  EXPECT_FALSE(found.at_pointer("/sequential/margin/guaranteed").get_bool().value());
  EXPECT_FALSE(found.at_pointer("/sequential/redeal/guaranteed").get_bool().value());
  EXPECT_THAT(verdict(monitor)[2], HasSubstr("not guaranteed"));
  monitor.evidence->counts.without_propensity = 0;
  found = parse(monitor_json(monitor));
  EXPECT_FALSE(found.at_pointer("/sequential/margin/guaranteed").get_bool().value());
  EXPECT_TRUE(found.at_pointer("/sequential/redeal/guaranteed").get_bool().value()) << "every response was bet on alone";
}

TEST_F(EvidenceOutputs, MarginIsNullWhereItIsNotBetOn) {
  auto monitor = alarmed_monitor();
  monitor.evidence->margin_on = false;
  EXPECT_TRUE(parse(monitor_json(monitor)).at_pointer("/sequential/margin").value().is_null());
  EXPECT_EQ(evidence_sentence(monitor), "");
}

TEST_F(EvidenceOutputs, MetricsSayEvidenceAlarmAndPopulationGap) {
  auto published = std::make_shared<Published>();
  published->monitors = {std::make_shared<const MonitorReport>(alarmed_monitor())};
  auto text = metrics_text(SnapshotCollectable(published, {}));
  EXPECT_THAT(text, HasSubstr("gapwatch_evidence_log10{monitor=\"math500\",null=\"margin\"} 2.25"));
  EXPECT_THAT(text, HasSubstr("gapwatch_alarm{monitor=\"math500\",null=\"margin\"} 1"));
  EXPECT_THAT(text, HasSubstr("gapwatch_alarm{monitor=\"math500\",null=\"redeal\"} 1"));
  EXPECT_THAT(text, HasSubstr("gapwatch_population_gap_ratio{monitor=\"math500\"} 0.0625"));
  EXPECT_THAT(text, HasSubstr("gapwatch_monitor_state{monitor=\"math500\",state=\"evidence\"} 1"));
  published->monitors = {std::make_shared<const MonitorReport>(fixture::empty_monitor())};
  text = metrics_text(SnapshotCollectable(published, {}));
  EXPECT_THAT(text, Not(HasSubstr("gapwatch_evidence_log10")));
}

TEST_F(EvidenceOutputs, TheTextNamesTheAlarmAndEscapesNames) {
  Report report;
  report.monitors = {alarmed_monitor()};
  const auto text = report_text(report);
  EXPECT_THAT(text, HasSubstr("The alarm stands"));
  EXPECT_THAT(text, HasSubstr("10^2.25"));
  EXPECT_THAT(text, HasSubstr("p0 (7/8), p1 (7/8)"));
  EXPECT_THAT(text, HasSubstr("would be about 0.0625"));
}

TEST_F(EvidenceOutputs, WhatIsPostedNamesTheAlarmAndItsSize) {
  const auto posted = parse(alarm_json(alarmed_monitor(), "math500/1"));
  EXPECT_EQ(posted["schema"].get_string().value(), "gapwatch.alarm/1");
  EXPECT_EQ(posted["id"].get_string().value(), "math500/1");
  EXPECT_EQ(posted["at"].get_int64().value(), 1'790'000'000'500);
  EXPECT_EQ(posted.at_pointer("/headline/nulls/margin/excess_interval").get_array().value().size(), 2u);
  EXPECT_EQ(posted.at_pointer("/population_gap/estimate").get_double().value(), 0.0625);
  EXPECT_EQ(posted.at_pointer("/attribution/0/prompts").get_array().value().size(), 5u);
}

}  // namespace
}  // namespace gapwatch::exporters
