// Batch: the next eight responses on one prompt, by policy; and what betting on one pays.
//
// plain_batch(): the e-value against the re-deal null. Given the batch's trials by policy and its successes
// S, the policies' successes are hypergeometric whatever the prompt's rate, so
//   e = exp(sum u_m c_m) C(B, S) / e_S,   e_S the S-th elementary symmetric polynomial of exp(u_m), n_m times
//   each
// has mean exactly 1 for any tilts u fixed before the batch. A batch with S = 0, S = B or one policy pays 1.
//
// plain_event(): one response at a time, where the router's probabilities of every policy are known:
//   e = p_m(y) / sum_l pi_l p_l(y),  p_l(1) = expit(logit q + u_l),
// mean exactly 1 over the routed policy for any q and u from the past, also under adaptive routing.
//
// Threads: pure. Cost: docs/EVIDENCE.md.
// Source: sequential.md, A and A3.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "stats/evidence_components.h"

namespace gapwatch::stats {

inline constexpr std::uint32_t kBatchSize = 8;

struct BatchCell {
  std::uint32_t policy = 0;
  std::uint16_t trials = 0, successes = 0;  // 1 <= trials, successes <= trials
  template <typename F>
  static void fields(auto& self, F&& f) {
    f(self.policy), f(self.trials), f(self.successes);
  }
  friend bool operator==(const BatchCell&, const BatchCell&) = default;
};

// At most kBatchSize responses, cells by policy index, only policies that answered.
struct Batch {
  std::array<BatchCell, kBatchSize> cells{};
  std::uint8_t size = 0;
  std::uint8_t trials = 0, successes = 0;

  void add(std::uint32_t policy, bool success);
  std::span<const BatchCell> view() const { return {cells.data(), size}; }
  // Its outcomes can speak against a null: some succeeded, some failed, and not all of one policy.
  bool informative() const { return size > 1 && successes > 0 && successes < trials; }
  template <typename F>
  static void fields(auto& self, F&& f) {
    f(self.size), f(self.trials), f(self.successes), f(self.cells);
  }
  friend bool operator==(const Batch&, const Batch&) = default;
};

// By cell of a batch, then by component.
using BatchLanes = std::array<Lanes, kBatchSize>;

// log e of each component. `tilts[j]` are those of cells[j]'s policy on this prompt.
void plain_batch(const Batch& batch, const BatchLanes& tilts, Lanes& log_e);

// `tilts` and `propensities` by policy, the same length; `policy` is the one that answered, its propensity >
// 0. `rate` in (0, 1) is the prompt's rate as estimated from the past.
void plain_event(std::span<const Lanes> tilts, std::span<const double> propensities, std::uint32_t policy,
                 bool success, double rate, Lanes& log_e);

// The mean and variance of every cell's successes given the batch's total, where policy log-odds differ by
// log of `weights` (by cell, > 0) on every prompt alike (Fisher's noncentral hypergeometric law).
struct CellMoments {
  double mean = 0, variance = 0;
};
std::array<CellMoments, kBatchSize> additive_moments(const Batch& batch, std::span<const double> weights);

double log_binomial(std::uint32_t n, std::uint32_t k);  // log C(n, k), 0 <= k <= n <= 64, from exact integers

}  // namespace gapwatch::stats
