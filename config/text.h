// Small questions about text that the config reader asks.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gapwatch::config {

// Insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The candidate nearest to `word`, or nothing where none is near enough to be a slip of the pen
// (more than a third of its letters and more than two differ). Ties go to the earlier one.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

// Position of the first byte that is not part of valid UTF-8 text, control characters other than
// tab and line ends included; nothing where all is text.
std::optional<std::size_t> first_bad_byte(std::string_view text);

// "a, b, c"
std::string joined(std::span<const std::string> words);

// A scalar that reads back as the same text: plain where that is safe, else in double quotes.
std::string yaml_text(std::string_view text);

}  // namespace gapwatch::config
