#include "ingest/record_mark.h"

#include <array>

#include "ingest/draw_id.h"

namespace gapwatch::ingest {
namespace {

std::uint64_t digest_of(const Record& record, std::string_view value) {
  const std::array parts{draw_of(value), draw_of(record.key), static_cast<std::uint64_t>(record.time),
                         std::uint64_t{record.tombstone}};
  std::string bytes;
  for (const auto part : parts) {
    for (int shift = 0; shift < 64; shift += 8) bytes.push_back(static_cast<char>(part >> shift));
  }
  return draw_of(bytes);
}

}  // namespace

RecordMark mark_of(const Record& record, bool unread) {
  return {digest_of(record, record.value), unread ? record.value.size() : 0};
}

bool is_the_one(const Record& record, const RecordMark& mark) { return digest_of(record, record.value) == mark.digest; }

bool has_grown(const Record& record, const RecordMark& mark) {
  return !record.file().empty() && mark.unread_bytes > 0 && mark.unread_bytes < record.value.size() &&
         digest_of(record, record.value.substr(0, mark.unread_bytes)) == mark.digest;
}

}  // namespace gapwatch::ingest
