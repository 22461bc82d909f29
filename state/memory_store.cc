#include "state/store.h"

namespace gapwatch::state {

Result<std::optional<std::string>> MemoryStore::get(std::string_view key) {
  const std::lock_guard lock(mutex_);
  const auto at = entries_.find(key);
  if (at == entries_.end()) return std::optional<std::string>();
  return std::optional<std::string>(at->second);
}

Status MemoryStore::scan(std::string_view prefix,
                         const std::function<Status(std::string_view, std::string_view)>& visit) {
  const std::lock_guard lock(mutex_);
  for (auto at = entries_.lower_bound(prefix); at != entries_.end() && at->first.starts_with(prefix); ++at) {
    if (auto status = visit(at->first, at->second); !status) return status;
  }
  return {};
}

Status MemoryStore::write(const WriteBatch& batch) {
  const std::lock_guard lock(mutex_);
  if (failing_writes_ > 0) {
    --failing_writes_;
    return retry("no room for the state (asked for by a test)");
  }
  for (const auto& [key, value] : batch.entries) {
    if (value) {
      entries_[key] = *value;
    } else {
      entries_.erase(key);
    }
  }
  return {};
}

std::uint64_t MemoryStore::size_bytes() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t bytes = 0;
  for (const auto& [key, value] : entries_) bytes += key.size() + value.size();
  return bytes;
}

}  // namespace gapwatch::state
