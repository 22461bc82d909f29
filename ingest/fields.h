// Fields: what a JSON object says, field by field, before anyone asks what it means.
//
// A reader (json_reader, flat_reader) fills it, interpret() turns it into an event. All text is a
// view into the record or the reader's memory.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/reasons.h"

namespace gapwatch::ingest {

enum class Field : std::uint8_t {
  kPrompt, kPolicy, kCorrect, kScore, kDraw, kUnscored, kEval, kScorer, kSlice, kAnswer, kId, kTs,
  kVersion, kPropensity, kRetract, kSuccesses, kTrials, kType, kRouter, kWeights, kSequence,
  kUnknown,
};
inline constexpr std::size_t kFieldCount = static_cast<std::size_t>(Field::kUnknown);

// In the order of Field.
inline constexpr std::array<std::string_view, kFieldCount> kFieldNames{
    "prompt", "policy", "correct", "score", "draw", "unscored", "eval", "scorer", "slice", "answer", "id", "ts",
    "version", "propensity", "retract", "successes", "trials", "type", "router", "weights", "sequence"};

constexpr std::string_view name_of(Field field) { return kFieldNames[static_cast<std::size_t>(field)]; }

enum class Kind : std::uint8_t {
  kString,
  kInteger,    // a number without fraction and exponent
  kNumber,     // any other number
  kNotFinite,  // NaN, Infinity, -Infinity
  kTrue,
  kFalse,
  kNull,
  kObject,
  kArray,
};

struct Raw {
  Kind kind = Kind::kNull;
  std::string_view text;    // of kString: unescaped, valid UTF-8; of kInteger and kNumber: valid as JSON
  std::uint64_t value = 0;  // of a kInteger of at most 18 characters and no sign; else 0
};

inline bool is_number(const Raw& raw) { return raw.kind == Kind::kInteger || raw.kind == Kind::kNumber; }

// A number too small for a double is zero, as in every JSON reader; one too large, and what is no number, is nothing.
std::optional<double> to_double(std::string_view text);

struct Entry {
  std::string_view key;
  Raw value;
};

constexpr std::uint32_t mask_of(std::initializer_list<Field> fields) {
  std::uint32_t mask = 0;
  for (const Field field : fields) mask |= 1u << static_cast<unsigned>(field);
  return mask;
}

struct Fields {
  std::uint32_t present = 0;  // a bit for each Field
  std::array<Raw, kFieldCount> raw;
  std::vector<Entry> propensity, weights;  // the entries, where these are objects

  void clear() {
    present = 0;
    propensity.clear();
    weights.clear();
  }
  bool has(Field field) const { return (present >> static_cast<unsigned>(field) & 1u) != 0; }
  // Whether any of the fields in the mask (bits as in `present`) is there.
  bool has_any(std::uint32_t mask) const { return (present & mask) != 0; }
  const Raw& operator[](Field field) const { return raw[static_cast<std::size_t>(field)]; }
  // False where the field is there already.
  bool put(Field field, Raw value) {
    const auto bit = 1u << static_cast<unsigned>(field);
    if ((present & bit) != 0) return false;
    present |= bit;
    raw[static_cast<std::size_t>(field)] = value;
    return true;
  }
};

// Why a record cannot be read, with the detail for the log.
struct Fault {
  Reason reason;
  std::string detail;
};

// The first eight bytes of a key as a number, the first byte lowest; missing ones are zero.
constexpr std::uint64_t first_bytes(std::string_view key) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < key.size() && i < 8; ++i) {
    word |= static_cast<std::uint64_t>(static_cast<unsigned char>(key[i])) << (8 * i);
  }
  return word;
}

// The names differ within their first eight bytes, so these, as a number, times a multiplier that
// leaves no two in one slot, find the only name a key can be.
namespace key_table {

struct Slot {
  std::uint64_t word = 0;
  std::size_t size = 0;  // 0: no name is here
  Field field = Field::kUnknown;
};

inline constexpr unsigned kBits = 6;

constexpr std::size_t slot_of(std::uint64_t word, std::uint64_t multiplier) {
  return static_cast<std::size_t>((word * multiplier) >> (64 - kBits));
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

inline constexpr std::uint64_t kMultiplier = find_multiplier();

inline constexpr auto kSlots = [] {
  std::array<Slot, std::size_t{1} << kBits> slots{};
  for (std::size_t i = 0; i < kFieldCount; ++i) {
    const auto word = first_bytes(kFieldNames[i]);
    slots[slot_of(word, kMultiplier)] = {word, kFieldNames[i].size(), static_cast<Field>(i)};
  }
  return slots;
}();

}  // namespace key_table

// The field that a key names, kUnknown for any other. `word` is first_bytes(key), for those who
// have it at hand.
[[gnu::always_inline]] inline Field field_of(std::uint64_t word, std::string_view key) {
  const auto& slot = key_table::kSlots[key_table::slot_of(word, key_table::kMultiplier)];
  if (slot.word != word || slot.size != key.size()) return Field::kUnknown;
  if (key.size() > 8 && name_of(slot.field).substr(8) != key.substr(8)) return Field::kUnknown;
  return slot.field;
}
inline Field field_of(std::string_view key) { return field_of(first_bytes(key), key); }

// Reads the JSON number that starts at `at` and returns one past its end, or nullptr where none does.
const char* scan_number(const char* at, const char* end, Raw& number);

}  // namespace gapwatch::ingest
