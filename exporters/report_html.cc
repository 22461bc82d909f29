#include "exporters/report_html.h"

#include "exporters/report_document.h"
#include "exporters/report_figures.h"

namespace gapwatch::exporters {
namespace {

constexpr std::string_view kHead = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="color-scheme" content="light">
<title>gapwatch report</title>
<style>
body { margin: 0 auto; max-width: 60rem; padding: 1.5rem 1.2rem 3rem; color: #172030; background: #fff; font: 16px/1.55 system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.7rem; letter-spacing: -.01em; }
h2 { font-size: 1.35rem; margin: 2.6rem 0 .6rem; padding-top: 1rem; border-top: 3px solid #1d4ed8; overflow-wrap: anywhere; }
h3 { font-size: 1.05rem; margin: 1.8rem 0 .4rem; }
p { max-width: 46rem; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .25rem 1.2rem; margin: .8rem 0; font-size: .93rem; }
dt { color: #556173; } dd { margin: 0; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums; margin: .6rem 0; }
th { font-weight: 600; color: #556173; border-bottom: 1.5px solid #172030; padding: .2rem .7rem .2rem 0; text-align: right; vertical-align: bottom; }
td { border-bottom: 1px solid #e2e6ec; padding: .22rem .7rem .22rem 0; text-align: right; }
.word { text-align: left; }
figure { margin: 1.2rem 0; break-inside: avoid; } figcaption { color: #556173; font-size: .87rem; max-width: 46rem; }
svg { max-width: 100%; height: auto; display: block; }
svg text { font: 12px system-ui, "DejaVu Sans", sans-serif; fill: #556173; } svg .strong { fill: #172030; font-weight: 600; }
@media (max-width: 40rem) { dl { grid-template-columns: minmax(0, 1fr); } dd { margin-bottom: .4rem; } }
@media print { body { padding: 0; font-size: 11pt; } tr, h2, h3 { break-inside: avoid; break-after: avoid-page; } .scroll { overflow: visible; } }
</style>
</head>
<body>
)";

std::string element(std::string_view tag, std::string_view text, std::string_view attributes = "") {
  return "<" + std::string(tag) + std::string(attributes) + ">" + html_escaped(text) + "</" + std::string(tag) + ">";
}

std::string render(const Heading& heading) { return element("h" + std::to_string(heading.level), heading.text) + "\n"; }

std::string render(const Paragraph& paragraph) { return element("p", paragraph.text) + "\n"; }

std::string render(const Facts& facts) {
  std::string out = "<dl>\n";
  for (const auto& [name, value] : facts.items) out += element("dt", name) + element("dd", value) + "\n";
  return out + "</dl>\n";
}

std::string render(const Table& table) {
  const auto kind = [&](std::size_t column) {
    return column < table.left || table.header[column] == "if it fails" ? " class=\"word\"" : "";
  };
  std::string out = "<div class=\"scroll\"><table>\n<thead><tr>";
  for (std::size_t c = 0; c < table.header.size(); ++c) {
    out += element("th", table.header[c], std::string(kind(c)) + " scope=\"col\"");
  }
  out += "</tr></thead>\n<tbody>\n";
  for (const auto& row : table.rows) {
    out += "<tr>";
    for (std::size_t c = 0; c < row.size(); ++c) out += element("td", row[c], kind(c));
    out += "</tr>\n";
  }
  return out + "</tbody>\n</table></div>\n";
}

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string report_html(const Report& report) {
  std::string out(kHead);
  std::size_t monitors = 0;  // begun so far
  bool figures_due = false;
  for (const auto& block : report_document(report)) {
    const auto* heading = std::get_if<Heading>(&block);
    if (heading != nullptr && figures_due) {
      out += report_figures(report.monitors[monitors - 1]);
      figures_due = false;
    }
    if (heading != nullptr && heading->level == 2 && monitors < report.monitors.size()) {
      ++monitors;
      figures_due = true;
    }
    out += std::visit([](const auto& part) { return render(part); }, block);
  }
  if (figures_due) out += report_figures(report.monitors[monitors - 1]);
  return out + "</body>\n</html>\n";
}

}  // namespace gapwatch::exporters
