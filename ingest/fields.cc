#include "ingest/fields.h"

#include <charconv>

namespace gapwatch::ingest {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

const char* digits_end(const char* at, const char* end) {
  while (at != end && is_digit(*at)) ++at;
  return at;
}

// What may follow the whole part; nullptr where it is begun and not finished.
const char* fraction_end(const char* at, const char* end) {
  if (at != end && *at == '.') {
    const char* fraction = at + 1;
    at = digits_end(fraction, end);
    if (at == fraction) return nullptr;
  }
  if (at != end && (*at == 'e' || *at == 'E')) {
    ++at;
    if (at != end && (*at == '+' || *at == '-')) ++at;
    const char* exponent = at;
    at = digits_end(exponent, end);
    if (at == exponent) return nullptr;
  }
  return at;
}

}  // namespace

const char* scan_number(const char* at, const char* end, Raw& number) {
  const char* const start = at;
  if (at != end && *at == '-') ++at;
  if (at == end || !is_digit(*at)) return nullptr;
  std::uint64_t value = 0;
  if (*at == '0') {
    ++at;
  } else {
    for (; at != end && is_digit(*at); ++at) value = value * 10 + static_cast<std::uint64_t>(*at - '0');
  }
  number.kind = Kind::kInteger;
  number.value = *start != '-' && at - start <= 18 ? value : 0;
  if (at != end && (*at == '.' || *at == 'e' || *at == 'E')) {
    number.kind = Kind::kNumber;
    number.value = 0;
    at = fraction_end(at, end);
    if (at == nullptr) return nullptr;
  }
  number.text = std::string_view(start, at);
  return at;
}

std::optional<double> to_double(std::string_view text) {
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code == std::errc()) return end == text.data() + text.size() ? std::optional(value) : std::nullopt;
  if (code != std::errc::result_out_of_range) return std::nullopt;
  const auto exponent = text.find_first_of("eE");
  const bool tiny = exponent == text.npos ? text.find_first_of("123456789") > text.find('.')
                                          : text.substr(exponent + 1).starts_with('-');
  return tiny ? std::optional(0.0) : std::nullopt;
}

}  // namespace gapwatch::ingest
