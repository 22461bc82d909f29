#include "exporters/report_markdown.h"

#include "exporters/report_document.h"

namespace gapwatch::exporters {
namespace {

// Text that markdown shows as it is, in a paragraph, a list item or a table's cell.
std::string escaped(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const char next = at + 1 < text.size() ? text[at + 1] : ' ';
    if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      if (std::string_view("\\`*_|~$").find(c) != std::string_view::npos) out += '\\';
      if (c == ']' && (next == '(' || next == '[' || next == ':')) out += '\\';
      out += c;
    }
  }
  return out;
}

void render(std::string& out, const Heading& heading) {
  out += std::string(static_cast<std::size_t>(heading.level), '#') + ' ' + escaped(heading.text) + "\n\n";
}

void render(std::string& out, const Paragraph& paragraph) { out += escaped(paragraph.text) + "\n\n"; }

void render(std::string& out, const Facts& facts) {
  for (const auto& [name, value] : facts.items) out += "- **" + escaped(name) + "**: " + escaped(value) + '\n';
  out += '\n';
}

void render(std::string& out, const Table& table) {
  const auto line = [&](const std::vector<std::string>& row) {
    out += '|';
    for (const auto& cell : row) out += ' ' + escaped(cell) + " |";
    out += '\n';
  };
  line(table.header);
  out += '|';
  for (std::size_t c = 0; c < table.header.size(); ++c) {
    out += c < table.left || table.header[c] == "if it fails" ? " --- |" : " ---: |";
  }
  out += '\n';
  for (const auto& row : table.rows) line(row);
  out += '\n';
}

}  // namespace

std::string report_markdown(const Report& report, Extent extent) {
  std::string out;
  for (const auto& block : report_document(report, extent)) {
    std::visit([&](const auto& part) { render(out, part); }, block);
  }
  out.pop_back();
  return out;
}

}  // namespace gapwatch::exporters
