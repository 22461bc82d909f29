// The draw that an opaque id stands for.
#pragma once

#include <cstdint>
#include <string_view>

namespace gapwatch::ingest {

// 2^63 and above, so that it never meets an index. The same in every version, since it is what the
// counts are kept under: FNV-1a, 64 bits, over the id's bytes, then the finalizer of splitmix64, top
// bit set. Threads: any.
std::uint64_t draw_of(std::string_view id);

}  // namespace gapwatch::ingest
