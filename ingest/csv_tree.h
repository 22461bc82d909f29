// Comma-separated lines as a tree: an array of one object a line, its members named by the columns.
//
// RFC 4180: fields in double quotes may hold commas, line ends and doubled quotes. Every cell is a
// text, an empty one null. Lines end with LF or CRLF; empty ones are passed over.
// Threads: one. Memory: texts are views into `text` or `texts`.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "ingest/json_tree.h"

namespace gapwatch::ingest {

// `names` is the line of the columns' names; empty: the first line of `text`. Texts that had quotes in
// them are kept in `texts`. Faults: invalid UTF-8, a quote that does not end, a line with more or
// fewer cells than there are columns, a column named twice.
std::optional<Fault> parse_csv(std::string_view names, std::string_view text, JsonTree& tree, std::deque<std::string>& texts);

}  // namespace gapwatch::ingest
