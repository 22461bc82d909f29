// The report as a document: what is said, without how it is laid out. Text and markdown are two
// layouts of the same document, so they cannot disagree.
//
// All strings are valid UTF-8 on one line: control and text-direction characters of names from the
// stream are written as \u{...}. Undefined numbers are written "n/a" and explained where they stand.
// Numbers are rounded for reading; the JSON report has them in full. Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "exporters/report_model.h"

namespace gapwatch::exporters {

struct Heading {
  int level = 1;  // 1 the title, 2 a monitor, 3 a section of it
  std::string text;
};
struct Paragraph {
  std::string text;
};
struct Facts {
  std::vector<std::pair<std::string, std::string>> items;  // name, value
};
struct Table {
  std::vector<std::string> header;
  std::size_t left = 1;  // so many leading columns hold words, the others numbers; a last "meaning" is words too
  std::vector<std::vector<std::string>> rows;  // each as long as the header
};

using Block = std::variant<Heading, Paragraph, Facts, Table>;
using Document = std::vector<Block>;

// kShort: verdict, protocol, and the tables that everybody reads. kFull adds report_detail.h.
enum class Extent { kShort, kFull };
Document report_document(const Report& report, Extent extent = Extent::kShort);

// The plain-language verdict of one monitor: the oracle gap at the headline threshold against both
// nulls, and how the gap to the union splits, each with what it does not say.
std::vector<std::string> verdict(const MonitorReport& monitor);

// The evidence that holds however often anyone looks, as a sentence; empty where there is none.
std::string evidence_sentence(const MonitorReport& monitor);
void add_evidence(Document& document, const MonitorReport& monitor);

// A name from outside, fit for one line of a document.
std::string printable_name(std::string_view name);

}  // namespace gapwatch::exporters
