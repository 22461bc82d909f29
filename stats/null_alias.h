// Alias rows: one look-up draws one of a few outcomes, exactly to 2^-32 an outcome.
//
// A row has a power of two of slots; slot and fraction come from one 32-bit number.
//
// Threads: const access is safe to share. Cost: 1 ns in cache.
// Source: Vose, "A linear algorithm for generating random numbers with a given distribution" (1991).
#pragma once

#include <bit>
#include <cstdint>
#include <span>

namespace gapwatch::stats {

struct AliasEntry {
  std::uint32_t keep;  // the slot's own outcome where the fraction is below
  std::uint16_t own, alias;
};

// Slot bits for `outcomes` >= 1 outcomes.
inline std::uint32_t alias_bits(std::uint64_t outcomes) {
  return static_cast<std::uint32_t>(std::bit_width(outcomes - 1));
}

// Fills row[0 .. 2^bits): outcome first + k has weight weights[k] >= 0; not all zero, at most 2^bits of them.
void build_alias_row(std::span<const double> weights, std::uint32_t first, AliasEntry* row,
                     std::uint32_t bits);

// `number` is uniform on 32 bits.
inline std::uint32_t alias_pick(const AliasEntry* row, std::uint32_t bits, std::uint64_t number) {
  const AliasEntry entry = row[(number << bits) >> 32];
  // Arithmetic instead of a branch, which would be mispredicted half of the time.
  const std::uint32_t other =
      0u - static_cast<std::uint32_t>(static_cast<std::uint32_t>(number << bits) >= entry.keep);
  return entry.own ^ ((entry.own ^ entry.alias) & other);
}

}  // namespace gapwatch::stats
