#include "exporters/json_writer.h"

#include <charconv>
#include <cmath>

namespace gapwatch::exporters {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

template <typename T>
void append_number(std::string& out, T number) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, number).ptr;
  out.append(buffer, end);
}

bool continues(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
}

// Length of the valid UTF-8 sequence at `at`, or 0. Overlong forms, surrogates and code points above
// U+10FFFF are not valid (RFC 3629).
std::size_t sequence_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(at);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4 || !continues(text, at + 1)) return 0;
  const unsigned second = byte(at + 1);
  if (first < 0xE0) return 2;
  if (!continues(text, at + 2)) return 0;
  if (first < 0xF0) {
    const bool overlong = first == 0xE0 && second < 0xA0;
    const bool surrogate = first == 0xED && second >= 0xA0;
    return overlong || surrogate ? 0 : 3;
  }
  const bool overlong = first == 0xF0 && second < 0x90;
  const bool beyond = first == 0xF4 && second >= 0x90;
  return overlong || beyond || !continues(text, at + 3) ? 0 : 4;
}

void append_escape(std::string& out, unsigned code) {
  constexpr char kHex[] = "0123456789abcdef";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kHex[(code >> shift) & 15];
}

void append_ascii(std::string& out, char c) {
  switch (c) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    case '<': case '>': case '&': case 0x7F: append_escape(out, static_cast<unsigned char>(c)); return;
    default: break;
  }
  if (static_cast<unsigned char>(c) < 0x20) {
    append_escape(out, static_cast<unsigned char>(c));
  } else {
    out += c;
  }
}

}  // namespace

JsonWriter& JsonWriter::begin_object() {
  separate();
  text_ += '{';
  has_item_.push_back(false);
  return *this;
}

JsonWriter& JsonWriter::end_object() {
  has_item_.pop_back();
  text_ += '}';
  return *this;
}

JsonWriter& JsonWriter::begin_array() {
  separate();
  text_ += '[';
  has_item_.push_back(false);
  return *this;
}

JsonWriter& JsonWriter::end_array() {
  has_item_.pop_back();
  text_ += ']';
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  quote(name);
  text_ += ':';
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(double number) {
  if (!std::isfinite(number)) return null();
  separate();
  append_number(text_, number == 0 ? 0.0 : number);  // a negative zero is a zero
  return *this;
}

JsonWriter& JsonWriter::value(const std::optional<double>& number) {
  return number ? value(*number) : null();
}

JsonWriter& JsonWriter::value(bool truth) {
  separate();
  text_ += truth ? "true" : "false";
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  separate();
  quote(text);
  return *this;
}

JsonWriter& JsonWriter::null() {
  separate();
  text_ += "null";
  return *this;
}

JsonWriter& JsonWriter::integer(std::int64_t number) {
  separate();
  append_number(text_, number);
  return *this;
}

JsonWriter& JsonWriter::natural(std::uint64_t number) {
  separate();
  append_number(text_, number);
  return *this;
}

void JsonWriter::separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (has_item_.empty()) return;
  if (has_item_.back()) text_ += ',';
  has_item_.back() = true;
}

void JsonWriter::quote(std::string_view text) {
  text_ += '"';
  for (std::size_t at = 0; at < text.size();) {
    const auto length = sequence_length(text, at);
    const auto sequence = text.substr(at, length);
    if (length == 0) {
      text_ += kReplacement;
    } else if (length == 1) {
      append_ascii(text_, text[at]);
    } else if (sequence == "\xE2\x80\xA8" || sequence == "\xE2\x80\xA9") {
      append_escape(text_, sequence.back() == '\xA8' ? 0x2028 : 0x2029);
    } else {
      text_ += sequence;
    }
    at += std::max<std::size_t>(length, 1);
  }
  text_ += '"';
}

std::string shortest(double number) {
  std::string out;
  append_number(out, number == 0 ? 0.0 : number);
  return out;
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto length = sequence_length(text, at);
    out += length == 0 ? kReplacement : text.substr(at, length);
    at += std::max<std::size_t>(length, 1);
  }
  return out;
}

}  // namespace gapwatch::exporters
