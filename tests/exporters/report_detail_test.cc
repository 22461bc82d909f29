// Comparators, scorers side by side, and the longer report.
#include "exporters/comparators.h"
#include "exporters/report_markdown.h"
#include "exporters/report_text.h"
#include "exporters/scorer_spans.h"
#include "tests/exporters/fixture.h"

namespace gapwatch::exporters {
namespace {

using testing::HasSubstr;
using testing::Not;

MonitorReport named(std::string name, std::optional<std::string> slice) {
  auto monitor = fixture::full_monitor();
  monitor.name = std::move(name);
  monitor.slice = std::move(slice);
  return monitor;
}

TEST(Comparators, AreAllPoliciesAndRoutersUnderEachCoupling) {
  const auto monitor = fixture::full_monitor();
  const auto all = comparators(monitor);
  ASSERT_EQ(all.size(), 2 * 11u + 2u) << "11 policies and one router, paired and product";
  for (const auto& one : all) {
    ASSERT_TRUE(one.split.total && one.pass_at_1);
    EXPECT_NEAR(*one.split.total, *one.split.recoverable + *one.split.noise, 1e-12);
    EXPECT_EQ(one.best_single, one.split.comparator == "qwen2.5-32b");
    EXPECT_EQ(one.same_data, one.best_single) << "only the best one was chosen";
  }
  // By hand: phi-4 has 0.7265, the paired union 0.8732.
  EXPECT_EQ(all[5].split.comparator, "phi-4");
  EXPECT_NEAR(*all[5].split.total, 0.8732 - 0.7265, 1e-12);
  EXPECT_TRUE(comparators(fixture::empty_monitor()).empty());
}

TEST(Comparators, TheBestOfAnotherMonitorIsOtherDataWhereSlicesDiffer) {
  std::vector<MonitorReport> monitors{named("whole", std::nullopt), named("a", "a"), named("b", "b")};
  monitors[2].summary.best_single = 5;
  auto other = named("other", "a");
  other.scorer = "model";
  monitors.push_back(other);
  cross_comparators(monitors);
  ASSERT_EQ(monitors[1].chosen_elsewhere.size(), 2u) << "not of another scorer";
  EXPECT_EQ(monitors[1].chosen_elsewhere[0].monitor, "whole");
  EXPECT_FALSE(monitors[1].chosen_elsewhere[0].other_data) << "the whole holds the slice";
  EXPECT_EQ(monitors[1].chosen_elsewhere[1].policy, "phi-4");
  EXPECT_TRUE(monitors[1].chosen_elsewhere[1].other_data);
  EXPECT_EQ(monitors[1].chosen_elsewhere[1].pass_at_1, 0.7265);
  EXPECT_TRUE(monitors[3].chosen_elsewhere.empty());
}

TEST(Scorers, SpanIsLargestLessSmallest) {
  auto strict = named("strict", std::nullopt), loose = named("loose", std::nullopt), third = named("third", std::nullopt);
  strict.scorer = "strict";
  strict.summary.ceiling = 0.75;
  loose.scorer = "exact";
  loose.summary.ceiling = 0.875;
  third.scorer = "human";
  third.summary.union_paired.reset();
  const auto found = scorer_comparisons({loose, strict, third, named("sliced", "a"), fixture::empty_monitor()});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].scorers, (std::vector<std::string>{"exact", "human", "strict"})) << "by name";
  EXPECT_TRUE(found[0].same_count);
  for (const auto& span : found[0].spans) {
    if (span.statistic == "ceiling") {
      EXPECT_EQ(span.values, (std::vector<stats::Number>{0.875, 0.8375, 0.75}));
      EXPECT_EQ(span.span, 0.125);
    }
    if (span.statistic == "union_paired") {
      EXPECT_FALSE(span.values[1]) << "undefined stays so, and out of the span";
      EXPECT_EQ(span.span, 0);
    }
  }
  EXPECT_TRUE(scorer_comparisons({loose}).empty());
}

TEST(Scorers, ADifferentPoolOrWindowIsNotCompared) {
  auto a = named("a", std::nullopt), b = named("b", std::nullopt), c = named("c", std::nullopt);
  b.scorer = "model";
  b.pool.pop_back();
  b.summary.pass_at_1.pop_back();
  c.scorer = "human";
  c.window = "last_draws: 16";
  EXPECT_TRUE(scorer_comparisons({a, b, c}).empty());
}

TEST(Detail, AddsSectionsAndLeavesTheShortReportAsItIs) {
  auto report = fixture::report();
  report.monitors[2].evaluation->family = {{"gap", "redeal", 0.1, 0.04, 0.08}};
  report.monitors[2].evaluation->best_of_r = {{2, 0.9, 0.8, 0.1, 0.125, 0.125}};
  const auto text = report_text(report), whole = report_text(report, Extent::kFull);
  for (const char* heading : {"Every comparator", "Tests read together", "Best of r draws", "Routing identity"}) {
    EXPECT_THAT(whole, HasSubstr(heading));
    EXPECT_THAT(text, Not(HasSubstr(heading)));
    EXPECT_THAT(report_markdown(report, Extent::kFull), HasSubstr(heading));
  }
}

TEST(Detail, NamesStayOnTheirLine) {
  auto report = fixture::report();
  auto& monitor = report.monitors[2];
  monitor.pool[0] = fixture::kHostileName;
  monitor.drivers = fixture::prompts();
  monitor.evaluation->leave_one_group_out = {{fixture::kHostileName, {"a"}, 0.5, 0.4, 0.1, 0.2}};
  EXPECT_THAT(report_text(report, Extent::kFull), Not(HasSubstr("\xE2\x80\xAE")));
  EXPECT_THAT(report_markdown(report, Extent::kFull), Not(HasSubstr("<img")));
}

TEST(Detail, SaysWhatTheSpanIs) {
  auto report = fixture::report();
  report.monitors.push_back(fixture::full_monitor());
  report.monitors.back().scorer = "model";
  EXPECT_THAT(report_text(report), HasSubstr("sensitivity, not error"));
  EXPECT_THAT(report_text(fixture::report()), Not(HasSubstr("side by side")));
}

}  // namespace
}  // namespace gapwatch::exporters
