#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <shared_mutex>

#include "base/log.h"
#include "state/store.h"

namespace gapwatch::state {
namespace {

namespace fs = std::filesystem;

rocksdb::Slice slice(std::string_view text) { return {text.data(), text.size()}; }

bool no_room(const rocksdb::Status& status) {
  return status.IsNoSpace() || status.ToString().find("No space left") != std::string::npos ||
         status.ToString().find("Disk quota") != std::string::npos;
}

Error damaged(const std::string& where, const std::string& why) {
  return refuse(where + " is damaged (" + why +
                "); move it away and start again: the counts are rebuilt from the stream, or restore a backup");
}

// What the operator should hear, by what RocksDB says.
Error explain(const std::string& path, const rocksdb::Status& status) {
  const auto text = status.ToString();
  const auto where = "state folder " + path;
  const auto says = [&](const char* words) { return text.find(words) != std::string::npos; };
  if (no_room(status)) return retry(where + ": no room on the disk; free some space, counting goes on by itself then");
  if (status.IsCorruption()) return damaged(where, text);
  if (says("Read-only file system")) {
    return refuse(where + " is on a file system that is mounted read-only; mount it for writing, or name another in state.path");
  }
  if (says("Permission denied")) {
    return refuse(where + " cannot be read and written by this user; change its owner or its mode");
  }
  if (says("lock hold by current process") || says("While lock file")) {
    return refuse(where + " is in use by another gapwatch; stop that one, or give this one a folder of its own");
  }
  return refuse(where + ": " + text);
}

// What RocksDB says goes to our log: errors as warnings, the rest for who debugs. Its own log is a file in the state
// folder, and where that finds no room Debian's RocksDB aborts the process.
class RocksLog final : public rocksdb::Logger {
 public:
  RocksLog() : rocksdb::Logger(rocksdb::InfoLogLevel::WARN_LEVEL) {}
  using rocksdb::Logger::Logv;
  void Logv(const char* format, va_list arguments) override { Logv(rocksdb::InfoLogLevel::WARN_LEVEL, format, arguments); }
  void Logv(const rocksdb::InfoLogLevel level, const char* format, va_list arguments) override {
    if (level < GetInfoLogLevel()) return;
    std::array<char, 1'000> text{};
    std::vsnprintf(text.data(), text.size(), format, arguments);
    const auto line = "RocksDB: " + log::printable(text.data(), text.size());
    if (level == rocksdb::InfoLogLevel::ERROR_LEVEL || level == rocksdb::InfoLogLevel::FATAL_LEVEL) {
      log::warn(line);
    } else {
      log::debug(line);
    }
  }
};

rocksdb::Options rocks_options(const RocksOptions& options) {
  rocksdb::Options rocks;
  rocks.create_if_missing = true;
  rocks.paranoid_checks = true;
  rocks.write_buffer_size = options.write_buffer_bytes;
  rocks.max_write_buffer_number = 2;
  rocks.max_background_jobs = 2;
  rocks.max_total_wal_size = 4 * options.write_buffer_bytes;
  // Every batch is synced, so only the last can be torn; what is wrong before it is damage, and said to be.
  rocks.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  rocks.allow_fallocate = false;  // a small disk is not filled with room set aside
  rocks.info_log = std::make_shared<RocksLog>();
  rocks.max_open_files = 256;
  rocks.compression = rocksdb::kLZ4Compression;
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(options.block_cache_bytes);
  // Indexes and filters live in the cache, in small parts: else their memory grows with the state.
  table.cache_index_and_filter_blocks = true;
  table.cache_index_and_filter_blocks_with_high_priority = true;
  table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
  table.partition_filters = true;
  table.enable_index_compression = false;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  table.format_version = 5;  // readable by every supported RocksDB
  rocks.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return rocks;
}

// RocksDB takes a folder without CURRENT for a new one, and deletes what it does not know.
bool lost_its_beginning(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder / "CURRENT", error)) return false;
  const auto holds_data = [](const fs::directory_entry& entry) {
    return entry.path().extension() == ".sst" || entry.path().extension() == ".log";
  };
  return std::any_of(fs::directory_iterator(folder, error), fs::directory_iterator(), holds_data);
}

Result<std::unique_ptr<rocksdb::DB>> open_database(const RocksOptions& options) {
  const auto rocks = rocks_options(options);
  rocksdb::DB* db = nullptr;
  const auto status = options.read_only ? rocksdb::DB::OpenForReadOnly(rocks, options.path, &db)
                                        : rocksdb::DB::Open(rocks, options.path, &db);
  if (no_room(status)) return refuse("state folder " + options.path + ": no room on the disk; free some space and start again");
  if (!status.ok()) return explain(options.path, status);
  return std::unique_ptr<rocksdb::DB>(db);
}

