// Why a record is skipped or rejected: the fixed words of rejected_total{reason}, each with what
// it means. Beside them only a mapping's own words (the reasons of its conditions) are used.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gapwatch::ingest {

enum class Reason : std::uint8_t {
  kTombstone,
  kEmpty,
  kEventTooLong,
  kNotJson,
  kNotUtf8,
  kNotObject,
  kTooDeep,
  kDuplicateKey,
  kMissingField,
  kWrongType,
  kOutOfRange,
  kNameTooLong,
  kBadTime,
  kUnknownType,
  kConflictingFields,
  kNotCsv,
  kNotAvro,
  kUnknownMagic,
  kUnknownSchema,
  kUnknownLabel,
  kError,
  kUnscored,
  kNoEvents,
  kCount,
};

struct ReasonText {
  Reason reason;
  std::string_view word, sentence;
};

inline constexpr std::array<ReasonText, static_cast<std::size_t>(Reason::kCount)> kReasons{{
    {Reason::kTombstone, "tombstone", "The record has a key and a null value: a deletion, which carries no draw."},
    {Reason::kEmpty, "empty", "The value is empty or only white space."},
    {Reason::kEventTooLong, "event_too_long", "The event is longer than events.max_event or the line bound."},
    {Reason::kNotJson, "not_json", "The value is not one whole JSON document."},
    {Reason::kNotUtf8, "not_utf8", "The value is not valid UTF-8."},
    {Reason::kNotObject, "not_object", "The value is JSON, but not an object."},
    {Reason::kTooDeep, "too_deep", "Objects or arrays are nested deeper than 64 levels."},
    {Reason::kDuplicateKey, "duplicate_key", "A field that gapwatch reads stands twice, so the event says two things."},
    {Reason::kMissingField, "missing_field", "A required field is not there, is null or is an empty string."},
    {Reason::kWrongType, "wrong_type", "A field has another type than the one declared."},
    {Reason::kOutOfRange, "out_of_range", "A field's number lies outside its range."},
    {Reason::kNameTooLong, "name_too_long", "A name is longer than events.max_name."},
    {Reason::kBadTime, "bad_time", "ts is not an RFC 3339 time that exists."},
    {Reason::kUnknownType, "unknown_type", "`type` names a kind of event that gapwatch does not know."},
    {Reason::kConflictingFields, "conflicting_fields", "Fields that exclude each other stand together."},
    {Reason::kNotCsv, "not_csv", "The value is not comma-separated lines below a line of names."},
    {Reason::kNotAvro, "not_avro", "The value is not what its Avro schema says."},
    {Reason::kUnknownMagic, "unknown_magic", "The value does not begin with the byte 0, as Confluent's framing does."},
    {Reason::kUnknownSchema, "unknown_schema", "The mapping has no schema of this id."},
    {Reason::kUnknownLabel, "unknown_label", "The mapping's labels do not say what this label is worth."},
    {Reason::kError, "error", "The generation or the evaluation failed (error_when), and no scorer is named that missed it."},
    {Reason::kUnscored, "unscored", "The response exists and was not judged. Only `gapwatch decode` skips it: it is counted, as unscored."},
    {Reason::kNoEvents, "no_events", "The record has nothing to count in it: its lists are empty, or drop_when left nothing."},
}};

constexpr std::string_view word(Reason reason) { return kReasons[static_cast<std::size_t>(reason)].word; }

}  // namespace gapwatch::ingest
