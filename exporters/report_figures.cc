#include "exporters/report_figures.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "exporters/json_writer.h"
#include "exporters/report_document.h"
#include "exporters/report_facts.h"
#include "exporters/report_html.h"
#include "exporters/report_numbers.h"

namespace gapwatch::exporters {
namespace {

constexpr double kWidth = 720;

// Blue, orange and teal differ for every kind of colour vision, and in lightness.
constexpr const char* kObserved = "#1d4ed8";
constexpr const char* kNoise = "#e5a83b";
constexpr const char* kInk = "#172030";

struct Scale {
  double from = 0, to = 1, start = 0, end = 1;
  double operator()(double value) const { return start + (value - from) / (to > from ? to - from : 1) * (end - start); }
};

std::string line(double x1, double y1, double x2, double y2, const char* color, double width = 1) {
  return fmt::format(R"(<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" stroke="{}" stroke-width="{}"/>)", x1, y1, x2, y2, color, width);
}

std::string box(double x, double y, double width, double height, const char* color, double opacity = 1) {
  return fmt::format(R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" fill="{}" fill-opacity="{}"/>)", x, y,
                     std::max(0.0, width), std::max(1.0, height), color, opacity);
}

std::string label(double x, double y, std::string_view text, const char* anchor = "middle", bool strong = false) {
  return fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="{}"{}>{}</text>)", x, y, anchor,
                     strong ? " class=\"strong\"" : "", html_escaped(text));
}

std::string figure(double height, std::string_view name, const std::string& drawing, std::string_view caption) {
  return fmt::format("<figure>\n<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\" aria-label=\"{2}\">\n{3}\n</svg>\n"
                     "<figcaption>{4}</figcaption>\n</figure>\n",
                     kWidth, height, html_escaped(name), drawing, html_escaped(caption));
}

// The band and the mean of one null at one threshold.
std::string band(const std::optional<stats::NullComparison>& null, double x, const Scale& y, const char* color) {
  constexpr double kWide = 40;
  if (!null) return "";
  return box(x, y(null->p95), kWide, y(null->p05) - y(null->p95), color, 0.25) + line(x, y(null->mean), x + kWide, y(null->mean), color, 2.5);
}

double highest_of(const MonitorReport& monitor) {
  double highest = 0.01;
  for (const auto& coverage : monitor.summary.coverage) {
    highest = std::max(highest, coverage.gap);
    const auto* nulls = nulls_at(monitor, coverage.tau);
    if (nulls == nullptr) continue;
    for (const auto* null : {&nulls->gap.redeal, &nulls->gap.margin}) {
      if (*null) highest = std::max(highest, (*null)->p95);
    }
  }
  return highest;
}

std::string gap_figure(const MonitorReport& monitor) {
  constexpr double kHeight = 280, kLeft = 50, kBottom = 40, kTop = 16;
  const Scale y{0, 1.08 * highest_of(monitor), kHeight - kBottom, kTop};
  const auto& coverage = monitor.summary.coverage;
  const double slot = (kWidth - kLeft) / static_cast<double>(coverage.size());
  std::string out;
  for (int step = 0; step <= 4; ++step) {
    const double value = y.to * step / 4;
    out += line(kLeft, y(value), kWidth, y(value), "#e2e6ec") + label(kLeft - 6, y(value) + 4, fmt::format("{:.3f}", value), "end");
  }
  for (std::size_t t = 0; t < coverage.size(); ++t) {
    const double center = kLeft + slot * (static_cast<double>(t) + 0.5);
    if (const auto* nulls = nulls_at(monitor, coverage[t].tau)) {
      out += band(nulls->gap.redeal, center - 44, y, "#b45309") + band(nulls->gap.margin, center + 4, y, "#0f766e");
    }
    const double at = y(coverage[t].gap);
    out += fmt::format(R"(<path d="M{:.1f} {:.1f}l7 8l-7 8l-7 -8z" fill="{}"/>)", center, at - 8, kObserved);
    out += label(center + 12, at - 6, number_text(coverage[t].gap), "start", true);
    out += label(center, kHeight - 16, "tau = " + shortest(coverage[t].tau));
  }
  return figure(kHeight, "Oracle gap by threshold against both nulls", out,
                fmt::format("Oracle gap L (blue) by threshold tau, with the 5-95% band and mean of the re-deal null (orange, left) and of the "
                            "margin-preserving null (teal, right). A gap inside a band is what noise alone makes. Scorer {}, window {}, n = {} complete prompts.",
                            printable_name(monitor.scorer), printable_name(monitor.window), monitor.summary.complete));
}

std::string split_figure(const MonitorReport& monitor) {
  const auto gap = best_single_gap(monitor, headline_coupling(monitor.summary));
  if (!gap.total || *gap.total <= 0) return "";
  constexpr double kHeight = 130, kBar = 58, kThick = 34;
  const auto& summary = monitor.summary;
  const double from = summary.pass_at_1[summary.best_single], top = from + *gap.total;
  const Scale x{from, std::max(summary.frechet_upper, top), 8, kWidth - 12};
  std::string out = box(x(from), kBar, x(summary.ceiling) - x(from), kThick, kObserved) +
                    box(x(summary.ceiling), kBar, x(top) - x(summary.ceiling), kThick, kNoise);
  out += label(x(from), 14, "best single " + number_text(from), "start", true);
  out += label(x(summary.ceiling), 32, "ceiling " + number_text(summary.ceiling), x(summary.ceiling) > kWidth / 2 ? "end" : "start", true);
  out += label(x(top), 50, gap.coupling + " union " + number_text(top), "end", true);
  const double low = x(summary.ceiling), high = x(summary.frechet_upper), under = kBar + kThick + 12;
  out += line(low, under, high, under, kInk, 1.6) + line(low, under - 5, low, under + 5, kInk, 1.6) + line(high, under - 5, high, under + 5, kInk, 1.6);
  return figure(kHeight, "The gap from the best single policy to the union", out,
                fmt::format("From the best single policy ({}) through the ceiling to the {} union: recoverable {} (blue), luck of single draws {} (amber). "
                            "The bracket is what the rates alone allow for the union. The axis begins at the comparator.",
                            printable_name(gap.comparator), gap.coupling, number_text(gap.recoverable), number_text(gap.noise)));
}

}  // namespace

std::string report_figures(const MonitorReport& monitor) {
  if (!is_measured(monitor) || monitor.summary.coverage.empty()) return "";
  return gap_figure(monitor) + split_figure(monitor);
}

}  // namespace gapwatch::exporters
