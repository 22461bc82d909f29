#include "stats/win_stay.h"

#include <cmath>
#include <limits>

namespace gapwatch::stats {

namespace {

// Multiples of 2^-16 below 2^37 add without error in a double, so that no order of prompts or partitions changes a bit.
double rounded(double term) { return std::nearbyint(term * 0x1p16) * 0x1p-16; }

double deviation(const StayCell& cell) {
  if (cell.followed == 0) return 0;
  return rounded(cell.winning_stays - static_cast<double>(cell.wins) * cell.stays / cell.followed);
}

double variance(const StayCell& cell) {
  const double n = cell.followed;
  if (n < 2) return 0;
  return rounded(cell.wins * (n - cell.wins) * cell.stays * (n - cell.stays) / (n * n * (n - 1)));
}

}  // namespace

void StayPrompt::next(std::uint32_t policy, bool success) {
  if (any) {
    if (cells.size() <= last_policy) cells.resize(last_policy + std::size_t{1});
    auto& cell = cells[last_policy];
    if (cell.followed < std::numeric_limits<std::uint16_t>::max()) {
      const bool stayed = policy == last_policy;
      const auto grow = [](std::uint16_t& count, bool by) { count = static_cast<std::uint16_t>(count + (by ? 1 : 0)); };
      grow(cell.followed, true);
      grow(cell.wins, last_success);
      grow(cell.stays, stayed);
      grow(cell.winning_stays, stayed && last_success);
    }
  }
  any = true;
  last_policy = policy;
  last_success = success;
}

void StaySum::add(const StayPrompt& prompt) {
  for (const auto& cell : prompt.cells) {
    deviation += stats::deviation(cell);
    variance += stats::variance(cell);
    followed += cell.followed;
  }
}

void StaySum::add(const StaySum& other) {
  deviation += other.deviation;
  variance += other.variance;
  followed += other.followed;
}

std::optional<double> StaySum::z() const {
  constexpr double kEnough = 5;
  if (variance < kEnough) return std::nullopt;
  return deviation / std::sqrt(variance);
}

}  // namespace gapwatch::stats
