// Unpacking a stream of bytes: gzip (any number of members), zstd (any number of frames), or as is.
//
// Threads: one. Memory: the formats' windows (zstd: at most 128 MiB, more is refused).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gapwatch::ingest {

class Unpacker {
 public:
  struct Step {
    std::size_t read = 0, written = 0;
  };
  virtual ~Unpacker() = default;
  // Reads from `in`, writes to `out`, as far as both go. An Error's message says what is broken,
  // without file and place.
  virtual Result<Step> unpack(std::span<const char> in, std::span<char> out) = 0;
  // At the end of the input: whether it ends in the middle of a member or frame.
  virtual bool unfinished() const = 0;
};

// The format that a stream's first bytes (four or all of them) show.
Result<std::unique_ptr<Unpacker>> make_unpacker(std::string_view first_bytes);

}  // namespace gapwatch::ingest
