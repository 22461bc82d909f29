// Scheduled confirmatory looks: a p-value that may be published, from data looked at several times.
//
// Look l of a plan made beforehand uses the first k_l judged draws of every cell, by draw index, and is taken
// once every prompt has as many of every policy. What it says then depends on these draws alone: it comes out
// the same whenever it is computed, and later draws do not touch it. Each look spends an equal share of alpha, so
// for each of the three tests the chance that any look rejects a true null is at most alpha (union bound). The
// tests are not adjusted for one another: name the one that counts before the first look.
//
//   heterogeneity: X2 of power_tests.h against the re-deal (any difference, of quality as well)
//   gap:           L(tau), upper tail, against the re-deal
//   margin_gap:    L(tau), upper tail, against the margin-preserving null (specialization)
//
// The set of prompts must be fixed beforehand too: a prompt that is new makes looks wait for it.
// No prompt: every look waits. A draw count that is 0 or repeated is left out.
// Threads: pure; the nulls are split over `executor`. Cost: three null tests a look taken.
// Source: sequential.md C.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/executor.h"
#include "stats/draw_set.h"

namespace gapwatch::stats {

struct LookPlan {
  std::vector<std::uint32_t> draws{2, 4, 8, 16, 32};  // k of each look, in any order
  double alpha = 0.01;                                // in (0, 1), over all looks
  double tau = 0.1;                                   // in (0, 1]
  std::uint32_t replicates = 2'000;  // at least looks / alpha, or no look can reject
  std::uint64_t seed = 1;
};

struct LookTest {
  double p_value = 1;    // of this look alone
  bool rejects = false;  // p_value <= level: the plan's claim
};

struct ConfirmatoryLook {
  std::uint32_t draws = 0;
  double level = 0;           // alpha / number of looks
  std::uint64_t ready = 0, prompts = 0;  // prompts with the draws, of so many
  bool taken = false;         // ready = prompts > 0; what follows means something only then
  LookTest heterogeneity, gap, margin_gap;
};

// `draws` is prompts x pool, row by row; pool at least 1. Looks come by their draws, ascending.
std::vector<ConfirmatoryLook> confirmatory_looks(std::span<const DrawSet> draws, std::size_t pool,
                                                 const LookPlan& plan, Executor& executor);

}  // namespace gapwatch::stats
