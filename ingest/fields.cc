#include "ingest/fields.h"

namespace gapwatch::ingest {
namespace {

// The names differ within their first eight bytes, so these, as a number, times a multiplier that
// leaves no two in one slot, find the only name a key can be.
constexpr unsigned kSlotBits = 6;

constexpr std::uint64_t first_bytes(std::string_view key) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < key.size() && i < 8; ++i) {
    word |= static_cast<std::uint64_t>(static_cast<unsigned char>(key[i])) << (8 * i);
  }
  return word;
}

constexpr std::size_t slot_of(std::uint64_t word, std::uint64_t multiplier) {
  return static_cast<std::size_t>((word * multiplier) >> (64 - kSlotBits));
}

constexpr bool is_perfect(std::uint64_t multiplier) {
  std::uint64_t taken = 0;
  for (const auto name : kFieldNames) {
    const auto bit = std::uint64_t{1} << slot_of(first_bytes(name), multiplier);
    if ((taken & bit) != 0) return false;
    taken |= bit;
  }
  return true;
}

constexpr std::uint64_t find_multiplier() {
  std::uint64_t candidate = 0x9e3779b97f4a7c15;
  while (!is_perfect(candidate)) candidate = candidate * 6364136223846793005 + 1442695040888963407;
  return candidate;
}

constexpr std::uint64_t kMultiplier = find_multiplier();

constexpr auto kSlots = [] {
  std::array<Field, std::size_t{1} << kSlotBits> slots{};
  for (auto& slot : slots) slot = Field::kUnknown;
  for (std::size_t i = 0; i < kFieldCount; ++i) {
    slots[slot_of(first_bytes(kFieldNames[i]), kMultiplier)] = static_cast<Field>(i);
  }
  return slots;
}();

bool is_digit(char c) { return c >= '0' && c <= '9'; }

const char* digits_end(const char* at, const char* end) {
  while (at != end && is_digit(*at)) ++at;
  return at;
}

}  // namespace

Field field_of(std::string_view key) {
  if (key.empty() || key.size() > 10) return Field::kUnknown;
  const Field candidate = kSlots[slot_of(first_bytes(key), kMultiplier)];
  if (candidate == Field::kUnknown || name_of(candidate) != key) return Field::kUnknown;
  return candidate;
}

const char* number_end(const char* at, const char* end) {
  if (at != end && *at == '-') ++at;
  if (at == end || !is_digit(*at)) return nullptr;
  at = *at == '0' ? at + 1 : digits_end(at, end);
  if (at != end && *at == '.') {
    const char* fraction = at + 1;
    at = digits_end(fraction, end);
    if (at == fraction) return nullptr;
  }
  if (at != end && (*at == 'e' || *at == 'E')) {
    ++at;
    if (at != end && (*at == '+' || *at == '-')) ++at;
    const char* exponent = at;
    at = digits_end(exponent, end);
    if (at == exponent) return nullptr;
  }
  return at;
}

}  // namespace gapwatch::ingest
