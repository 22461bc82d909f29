// The text and markdown reports: what they must say, and that they say it whole and safely.
#include "exporters/report_document.h"
#include "exporters/report_markdown.h"
#include "exporters/report_text.h"
#include "tests/exporters/fixture.h"
#include "tests/exporters/odd_locale.h"

namespace gapwatch::exporters {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string joined(const MonitorReport& monitor) {
  std::string out;
  for (const auto& sentence : verdict(monitor)) out += sentence + '\n';
  return out;
}

// A monitor whose oracle gap at the headline threshold has these two upper p-values.
MonitorReport with_p(double redeal, double margin) {
  auto monitor = fixture::full_monitor();
  auto& gap = monitor.evaluation->thresholds[1].gap;
  gap.redeal->p_upper = redeal;
  gap.margin->p_upper = margin;
  return monitor;
}

TEST(Verdict, NamesGapBothNullsAndTheirLimit) {
  const auto text = joined(fixture::full_monitor());
  EXPECT_THAT(text, HasSubstr("At tau = 0.1 the oracle gap is 0.0725 over 500 complete prompts (scorer lexical)."));
  EXPECT_THAT(text, HasSubstr("0.0640 (0.0500 to 0.0780, 5-95%)"));
  EXPECT_THAT(text, HasSubstr("0.0300 (0.0200 to 0.0420, 5-95%)"));
  EXPECT_THAT(text, HasSubstr("fixed-sample p-values, not for repeated looks"));
  EXPECT_THAT(text, HasSubstr("best single policy (qwen2.5-32b) to the paired union"));
  EXPECT_THAT(text, HasSubstr("a noise share of 35.5%, interval [0.3125, 0.4062]"));
}

TEST(Verdict, DependsOnWhichNullsAreExceeded) {
  EXPECT_THAT(joined(with_p(0.001, 0.001)), HasSubstr("larger than either explains"));
  EXPECT_THAT(joined(with_p(0.9, 0.001)), HasSubstr("read the margin-preserving null"));
  EXPECT_THAT(joined(with_p(0.001, 0.9)), HasSubstr("enough to explain it"));
  EXPECT_THAT(joined(with_p(0.9, 0.9)), HasSubstr("absence of evidence"));
  auto one = with_p(0.001, 0.001);
  one.evaluation->thresholds[1].gap.margin.reset();
  EXPECT_THAT(joined(one), HasSubstr("Both nulls are needed"));
}

TEST(Verdict, SaysWhenDrawsHaveOvertakenTheNulls) {
  auto monitor = fixture::full_monitor();
  EXPECT_THAT(joined(monitor), Not(HasSubstr("moved on")));
  monitor.summary.coverage[1].gap = 0.08;
  EXPECT_THAT(joined(monitor), HasSubstr("moved on since the nulls were last compared, when it was 0.0725"));
  EXPECT_THAT(joined(monitor), HasSubstr("interval at the last comparison [0.3125, 0.4062]"));
}

TEST(Verdict, SaysWhatIsUndefined) {
  EXPECT_THAT(joined(fixture::empty_monitor()), HasSubstr("Nothing can be said yet"));
  const auto early = joined(fixture::unevaluated_monitor());
  EXPECT_THAT(early, HasSubstr("so it may be noise"));
  EXPECT_THAT(early, HasSubstr("identifiable: false"));
  auto even = fixture::full_monitor();
  even.summary.union_paired = even.summary.pass_at_1[7];
  EXPECT_THAT(joined(even), HasSubstr("not positive: it has no noise share"));
}

TEST(Documents, BothNameTheWholeProtocol) {
  for (const auto& text : {report_text(fixture::report()), report_markdown(fixture::report())}) {
    for (const char* part :
         {"0.1.0", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "lexical", "11 policies",
          "paired (draws with the same index", "best single policy: qwen2.5-32b", "2000 samples", "seed",
          "fitted, Beta(0.4062, 0.2812)", "350 with a policy that never fails", "identifiable: false",
          "p-values are fixed-sample", "exact", "12 unscored", "0.8884"}) {
      EXPECT_THAT(text, HasSubstr(part));
    }
  }
}

TEST(Documents, NamesStayOnTheirLine) {
  const auto text = report_text(fixture::report());
  EXPECT_THAT(text, Not(HasSubstr("\xE2\x80\xAE"))) << "a name may not turn the text around";
  EXPECT_THAT(text, HasSubstr("\\u{a}\\u{202e}"));
  auto report = fixture::report();
  report.monitors[2].pool[0] = "\x1B[31mred\xC2\x9B|x";
  EXPECT_THAT(report_text(report), HasSubstr("\\u{1b}[31mred\\u{9b}|x"));
  const auto markdown = report_markdown(report);
  EXPECT_THAT(markdown, HasSubstr("\\\\u{1b}[31mred\\\\u{9b}\\|x"));
  EXPECT_THAT(markdown, HasSubstr("&lt;img src=x"));
  EXPECT_THAT(markdown, Not(HasSubstr("<img")));
}

TEST(Documents, ANameIsNoMarkdownLink) {
  auto report = fixture::report();
  report.monitors[2].pool[0] = "[a](http://b) *c* `d`";
  EXPECT_THAT(report_markdown(report), HasSubstr("[a\\](http://b) \\*c\\* \\`d\\`"));
}

TEST(Documents, TextTablesAreAligned) {
  const auto text = report_text(fixture::report());
  const auto at = text.find("  policy ");
  ASSERT_NE(at, std::string::npos);
  std::vector<std::size_t> lengths;
  auto rest = std::string_view(text).substr(at);
  for (int line = 0; line < 3; ++line) {
    lengths.push_back(rest.find('\n'));
    rest.remove_prefix(rest.find('\n') + 1);
  }
  EXPECT_EQ(lengths[0], lengths[1]);
  EXPECT_EQ(lengths[1], lengths[2]);
}

TEST(Documents, MarkdownTablesHaveAsManyCellsAsTheirHeader) {
  const auto text = report_markdown(fixture::report());
  std::size_t width = 0;
  int tables = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = text.find('\n', begin);
    const auto line = text.substr(begin, end - begin);
    begin = end + 1;
    if (!line.starts_with('|')) {
      width = 0;
      continue;
    }
    std::size_t bars = 0;
    for (std::size_t i = 0; i < line.size(); ++i) bars += line[i] == '|' && (i == 0 || line[i - 1] != '\\');
    if (width == 0) ++tables;
    EXPECT_EQ(bars, width == 0 ? bars : width) << line;
    width = bars;
  }
  EXPECT_GE(tables, 6);
}

TEST(Documents, AreTheSameInAnyLocale) {
  const auto text = report_text(fixture::report());
  const auto markdown = report_markdown(fixture::report());
  const OddLocale odd;
  EXPECT_EQ(report_text(fixture::report()), text);
  EXPECT_EQ(report_markdown(fixture::report()), markdown);
}

TEST(Documents, AnEmptyReportSaysSo) {
  Report report;
  report.version = "0.1.0";
  EXPECT_THAT(report_text(report), HasSubstr("No monitor: no event was counted."));
}

}  // namespace
}  // namespace gapwatch::exporters
