// LineCutter: a file's bytes, as they come, cut into records. Private to ingest/.
//
// Threads: one. Memory: the longest line, or document.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ingest/source.h"

namespace gapwatch::ingest {

class LineCutter {
 public:
  static constexpr std::size_t kBatch = 4096, kLargestDocument = std::size_t{256} << 20;

  LineCutter(std::size_t max_line_bytes, FileShape shape) : max_line_bytes_(max_line_bytes), shape_(shape) {}

  // Where more bytes go: after the record that has begun.
  std::string& room();
  // Appends up to kBatch records from number `from` on. Views live until room() is called.
  void cut(bool at_end, PartitionIndex partition, Offset from, std::vector<Record>& records);
  bool empty() const { return begin_ == text_.size(); }
  // Of kCsv: the line of the columns' names, once it was cut.
  std::string_view names() const { return names_; }
  // The number of the record that begins where the text was cut to. Empty lines and lines of spaces have one, too.
  Offset next_line() const { return line_; }

 private:
  bool decide(bool at_end);
  void cut_document(bool at_end, PartitionIndex partition, Offset from, std::vector<Record>& records);
  void unfinished(PartitionIndex partition, Offset from, std::vector<Record>& records);
  std::size_t line_end();
  void add(std::string_view line, PartitionIndex partition, Offset from, std::vector<Record>& records);

  std::size_t max_line_bytes_;
  FileShape shape_;
  bool decided_ = false;      // of kDocuments: whether this is one
  std::string text_, names_;  // names_: of kCsv
  std::size_t begin_ = 0;     // the line that has begun
  std::size_t searched_ = 0;  // no line end before it, where above begin_
  bool quoted_ = false;       // at searched_, of kCsv
  bool skipping_ = false;     // within a line whose beginning was handed out
  Offset line_ = 0;
};

}  // namespace gapwatch::ingest
