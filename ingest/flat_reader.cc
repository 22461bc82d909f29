#include "ingest/flat_reader.h"

#include <bit>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

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
const char* find_special_by_word(const char* at, const char* end) {
  if constexpr (std::endian::native == std::endian::little) {
    for (; end - at >= 8; at += 8) {
      const std::uint64_t found = special_bytes(load8(at));
      if (found != 0) return at + std::countr_zero(found) / 8;
    }
  }
  while (at != end && !is_special(*at)) ++at;
  return at;
}

#ifdef __SSE2__
// A bit for each special byte of the sixteen at `at`.
[[gnu::always_inline]] inline unsigned special_mask(const char* at) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
  const __m128i quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
  const __m128i slash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
  const __m128i outside = _mm_cmplt_epi8(bytes, _mm_set1_epi8(0x20));  // signed: above ASCII is below zero
  return static_cast<unsigned>(_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, slash), outside)));
}
#endif

[[gnu::always_inline]] inline const char* find_special(const char* at, const char* end) {
#ifdef __SSE2__
  for (; end - at >= 16; at += 16) {
    const unsigned found = special_mask(at);
    if (found != 0) return at + std::countr_zero(found);
  }
#endif
  return find_special_by_word(at, end);
}

// The last byte of the text is the closing brace, which fits nowhere else outside a string: so only
// strings and words must look where the text ends.
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
    return at_ + 1 == end_ && *at_ == '}';
  }

 private:
  bool read_field() {
    skip_space();
    Field field = Field::kUnknown;
    if (!take('"') || !read_key(field)) return false;
    skip_space();
    if (!take(':')) return false;
    skip_space();
    Raw value;
    if (!read_value(value)) return false;
    return field == Field::kUnknown || fields_.put(field, value);
  }

  bool read_key(Field& field) {
    const char* start = at_;
    std::string_view key;
    if (!read_string(key)) return false;
    if constexpr (std::endian::native == std::endian::little) {
      if (end_ - start >= 8) {
        if (key.empty()) return true;
        const std::size_t unused = key.size() < 8 ? 64 - 8 * key.size() : 0;
        field = field_of(load8(start) << unused >> unused, key);
        return true;
      }
    }
    field = field_of(key);
    return true;
  }

  bool read_value(Raw& value) {
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

  // A plain integer at once; scan_number() knows the rest of what a number can be.
  bool read_number(Raw& value) {
    const char* at = at_;
    std::uint64_t number = 0;
    for (unsigned digit = 0; (digit = static_cast<unsigned char>(*at) - unsigned{'0'}) <= 9; ++at) number = number * 10 + digit;
    const auto size = at - at_;
    const bool plain = size >= 1 && size <= 18 && (*at_ != '0' || size == 1) && (*at == ',' || *at == '}');
    if (plain) {
      value = {Kind::kInteger, std::string_view(at_, at), number};
    } else {
      at = scan_number(at_, end_, value);
      if (at == nullptr) return false;
    }
    at_ = at;
    return true;
  }

  void skip_space() {
    while (static_cast<unsigned char>(*at_) <= ' ' && (*at_ == ' ' || *at_ == '\t')) ++at_;
  }
  bool take(char c) {
    if (*at_ != c) return false;
    ++at_;
    return true;
  }

  const char* at_;
  const char* end_;
  Fields& fields_;
};

}  // namespace

bool read_flat(std::string_view text, Fields& fields) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.remove_suffix(1);
  return !text.empty() && text.back() == '}' && FlatReader(text, fields).read();
}

}  // namespace gapwatch::ingest
