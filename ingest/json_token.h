// What both JSON readers know of single tokens. Private to ingest/.
#pragma once

#include <optional>
#include <string_view>

#include "ingest/fields.h"

namespace gapwatch::ingest {

// Objects and arrays may be nested as deep.
inline constexpr int kMaxJsonDepth = 64;

inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\r";
  const auto last = text.find_last_not_of(kSpace);
  if (last == text.npos) return {};
  const auto first = text.find_first_not_of(kSpace);
  return text.substr(first, last - first + 1);
}

// A word or a number, bare NaN and infinities among them; nothing where the token is neither.
inline std::optional<Raw> scalar(std::string_view token) {
  if (token == "true") return Raw{Kind::kTrue, token, 0};
  if (token == "false") return Raw{Kind::kFalse, token, 0};
  if (token == "null") return Raw{Kind::kNull, token, 0};
  if (token == "NaN" || token == "Infinity" || token == "-Infinity") return Raw{Kind::kNotFinite, token, 0};
  const char* end = token.data() + token.size();
  Raw number;
  if (scan_number(token.data(), end, number) != end) return std::nullopt;
  return number;
}

}  // namespace gapwatch::ingest
