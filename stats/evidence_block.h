// The block e-value against the margin null: logit rate = prompt part + policy part.
//
// A block is G informative batches with row totals S_g and policy totals T. Given both, the law of the tables
// is free of prompt and policy parts, P(c) ~ prod C(n_gm, c_gm), and
//   e = exp(sum_g u_g.c_g) Z_0(T) / Z_u(T),  Z_u(T) = sum over tables of prod C(n, c) exp(u c)
// has mean exactly 1 for tilts u fixed before the block.
//   exact    up to six policies: dynamic programming over rows (evidence_block_exact.h)
//   sampled  otherwise, or where that would grow too long: soft-rank Monte Carlo. A chain of K reversible 2x2
//            heat-bath steps leads from the table seen to a hub, and R such chains from the hub to R more
//            tables; the R + 1 tables are exchangeable, so (R + 1) f(seen) / sum f, f = exp(sum u c), has
//            mean exactly 1 for any K and R. It is at most R + 1.
// Which route is taken depends on the trials, the totals and the tilts, never on the table seen. The random
// key must not depend on outcomes either: number the blocks.
//
// Threads: one object a thread. Cost: docs/EVIDENCE.md. No allocation once warm.
// Source: sequential.md, B5; Besag and Clifford, "Generalized Monte Carlo significance tests" (1989).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "stats/evidence_batch.h"
#include "stats/evidence_block_exact.h"

namespace gapwatch::stats {

inline constexpr std::uint32_t kMaxBlockRows = 16;

struct BlockSampling {
  std::uint32_t tables = 31;         // R, at least 1
  std::uint32_t steps_per_cell = 5;  // K = steps_per_cell * rows * policies
  std::uint64_t seed = 1;
  bool always = false;  // sampled even where exact is possible
};

class BlockEvidence {
 public:
  // log e of the first kMarginComponents lanes. 1 to kMaxBlockRows rows. `block` numbers the block within
  // `seed`.
  void evaluate(std::span<const TiltedBatch> rows, const BlockSampling& sampling, std::uint64_t block,
                Lanes& log_e);
  // Whether the last evaluation was exact.
  bool exact() const { return exact_; }

 private:
  void sample(std::span<const TiltedBatch> rows, const BlockSampling& sampling, std::uint64_t block,
              Lanes& log_e);
  void run_chain(FastRandom& random, std::uint64_t steps, std::vector<int>& counts) const;
  void step(FastRandom& random, std::vector<int>& counts) const;
  void score(std::span<const TiltedBatch> rows, const std::vector<int>& counts);

  BlockShape shape_;
  ExactBlock exact_block_;
  bool exact_ = true;
  std::vector<int> counts_, hub_;  // rows x columns
  std::vector<Lanes> scores_;      // log f of the table seen, then of the sampled ones
};

}  // namespace gapwatch::stats
