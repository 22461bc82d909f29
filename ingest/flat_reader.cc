#include "ingest/flat_reader.h"

namespace gapwatch::ingest {
namespace {

constexpr std::uint64_t kOnes = 0x0101010101010101, kHighs = 0x8080808080808080;

std::uint64_t load8(const char* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, 8);
  return word;
}

// Bytes that a plain string cannot hold: the quote that ends it, a backslash, control characters
// and everything above ASCII.
bool is_special(char raw) {
  const auto c = static_cast<unsigned char>(raw);
  return c == '"' || c == '\\' || c < 0x20 || c >= 0x80;
}

// The high bit of each special byte of `word`, exact up to and including the lowest one.
std::uint64_t special_bytes(std::uint64_t word) {
  const std::uint64_t quote = word ^ (kOnes * '"'), slash = word ^ (kOnes * '\\');
  const std::uint64_t control = (word - kOnes * 0x20) & ~word;
  return (((quote - kOnes) & ~quote) | ((slash - kOnes) & ~slash) | control | word) & kHighs;
}

// The first special byte at or after `at`, or `end`.
const char* find_special(const char* at, const char* end) {
  if constexpr (std::endian::native == std::endian::little) {
    for (; end - at >= 8; at += 8) {
      const std::uint64_t found = special_bytes(load8(at));
      if (found != 0) return at + std::countr_zero(found) / 8;
    }
  }
  while (at != end && !is_special(*at)) ++at;
  return at;
}

class FlatReader {
 public:
  FlatReader(std::string_view text, Fields& fields)
      : at_(text.data()), end_(text.data() + text.size()), fields_(fields) {}

  bool read() {
    fields_.clear();
    skip_space();
    if (!take('{')) return false;
    do {
      if (!read_field()) return false;
      skip_space();
    } while (take(','));
    if (!take('}')) return false;
    skip_space();
    return at_ == end_;
  }

 private:
  bool read_field() {
    skip_space();
    std::string_view key;
    if (!take('"') || !read_string(key)) return false;
    skip_space();
    if (!take(':')) return false;
    skip_space();
    Raw value;
    if (!read_value(value)) return false;
    const Field field = field_of(key);
    return field == Field::kUnknown || fields_.put(field, value);
  }

  bool read_value(Raw& value) {
    if (at_ == end_) return false;
    switch (*at_) {
      case '"':
        ++at_;
        value.kind = Kind::kString;
        return read_string(value.text);
      case 't': return read_word("true", Kind::kTrue, value);
      case 'f': return read_word("false", Kind::kFalse, value);
      case 'n': return read_word("null", Kind::kNull, value);
      default: return read_number(value);
    }
  }

  // From behind the opening quote to behind the closing one.
  bool read_string(std::string_view& text) {
    const char* close = find_special(at_, end_);
    if (close == end_ || *close != '"') return false;
    text = std::string_view(at_, close);
    at_ = close + 1;
    return true;
  }

  bool read_word(std::string_view expected, Kind kind, Raw& value) {
    if (!std::string_view(at_, end_).starts_with(expected)) return false;
    value.kind = kind;
    at_ += expected.size();
    return true;
  }

  // What follows is a separator or the record is left to the general parser.
  bool read_number(Raw& value) {
    const char* stop = number_end(at_, end_);
    if (stop == nullptr) return false;
    value = {Kind::kNumber, std::string_view(at_, stop)};
    at_ = stop;
    return true;
  }

  void skip_space() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\n' || *at_ == '\r')) ++at_;
  }
  bool take(char c) {
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }

  const char* at_;
  const char* end_;
  Fields& fields_;
};

}  // namespace

bool read_flat(std::string_view text, Fields& fields) { return FlatReader(text, fields).read(); }

}  // namespace gapwatch::ingest
