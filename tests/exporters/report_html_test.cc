// The HTML report: whole, self-contained, safe with hostile names, the same in any locale.
#include "exporters/report_html.h"

#include <regex>

#include "exporters/report_document.h"
#include "exporters/report_figures.h"
#include "tests/exporters/fixture.h"
#include "tests/exporters/odd_locale.h"

namespace gapwatch::exporters {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(ReportHtml, SaysEverythingTheDocumentSays) {
  const auto html = report_html(fixture::report());
  for (const auto& block : report_document(fixture::report())) {
    if (const auto* paragraph = std::get_if<Paragraph>(&block)) {
      EXPECT_THAT(html, HasSubstr("<p>" + html_escaped(paragraph->text) + "</p>"));
    } else if (const auto* heading = std::get_if<Heading>(&block)) {
      EXPECT_THAT(html, HasSubstr(">" + html_escaped(heading->text) + "</h"));
    } else if (const auto* facts = std::get_if<Facts>(&block)) {
      for (const auto& [name, value] : facts->items) {
        EXPECT_THAT(html, HasSubstr("<dt>" + html_escaped(name) + "</dt><dd>" + html_escaped(value) + "</dd>"));
      }
    } else {
      for (const auto& row : std::get<Table>(block).rows) {
        for (const auto& cell : row) EXPECT_THAT(html, HasSubstr(">" + html_escaped(cell) + "</td>"));
      }
    }
  }
}

TEST(ReportHtml, NeedsNothingElse) {
  const auto html = report_html(fixture::report());
  EXPECT_FALSE(std::regex_search(html, std::regex("<script|<link|<img|<iframe|<[^>]*\\ssrc=|<[^>]*href=|url\\(|https?:|@import")));
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  EXPECT_TRUE(html.starts_with("<!doctype html>"));
  EXPECT_TRUE(html.ends_with("</html>\n"));
}

TEST(ReportHtml, EveryElementThatBeginsEnds) {
  const auto html = report_html(fixture::report());
  const std::regex tag(R"(<(/?)([a-z0-9]+)([^>]*)>)");
  std::vector<std::string> open;
  for (std::sregex_iterator at(html.begin(), html.end(), tag), end; at != end; ++at) {
    const auto name = (*at)[2].str();
    if (name == "meta" || (*at)[3].str().ends_with('/')) continue;
    if ((*at)[1].length() == 0) {
      open.push_back(name);
    } else {
      ASSERT_FALSE(open.empty()) << name;
      ASSERT_EQ(open.back(), name);
      open.pop_back();
    }
  }
  EXPECT_TRUE(open.empty());
}

TEST(ReportHtml, HostileNamesStayText) {
  const auto html = report_html(fixture::report());
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  EXPECT_THAT(html, HasSubstr("&lt;img src=x onerror=alert(1)&gt;"));
  EXPECT_EQ(html_escaped("<&>\"'"), "&lt;&amp;&gt;&quot;&#39;");
}

TEST(ReportHtml, DrawsTheGapsAndTheSplit) {
  const auto figures = report_figures(fixture::full_monitor());
  EXPECT_THAT(figures, HasSubstr(">0.0725</text>"));
  EXPECT_THAT(figures, HasSubstr("tau = 0.05"));
  EXPECT_THAT(figures, HasSubstr("best single 0.7725"));
  EXPECT_THAT(figures, HasSubstr("paired union 0.8732"));
  EXPECT_THAT(figures, HasSubstr("Scorer lexical, window all, n = 500 complete prompts."));
  EXPECT_EQ(report_figures(fixture::empty_monitor()), "");
  EXPECT_THAT(report_figures(fixture::unevaluated_monitor()), HasSubstr(">0.0725</text>")) << "without bands";
}

TEST(ReportHtml, DoesNotDependOnTheLocale) {
  const auto plain = report_html(fixture::report());
  const OddLocale odd;
  EXPECT_EQ(report_html(fixture::report()), plain);
}

}  // namespace
}  // namespace gapwatch::exporters
