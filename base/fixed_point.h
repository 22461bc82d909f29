// Exact sums of fractions.
//
// A sum that events add to and take from forever must not drift: a term is computed in double,
// rounded once to a multiple of 2^-60, and summed as a 128-bit integer, so that any order of
// additions and removals gives the same bits. Terms lie in [-7, 7]; a sum holds 2^64 of them.
// The error of a mean is at most 2^-53, a double's own.
#pragma once

#include <cmath>
#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace gapwatch {

using FixedTerm = std::int64_t;  // a fraction times 2^60

inline FixedTerm fixed_term(double value) {
#if defined(__SSE2__)
  return _mm_cvtsd_si64(_mm_set_sd(value * 0x1p60));  // what llrint gives, without a call
#else
  return std::llrint(value * 0x1p60);
#endif
}

__extension__ using Int128 = __int128;
__extension__ using UInt128 = unsigned __int128;

// 128-bit sum of terms.
class FixedSum {
 public:
  void add(FixedTerm term) { sum_ += term; }
  void subtract(FixedTerm term) { sum_ -= term; }
  void add(const FixedSum& other) { sum_ += other.sum_; }
  void subtract(const FixedSum& other) { sum_ -= other.sum_; }
  double value() const { return std::ldexp(static_cast<double>(sum_), -60); }
  // sum / count, or NaN at count = 0 (callers turn it into an absent number).
  double mean(std::uint64_t count) const { return value() / static_cast<double>(count); }
  friend bool operator==(const FixedSum&, const FixedSum&) = default;

 private:
  __extension__ using Wide = __int128;
  Wide sum_ = 0;
};

}  // namespace gapwatch
