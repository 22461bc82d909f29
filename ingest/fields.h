// Fields: what a JSON object says, field by field, before anyone asks what it means.
//
// A reader (json_reader, flat_reader) fills it, interpret() turns it into an event. All text is a
// view into the record or the reader's memory.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/reasons.h"

namespace gapwatch::ingest {

enum class Field : std::uint8_t {
  kPrompt, kPolicy, kCorrect, kScore, kDraw, kUnscored, kEval, kScorer, kSlice, kAnswer, kId, kTs,
  kVersion, kPropensity, kRetract, kSuccesses, kTrials, kType, kRouter, kWeights,
  kUnknown,
};
inline constexpr std::size_t kFieldCount = static_cast<std::size_t>(Field::kUnknown);

// In the order of Field.
inline constexpr std::array<std::string_view, kFieldCount> kFieldNames{
    "prompt", "policy", "correct", "score", "draw", "unscored", "eval", "scorer", "slice", "answer", "id", "ts",
    "version", "propensity", "retract", "successes", "trials", "type", "router", "weights"};

constexpr std::string_view name_of(Field field) { return kFieldNames[static_cast<std::size_t>(field)]; }

enum class Kind : std::uint8_t { kString, kNumber, kTrue, kFalse, kNull, kNotFinite, kObject, kArray };

struct Raw {
  Kind kind = Kind::kNull;
  std::string_view text;  // of kString: unescaped, valid UTF-8; of kNumber: valid JSON number
};

struct Entry {
  std::string_view key;
  Raw value;
};

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

// The field that a key names, kUnknown for any other.
Field field_of(std::string_view key);

// One past the end of the JSON number that starts at `at`, or nullptr where none does.
const char* number_end(const char* at, const char* end);

}  // namespace gapwatch::ingest