// Which folder it is that has this name now; nothing where it holds no database.
std::optional<std::pair<dev_t, ino_t>> identity(const std::string& path) {
  struct stat info {};
  if (::stat((path + "/CURRENT").c_str(), &info) != 0 || ::stat(path.c_str(), &info) != 0) return std::nullopt;
  return std::pair(info.st_dev, info.st_ino);
}

class RocksStore final : public Store {
 public:
  RocksStore(RocksOptions options, std::unique_ptr<rocksdb::DB> db)
      : options_(std::move(options)), folder_(identity(options_.path)), db_(std::move(db)) {}

  Result<std::optional<std::string>> get(std::string_view key) override {
    Reading reading(mutex_, std::defer_lock);
    if (auto status = open_for(reading); !status) return status.error();
    std::string value;
    const auto status = db_->Get(rocksdb::ReadOptions(), slice(key), &value);
    if (status.IsNotFound()) return std::optional<std::string>();
    if (!status.ok()) return explain(options_.path, status);
    return std::optional<std::string>(std::move(value));
  }

  Status scan(std::string_view prefix,
              const std::function<Status(std::string_view, std::string_view)>& visit) override {
    Reading reading(mutex_, std::defer_lock);
    if (auto status = open_for(reading); !status) return status;
    rocksdb::ReadOptions options;
    options.fill_cache = false;
    const std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator(options));
    for (it->Seek(slice(prefix)); it->Valid() && it->key().starts_with(slice(prefix)); it->Next()) {
      const auto key = it->key(), value = it->value();
      if (auto status = visit({key.data(), key.size()}, {value.data(), value.size()}); !status) return status;
    }
    if (!it->status().ok()) return explain(options_.path, it->status());
    return {};
  }

  Status write(const WriteBatch& batch) override {
    if (auto status = usable(); !status) return status;
    rocksdb::WriteBatch rocks;
    for (const auto& [key, value] : batch.entries) {
      const auto status = value ? rocks.Put(slice(key), slice(*value)) : rocks.Delete(slice(key));
      if (!status.ok()) return explain(options_.path, status);
    }
    if (auto status = ensure_room(rocks.GetDataSize()); !status) return status;
    Reading reading(mutex_, std::defer_lock);
    if (auto status = open_for(reading); !status) return status;
    rocksdb::WriteOptions writing;
    writing.sync = true;
    const auto status = db_->Write(writing, &rocks);
    if (status.ok()) return {};
    // A database that failed to write takes nothing more; opened anew it holds what was durable before.
    reading.unlock();
    const std::unique_lock alone(mutex_);
    db_.reset();
    return explain(options_.path, status);
  }

  // RocksDB writes on into files that were deleted.
  Status usable() override {
    if (folder_ && identity(options_.path) == folder_) return {};
    return retry("state folder " + options_.path + " was deleted or replaced while it was in use; nothing is saved. Put it "
                 "back and counting goes on, or restart gapwatch to count from what is there now");
  }

  std::uint64_t size_bytes() const override {
    std::uint64_t bytes = 0;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(options_.path, error)) {
      const auto size = entry.file_size(error);
      if (!error) bytes += size;
    }
    return bytes;
  }

 private:
  using Reading = std::shared_lock<std::shared_mutex>;


  // The database stays open while `reading` is held.
  Status open_for(Reading& reading) {
    for (reading.lock(); !db_; reading.lock()) {
      reading.unlock();
      const std::unique_lock alone(mutex_);
      if (db_) continue;
      auto opened = open_database(options_);
      if (!opened) return opened.error();
      db_ = std::move(*opened);
    }
    return {};
  }

  // Twice the batch: once for the log, once for the table it becomes.
  Status ensure_room(std::uint64_t batch_bytes) const {
    std::error_code error;
    const auto space = fs::space(options_.path, error);
    if (error || space.available >= options_.keep_free_bytes + 2 * batch_bytes) return {};
    return explain(options_.path, rocksdb::Status::NoSpace());
  }

  const RocksOptions options_;
  const std::optional<std::pair<dev_t, ino_t>> folder_;  // what was opened
  std::shared_mutex mutex_;  // of the pointer
  std::unique_ptr<rocksdb::DB> db_;  // null after a failed write, until the next call
};

}  // namespace

Result<std::unique_ptr<Store>> open_rocks_store(const RocksOptions& options) {
  if (lost_its_beginning(options.path)) {
    return damaged("state folder " + options.path, "its file CURRENT is missing; nothing in it was touched");
  }
  std::error_code error;
  if (options.read_only && !fs::exists(fs::path(options.path) / "CURRENT", error)) {
    return refuse("state folder " + options.path + " holds no state (no file CURRENT in it)");
  }
  if (!options.read_only) {
    fs::create_directories(options.path, error);
    if (error) {
      return refuse("state folder " + options.path + " cannot be made: " + error.message() +
                    "; make it, or name another in state.path");
    }
  }
  auto db = open_database(options);
  if (!db) return refuse(db.error().message);
  return std::unique_ptr<Store>(std::make_unique<RocksStore>(options, std::move(*db)));
}

}  // namespace gapwatch::state
