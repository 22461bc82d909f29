// Asking for memory that will be needed soon, so that several waits for it overlap.
//
// Threads: any. Cost: one instruction a line; an address that cannot be read is no error.
#pragma once

#include <cstddef>

namespace gapwatch {

// The barrier is for compilers that take a function which only prefetches for one that does nothing.
inline void prefetch(const void* at) {
  __builtin_prefetch(at);
  asm volatile("" : : "r"(at));
}

inline void prefetch(const void* at, std::size_t bytes) {
  for (std::size_t from = 0; from < bytes; from += 64) prefetch(static_cast<const char*>(at) + from);
}

}  // namespace gapwatch
