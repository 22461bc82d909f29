// Where simdjson reads a text: a copy with the room after it that it wants. Private to ingest/.
#pragma once

#include <simdjson.h>

#include <cstring>
#include <string_view>
#include <vector>

namespace gapwatch::ingest {

class JsonScratch {
 public:
  // Good until the next call.
  simdjson::padded_string_view copy(std::string_view text) {
    if (bytes_.size() < text.size() + simdjson::SIMDJSON_PADDING) {
      bytes_.resize(text.size() + text.size() / 2 + simdjson::SIMDJSON_PADDING);
    }
    std::memcpy(bytes_.data(), text.data(), text.size());
    // Of a text that breaks off simdjson looks at what follows: that must not be the text before.
    std::memset(bytes_.data() + text.size(), 0, simdjson::SIMDJSON_PADDING);
    return simdjson::padded_string_view(bytes_.data(), text.size(), bytes_.size());
  }

 private:
  std::vector<char> bytes_;
};

}  // namespace gapwatch::ingest
