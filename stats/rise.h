// Rise: how the oracle gap grows with the size of the pool.
//
// For every size s = 1..M, the mean over all subsets of s policies of L and of oracle minus mixture at one
// threshold. Every subset is counted for M <= 12; above, `samples` subsets of each size are drawn (all of them
// where there are no more), and `sampled` says so. The rise is mean L at M minus mean L at 2. What it does not
// say: that more policies specialise; L grows with the pool under pure noise too (compare with a null).
//
// No row: empty. One policy: no rise. Threads: pure. Cost: with M <= 12, one pass and M 2^M, and the mixture
// 2^M N; above, samples x M^2 / 2 x N / 64 words.
// Source: statistics.md section 3; [OG].
#pragma once

#include <cstdint>
#include <vector>

#include "stats/running.h"

namespace gapwatch::stats {

struct SizeGap {
  std::size_t size = 0;
  double gap = 0;                   // mean L
  Number oracle_minus_mixture;      // mean; absent where it was too dear (see RiseOptions)
  std::uint64_t subsets = 0;        // how many were averaged
  bool sampled = false;
};

struct Rise {
  std::vector<SizeGap> sizes;  // 1..M
  Number rise;                 // L at M minus mean L at 2; absent below two policies
};

struct RiseOptions {
  std::uint64_t seed = 1;
  std::uint32_t samples = 500;    // subsets a size where not all are counted; fewer on tables that are large
  std::uint64_t mixture_work = 200'000'000;  // the mixture is left out where subsets x N x M would exceed this
};
Rise rise(const CountTable& table, double tau, const RiseOptions& options = {});

}  // namespace gapwatch::stats
