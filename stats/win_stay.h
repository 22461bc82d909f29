// Win-stay: does the traffic look at outcomes? A check beside the evidence, not a part of it.
//
// A router that goes on with a policy after a success and leaves it after a failure breaks the evidence's
// guarantee. On each prompt every response is followed by another; for each policy there, four counts say how
// often its response succeeded and how often the next one was of the same policy. If routing ignores outcomes,
// then given the counts n (followed), w (wins) and s (stays) the number of winning stays is hypergeometric,
// whatever the rates and whatever traffic each policy gets on each prompt. Deviations and variances add over
// cells:
//   z = sum (x - w s / n) / sqrt(sum w (n - w) s (n - s) / (n^2 (n - 1)))
// Both signs are signs: positive is win-stay, negative win-shift. Traffic in fixed rounds never stays, has
// variance 0 and no z.
//
// It sees routers that react to the last outcome on the same prompt, not every way of looking at outcomes.
//
// Threads: as plain values. Cost: a few operations a response; 8 bytes a policy of a watched prompt.
// Source: sequential.md, (S2); the stratified test of Mantel and Haenszel (1959).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace gapwatch::stats {

struct StayCell {
  std::uint16_t followed = 0, wins = 0, stays = 0, winning_stays = 0;
  template <typename F>
  static void fields(auto& self, F&& f) {
    f(self.followed), f(self.wins), f(self.stays), f(self.winning_stays);
  }
  friend bool operator==(const StayCell&, const StayCell&) = default;
};

// One prompt's traffic; cells by policy column.
struct StayPrompt {
  std::vector<StayCell> cells;
  std::uint32_t last_policy = 0;
  bool last_success = false, any = false;

  // The next response. A cell stops at 65,535 followed responses.
  void next(std::uint32_t policy, bool success);
  template <typename F>
  static void fields(auto& self, F&& f) {
    f(self.cells), f(self.last_policy), f(self.last_success), f(self.any);
  }
  friend bool operator==(const StayPrompt&, const StayPrompt&) = default;
};

// Over prompts, of one or more partitions. Each cell's terms are rounded to multiples of 2^-16: the sums are exact and the
// same in any order, up to 2^37.
struct StaySum {
  double deviation = 0, variance = 0;
  std::uint64_t followed = 0;

  void add(const StayPrompt& prompt);
  void add(const StaySum& other);
  // Absent while nothing can be said: variance below 5.
  std::optional<double> z() const;
  friend bool operator==(const StaySum&, const StaySum&) = default;
};

// Beyond this the traffic is taken to look at outcomes. High, because the check is looked at all the time.
inline constexpr double kStayLimit = 4.5;

}  // namespace gapwatch::stats
