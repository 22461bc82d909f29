// Alias rows: one look-up draws one of a few outcomes, exactly to 2^-32 an outcome.
//
// A row has a power of two of slots; slot and fraction come from one 32-bit number.
//
// Threads: const access is safe to share. Cost: 1 ns in cache.
// Source: Vose, "A linear algorithm for generating random numbers with a given distribution" (1991).
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

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

// Rows of outcomes below 256, for many look-ups at once: the upper 16 bits of `keep`, own and alias in a word; the lower 16
// bits lie apart and are looked at once in 65,536 draws.
class PackedAlias {
 public:
  // Look-ups at once; they cost least in whole vectors, so room is for one beyond 256.
  static constexpr std::size_t kVector = 32, kMost = 256 + kVector;
  template <typename T>
  using Each = std::array<T, kMost>;

  // The place of its first entry.
  std::uint32_t add(std::span<const AliasEntry> row);
  // In a row of 2^bits entries, by a number that is uniform on 32 bits: the place of the entry from the row's first, and
  // the fraction that pick() takes.
  static std::uint32_t entry_of(std::uint32_t number, std::uint32_t bits) { return (number >> 1) >> (31 - bits); }
  static std::uint32_t fraction_of(std::uint32_t number, std::uint32_t bits) { return number << bits; }
  std::uint32_t operator[](std::uint32_t at) const { return packed_[at]; }
  // The outcomes of the first `count` `entries`, which lie `at` these places, as alias_pick() gives them.
  void pick(const Each<std::uint32_t>& entries, const Each<std::uint32_t>& at, const Each<std::uint32_t>& fraction,
            std::size_t count, std::uint8_t* outcomes) const;

 private:
  std::vector<std::uint32_t> packed_;
  std::vector<std::uint16_t> low_bits_;
};

}  // namespace gapwatch::stats
