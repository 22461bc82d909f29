#include "ingest/line_cutter.h"

#include <algorithm>

#include "ingest/json_token.h"

namespace gapwatch::ingest {
namespace {

// Whether every bracket that opens in the text closes in it.
bool is_whole(std::string_view text) {
  int open = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      ++open;
    } else if (c == '}' || c == ']') {
      --open;
    }
  }
  return open <= 0 && !quoted;
}

}  // namespace

std::string& LineCutter::room() {
  text_.erase(0, begin_);
  searched_ -= std::min(searched_, begin_);
  begin_ = 0;
  return text_;
}

// A document is known by its first line, which is not a whole value. A line may be damaged, too: then the
// next one begins as it did.
bool LineCutter::decide(bool at_end) {
  constexpr const char* kSpace = " \t\r\n";
  const auto first = text_.find_first_not_of(kSpace);
  const auto end = first == text_.npos ? first : text_.find('\n', first);
  const auto next = end == text_.npos ? end : text_.find_first_not_of("\r\n", end);
  if (next == text_.npos && !at_end && text_.size() < kLargestDocument) return false;
  const auto line = std::string_view(text_).substr(0, end);
  const bool alike = next != text_.npos && text_[first] == '{' && text_[next] == '{';
  if (line.size() <= max_line_bytes_ && (alike || is_whole(line))) shape_ = FileShape::kLines;
  decided_ = true;
  return true;
}

void LineCutter::cut_document(bool at_end, PartitionIndex partition, Offset from, std::vector<Record>& records) {
  if (line_ > 0) begin_ = text_.size();
  if (line_ > 0 || (!at_end && text_.size() <= kLargestDocument)) return;
  Record record;
  record.partition = partition;
  record.truncated = text_.size() > kLargestDocument;
  record.document = true;
  record.value = std::string_view(text_).substr(0, kLargestDocument);
  if (from == 0 && !trimmed(text_).empty()) records.push_back(record);
  begin_ = text_.size();
  line_ = 1;
}

void LineCutter::cut(bool at_end, PartitionIndex partition, Offset from, std::vector<Record>& records) {
  if (shape_ == FileShape::kDocuments && !decided_ && !decide(at_end)) return;
  if (shape_ == FileShape::kDocuments) return cut_document(at_end, partition, from, records);
  while (records.size() < kBatch && begin_ < text_.size()) {
    const auto end = line_end();
    if (end == text_.npos && !at_end) return unfinished(partition, from, records);
    const auto stop = end == text_.npos ? text_.size() : end;
    add(std::string_view(text_).substr(begin_, stop - begin_), partition, from, records);
    begin_ = std::min(stop + 1, text_.size());
    searched_ = 0;
    quoted_ = skipping_ = false;
    ++line_;
  }
}

std::size_t LineCutter::line_end() {
  auto at = std::max(begin_, searched_);
  if (shape_ != FileShape::kCsv) return text_.find('\n', at);
  for (; at < text_.size(); ++at) {
    if (text_[at] == '"') quoted_ = !quoted_;
    if (text_[at] == '\n' && !quoted_) return at;
  }
  return text_.npos;
}

void LineCutter::add(std::string_view line, PartitionIndex partition, Offset from, std::vector<Record>& records) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (skipping_ || line.empty() || (shape_ != FileShape::kCsv && trimmed(line).empty())) return;
  if (shape_ == FileShape::kCsv && names_.empty()) {
    names_ = line.substr(0, max_line_bytes_);
    return;
  }
  if (line_ < from) return;
  Record record;
  record.partition = partition;
  record.offset = line_;
  record.value = line.substr(0, max_line_bytes_);
  record.truncated = line.size() > max_line_bytes_;
  records.push_back(record);
}

// A line without its end yet: beyond the bound, its beginning is handed out and the rest dropped.
void LineCutter::unfinished(PartitionIndex partition, Offset from, std::vector<Record>& records) {
  searched_ = text_.size();
  if (skipping_) {
    begin_ = text_.size();
  } else if (text_.size() - begin_ > max_line_bytes_ + 1) {  // a CR may still belong to the line end
    add(std::string_view(text_).substr(begin_), partition, from, records);
    begin_ = text_.size();
    skipping_ = true;
  }
}

}  // namespace gapwatch::ingest
