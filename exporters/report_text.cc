#include "exporters/report_text.h"

#include "exporters/report_document.h"

namespace gapwatch::exporters {
namespace {

constexpr std::size_t kWidth = 100;

// Columns a terminal uses, taking every code point for one.
std::size_t columns(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return count;
}

// `text` broken at spaces. The first line begins at column `indent`, where the others are put.
std::string wrap(std::string_view text, std::size_t indent) {
  std::string out;
  std::size_t used = indent;
  bool line_begins = true;
  while (!text.empty()) {
    const auto end = std::min(text.find(' '), text.size());
    const auto word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line_begins && used + 1 + columns(word) > kWidth) {
      out += '\n' + std::string(indent, ' ');
      used = indent;
      line_begins = true;
    }
    if (!line_begins) out += ' ';
    out += word;
    used += columns(word) + (line_begins ? 0 : 1);
    line_begins = false;
  }
  return out;
}

void render(std::string& out, const Heading& heading) {
  constexpr char kUnderline[] = {'=', '=', '-'};
  out += '\n' + heading.text + '\n';
  if (heading.level <= 2) out += std::string(columns(heading.text), kUnderline[heading.level]) + '\n';
}

void render(std::string& out, const Paragraph& paragraph) { out += wrap(paragraph.text, 0) + '\n'; }

void render(std::string& out, const Facts& facts) {
  std::size_t width = 0;
  for (const auto& [name, value] : facts.items) width = std::max(width, columns(name));
  for (const auto& [name, value] : facts.items) {
    out += "  " + name + std::string(width - columns(name) + 2, ' ') + wrap(value, width + 4) + '\n';
  }
}

void append_cell(std::string& line, const std::string& text, std::size_t width, bool left) {
  const std::string padding(width - columns(text), ' ');
  line += "  " + (left ? text + padding : padding + text);
}

void render(std::string& out, const Table& table) {
  std::vector<std::size_t> widths;
  for (const auto& name : table.header) widths.push_back(columns(name));
  for (const auto& row : table.rows) {
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], columns(row[c]));
  }
  const auto line = [&](const std::vector<std::string>& row) {
    std::string text;
    for (std::size_t c = 0; c < row.size(); ++c) {
      append_cell(text, row[c], widths[c], c < table.left || table.header[c] == "if it fails");
    }
    out += text.substr(0, text.find_last_not_of(' ') + 1) + '\n';
  };
  line(table.header);
  for (const auto& row : table.rows) line(row);
}

}  // namespace

std::string report_text(const Report& report, Extent extent) {
  std::string out;
  for (const auto& block : report_document(report, extent)) {
    std::visit([&](const auto& part) { render(out, part); }, block);
  }
  return out.substr(1);
}

}  // namespace gapwatch::exporters
