// Pairs: the e-value against the margin null from two responses at a time.
//
// Two policies a, b that answered the same prompt, one right and one wrong, are a discordant pair; z = 1
// where a won. Sixteen pairs of the same two policies, on any prompts, are closed together:
//   e = exp(sum z_j d_j) C(16, T) / e_T(exp d),  d_j = u_a - u_b on the pair's prompt,  T = sum z
// has mean exactly 1 given T, whatever the prompts' and policies' parts of the log-odds.
//
// PairQueue pairs a prompt's responses first in, first out. All that wait are of one policy: another's
// response takes the oldest of them. Beyond 64 waiting the newest is not kept (more than any pairing uses
// up).
//
// Threads: pure; a queue as a plain value. Cost: docs/EVIDENCE.md.
// Source: sequential.md, B1.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "stats/evidence_components.h"

namespace gapwatch::stats {

inline constexpr std::size_t kPoolSize = 16;

// log e of the first kMarginComponents lanes. `tilts[j]` = u_a - u_b by component, |.| <= 2 kMaxTilt;
// `won[j]`: a won. At most kPoolSize pairs.
void pair_pool(std::span<const Lanes> tilts, std::span<const bool> won, Lanes& log_e);

struct PairQueue {
  std::uint64_t outcomes = 0;  // bit i: the i-th oldest succeeded
  std::uint32_t policy = 0;    // of all that wait
  std::uint32_t waiting = 0;

  // The outcome of the response that the new one is paired with; none while it waits itself.
  struct Partner {
    std::uint32_t policy;
    bool success;
  };
  std::optional<Partner> match(std::uint32_t new_policy, bool success);
  template <typename F>
  static void fields(auto& self, F&& f) {
    f(self.policy), f(self.waiting), f(self.outcomes);
  }
  friend bool operator==(const PairQueue&, const PairQueue&) = default;
};

}  // namespace gapwatch::stats
