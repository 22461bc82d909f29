#include "ingest/csv_tree.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>

namespace gapwatch::ingest {
namespace {

Fault broken(std::string why) { return {Reason::kNotCsv, std::move(why)}; }

class Cutter {
 public:
  Cutter(std::string_view text, std::deque<std::string>& texts) : left_(text), texts_(texts) {}

  // The next line that is not empty; false at the end or on a fault.
  bool line(std::vector<std::string_view>& cells) {
    while (!left_.empty() && (left_.front() == '\n' || left_.front() == '\r')) left_.remove_prefix(1);
    cells.clear();
    if (left_.empty()) return false;
    for (;;) {
      const auto cell = left_.starts_with('"') ? quoted() : plain();
      if (!cell) return false;
      cells.push_back(*cell);
      if (!left_.starts_with(',')) break;
      left_.remove_prefix(1);
    }
    return true;
  }
  const std::optional<Fault>& fault() const { return fault_; }

 private:
  std::optional<std::string_view> plain() {
    auto end = std::min(left_.find_first_of(",\n"), left_.size());
    auto cell = left_.substr(0, end);
    left_.remove_prefix(end);
    if (!left_.starts_with(',') && cell.ends_with('\r')) cell.remove_suffix(1);
    return cell;
  }

  std::optional<std::string_view> quoted() {
    std::size_t end = 1;
    bool doubled = false;
    for (;;) {
      end = left_.find('"', end);
      if (end == left_.npos) return fail("a quote does not end");
      if (end + 1 == left_.size() || left_[end + 1] != '"') break;
      doubled = true;
      end += 2;
    }
    auto cell = left_.substr(1, end - 1);
    left_.remove_prefix(end + 1);
    if (left_.starts_with('\r')) left_.remove_prefix(1);
    if (!left_.empty() && left_.front() != ',' && left_.front() != '\n') return fail("something follows a quoted cell");
    return doubled ? without_doubles(cell) : cell;
  }

  std::string_view without_doubles(std::string_view cell) {
    auto& text = texts_.emplace_back(cell);
    for (auto at = text.find("\"\""); at != text.npos; at = text.find("\"\"", at + 1)) text.erase(at, 1);
    return text;
  }

  std::nullopt_t fail(std::string why) {
    fault_ = broken(std::move(why));
    return std::nullopt;
  }

  std::string_view left_;
  std::deque<std::string>& texts_;
  std::optional<Fault> fault_;
};

}  // namespace

std::optional<Fault> parse_csv(std::string_view names, std::string_view text, JsonTree& tree, std::deque<std::string>& texts) {
  if (names.starts_with("\xef\xbb\xbf")) names.remove_prefix(3);
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  if (!simdjson::validate_utf8(text.data(), text.size())) return Fault{Reason::kNotUtf8, "the line is not valid UTF-8"};
  Cutter lines(text, texts), head(names, texts);
  std::vector<std::string_view> columns, cells;
  auto& first = names.empty() ? lines : head;
  if (!first.line(columns)) return first.fault() ? first.fault() : Fault{Reason::kEmpty, "there is no line of names"};
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (std::find(columns.begin(), columns.begin() + static_cast<std::ptrdiff_t>(i), columns[i]) !=
        columns.begin() + static_cast<std::ptrdiff_t>(i)) {
      return broken("a column is named twice");
    }
  }
  tree.begin(Kind::kArray);
  JsonTree::Id last_row = JsonTree::kNone;
  while (lines.line(cells)) {
    if (cells.size() != columns.size()) {
      return broken(fmt::format("a line has {} cells, the line of names has {}", cells.size(), columns.size()));
    }
    last_row = tree.add(JsonTree::kRoot, last_row, {}, {Kind::kObject, {}, 0});
    JsonTree::Id last = JsonTree::kNone;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      last = tree.add(last_row, last, columns[i], {cells[i].empty() ? Kind::kNull : Kind::kString, cells[i], 0});
    }
  }
  if (!lines.fault() && last_row == JsonTree::kNone) return Fault{Reason::kEmpty, "there is no line below the names"};
  return lines.fault();
}

}  // namespace gapwatch::ingest
