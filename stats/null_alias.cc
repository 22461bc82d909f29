#include "stats/null_alias.h"

#include <algorithm>

#include "base/wide.h"

namespace gapwatch::stats {

namespace {

// Of each slot how much of its share is filled, and the slots that have less than theirs, or not less.
struct Workspace {
  std::span<double> share;
  std::span<std::uint32_t> small, large;
};

void build_in(const Workspace& at, std::span<const double> weights, std::uint32_t first, AliasEntry* row, std::size_t slots) {
  const auto outcome = [&](std::size_t k) {
    return static_cast<std::uint16_t>(first + std::min(k, weights.size() - 1));
  };
  double sum = 0;
  for (const double w : weights) sum += w;
  std::size_t smalls = 0, larges = 0;
  for (std::size_t k = 0; k < slots; ++k) {
    at.share[k] = k < weights.size() ? weights[k] / sum * static_cast<double>(slots) : 0.0;
    (at.share[k] < 1 ? at.small[smalls++] : at.large[larges++]) = static_cast<std::uint32_t>(k);
  }
  while (smalls > 0 && larges > 0) {
    const auto s = at.small[--smalls], l = at.large[larges - 1];
    row[s] = {static_cast<std::uint32_t>(at.share[s] * 0x1p32), outcome(s), outcome(l)};
    at.share[l] -= 1 - at.share[s];
    if (at.share[l] < 1) {
      --larges;
      at.small[smalls++] = l;
    }
  }
  for (const auto k : at.large.first(larges)) row[k] = {0, outcome(k), outcome(k)};
  // What rounding left over: slots that are full but for the last bits, or empty ones nothing was left to
  // fill.
  const auto likeliest =
      static_cast<std::size_t>(std::max_element(weights.begin(), weights.end()) - weights.begin());
  for (const auto k : at.small.first(smalls)) {
    const auto own = k < weights.size() && weights[k] > 0 ? k : likeliest;
    row[k] = {0, outcome(own), outcome(own)};
  }
}

}  // namespace

void build_alias_row(std::span<const double> weights, std::uint32_t first, AliasEntry* row,
                     std::uint32_t bits) {
  constexpr std::size_t kFew = 64;
  const std::size_t slots = std::size_t{1} << bits;
  if (slots <= kFew) {
    std::array<double, kFew> share;
    std::array<std::uint32_t, kFew> small, large;
    return build_in({share, small, large}, weights, first, row, slots);
  }
  std::vector<double> share(slots);
  std::vector<std::uint32_t> small(slots), large(slots);
  build_in({share, small, large}, weights, first, row, slots);
}

std::uint32_t PackedAlias::add(std::span<const AliasEntry> row) {
  const auto first = static_cast<std::uint32_t>(packed_.size());
  for (const auto& entry : row) {
    packed_.push_back((entry.keep & 0xFFFF0000) | (std::uint32_t{entry.own} << 8) | entry.alias);
    low_bits_.push_back(static_cast<std::uint16_t>(entry.keep & 0xFFFF));
  }
  return first;
}

// Loops without branches, of which a compiler makes vectors.
GAPWATCH_WIDE void PackedAlias::pick(const Each<std::uint32_t>& entries, const Each<std::uint32_t>& at,
                                     const Each<std::uint32_t>& fraction, std::size_t count, std::uint8_t* outcomes) const {
  Each<std::uint32_t> picked;
  std::uint32_t ties = 0;
  for (std::size_t k = 0; k < count; ++k) {
    const std::uint32_t entry = entries[k], keep = entry >> 16, top = fraction[k] >> 16;
    const std::uint32_t below = (top - keep) >> 31;  // 1 where the fraction is, 0 else
    ties |= (top ^ keep) - 1;                        // the highest bit is set where they are alike
    picked[k] = ((entry >> 8) & (0u - below)) | (entry & (below - 1));
  }
  for (std::size_t k = 0; k < count; ++k) outcomes[k] = static_cast<std::uint8_t>(picked[k]);
  for (std::size_t k = 0; k < count && ties >> 31 != 0; ++k) {
    if (fraction[k] >> 16 != entries[k] >> 16) continue;
    const bool below = (fraction[k] & 0xFFFF) < low_bits_[at[k]];
    outcomes[k] = static_cast<std::uint8_t>(below ? entries[k] >> 8 : entries[k]);
  }
}

}  // namespace gapwatch::stats
