#include "ingest/fate.h"

#include <fmt/format.h>

#include "base/log.h"

namespace gapwatch::ingest {
std::string place_of(const PartitionName& from, const Record& record) {
  if (record.file().empty()) return fmt::format("{}/{} at {}", from.topic, from.partition, record.offset);
  return record.document ? from.topic : fmt::format("{}:{}", from.topic, record.offset + 1);
}

void Fate::reject(std::map<std::string, std::uint64_t, std::less<>>& counts, const PartitionName& from,
                  const Record& record, std::string_view reason, std::string_view detail) {
  const auto at = counts.find(reason);
  if (at == counts.end()) {
    counts.emplace(reason, 1);
  } else {
    ++at->second;
  }
  auto& said = said_[std::string(reason)];
  const auto now = clock_.steady_now();
  if (now < said.next) {
    ++said.quiet;
    return;
  }
  said.next = now + std::chrono::seconds(10);
  const auto more = said.quiet > 0 ? fmt::format(" ({} more since the last line)", said.quiet) : "";
  said.quiet = 0;
  log::warn(fmt::format("rejected {}: {}: {}{}; record: {}", place_of(from, record), reason, log::printable(detail, 300),
                        more, log::printable(record.value, 120)));
}

}  // namespace gapwatch::ingest
