// Store: the narrow key-value seam the state is kept behind. RocksDB in production, a map in tests.
//
// One writer; get() and scan() are any thread's. write() is all or nothing, and durable when it returns. Errors: kRetry is passing (no
// room on the disk: the same write may succeed later and nothing was lost), kRefuse is for the operator.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gapwatch::state {

struct WriteBatch {
  struct Entry {
    std::string key;
    std::optional<std::string> value;  // none: delete the key
  };
  std::vector<Entry> entries;

  void put(std::string key, std::string value) { entries.push_back({std::move(key), std::move(value)}); }
  void erase(std::string key) { entries.push_back({std::move(key), std::nullopt}); }
};

class Store {
 public:
  virtual ~Store() = default;
  virtual Result<std::optional<std::string>> get(std::string_view key) = 0;
  // Every key that starts with `prefix`, ascending; stops early when `visit` gives an error.
  virtual Status scan(std::string_view prefix,
                      const std::function<Status(std::string_view key, std::string_view value)>& visit) = 0;
  virtual Status write(const WriteBatch& batch) = 0;
  virtual std::uint64_t size_bytes() const = 0;
  // Whether what is written now would be found again; kRetry where the folder was taken away under us.
  virtual Status usable() { return {}; }
};

struct RocksOptions {
  std::string path;
  std::uint64_t write_buffer_bytes = 32 << 20;
  std::uint64_t block_cache_bytes = 32 << 20;
  bool read_only = false;  // for inspection; does not take the lock
  // A write that would leave less than this free on the disk is not begun (kRetry).
  std::uint64_t keep_free_bytes = 4 << 20;
};

// Opens or creates the folder. Refuses a folder that is locked, damaged, not ours or not writable, saying which.
Result<std::unique_ptr<Store>> open_rocks_store(const RocksOptions& options);

// The twin without a disk. fail_next_writes makes the coming writes fail as a full disk does.
class MemoryStore final : public Store {
 public:
  MemoryStore() = default;
  MemoryStore(const MemoryStore& other) : entries_(other.entries_), failing_writes_(other.failing_writes_) {}
  Result<std::optional<std::string>> get(std::string_view key) override;
  Status scan(std::string_view prefix,
              const std::function<Status(std::string_view, std::string_view)>& visit) override;
  Status write(const WriteBatch& batch) override;
  std::uint64_t size_bytes() const override;

  void fail_next_writes(int count) { failing_writes_ = count; }
  const std::map<std::string, std::string, std::less<>>& entries() const { return entries_; }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::string, std::less<>> entries_;
  int failing_writes_ = 0;
};

}  // namespace gapwatch::state
