// Keys of the store and the small values (state/FORMAT.md).
//
// Everything of a partition starts with one letter for its kind and the partition's place, so that
// a partition can be read, moved or dropped by prefix. The history's keys are in history.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "state/catalog.h"
#include "state/row.h"

namespace gapwatch::state {

inline constexpr char kMetaKey[] = "M";
inline constexpr char kStreamTimeKey[] = "T";
inline constexpr std::uint32_t kFormatVersion = 1;

enum class KeyKind : char {
  kOffset = 'O',
  kName = 'N',
  kRow = 'R',
  kRoute = 'D',
  kPartitionEvidence = 'P',
  kPromptEvidence = 'E',
  kMonitor = 'A',  // not of a partition
  kHistory = 'H',  // nor this
};

std::string partition_place(std::string_view topic, std::int32_t partition);
// The prefix of all keys of this kind in the partition.
std::string key_prefix(KeyKind kind, std::string_view place);

std::string offset_key(std::string_view place);
std::string name_key(std::string_view place, std::uint32_t id);
std::string row_key(std::string_view place, std::string_view eval, std::string_view scorer,
                    std::string_view prompt);
std::string route_key(std::string_view place, std::string_view router, std::string_view eval,
                      std::string_view prompt);

std::string partition_evidence_key(std::string_view place, std::string_view monitor);
std::string prompt_evidence_key(std::string_view place, std::string_view monitor, std::string_view prompt);
std::string monitor_key(std::string_view monitor);

struct PartitionPlace {
  std::string topic;
  std::int32_t partition = 0;
};
// The place an offset key names.
Result<PartitionPlace> parse_offset_key(std::string_view key);

struct RowName {
  std::string eval, scorer, prompt;
};
// `key` without its prefix.
Result<RowName> parse_row_key(std::string_view rest);

struct RouteName {
  std::string router, eval, prompt;
};
Result<RouteName> parse_route_key(std::string_view rest);

struct PromptEvidenceName {
  std::string monitor, prompt;
};
Result<PromptEvidenceName> parse_prompt_evidence_key(std::string_view rest);

std::string encode_decision(const Decision& decision, const Catalog& catalog);
Status decode_decision(std::string_view bytes, Catalog& catalog, Decision& decision);

struct Position {
  Offset next = 0;
  std::optional<RecordMark> last;  // of the record before
};
std::string encode_position(const Position& position);
Result<Position> decode_position(std::string_view bytes);

std::string encode_stream_time(TimeMs time);
Result<TimeMs> decode_stream_time(std::string_view bytes);

}  // namespace gapwatch::state
