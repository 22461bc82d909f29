// JsonWriter: JSON text in the order it is written, the same bytes on every machine.
//
// Numbers are the shortest text that reads back as the same double; what JSON cannot say (absent,
// NaN, infinite) is null. Strings are UTF-8: bytes that are not become U+FFFD, and "<", ">", "&" and
// the two Unicode line separators are escaped, so the text is safe inside a page. No locale is
// looked at. Nesting is the caller's to close; a value without a key inside an object is a bug.
//
// Threads: as a plain value. Cost: linear in the output.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gapwatch::exporters {

class JsonWriter {
 public:
  JsonWriter& begin_object();
  JsonWriter& end_object();
  JsonWriter& begin_array();
  JsonWriter& end_array();
  JsonWriter& key(std::string_view name);

  JsonWriter& value(double number);
  JsonWriter& value(const std::optional<double>& number);
  JsonWriter& value(bool truth);
  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(std::signed_integral auto number) { return integer(static_cast<std::int64_t>(number)); }
  JsonWriter& value(std::unsigned_integral auto number) { return natural(static_cast<std::uint64_t>(number)); }
  JsonWriter& null();

  template <typename T>
  JsonWriter& member(std::string_view name, const T& content) {
    return key(name).value(content);
  }

  const std::string& text() const { return text_; }
  std::string take() { return std::move(text_); }

 private:
  JsonWriter& integer(std::int64_t number);
  JsonWriter& natural(std::uint64_t number);
  void separate();
  void quote(std::string_view text);

  std::string text_;
  std::vector<bool> has_item_;  // by depth: something was written at this level
  bool after_key_ = false;
};

// The shortest decimal that reads back as `number`, as used for keys and labels ("0.1"). Finite.
std::string shortest(double number);

// `text` with every byte that is not part of valid UTF-8 replaced by U+FFFD.
std::string valid_utf8(std::string_view text);

}  // namespace gapwatch::exporters
