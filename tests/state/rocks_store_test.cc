#include <sys/mount.h>

#include <filesystem>
#include <fstream>

#include "state/store.h"
#include "tests/support/small_disk.h"
#include "tests/support/temp_dir.h"

namespace gapwatch::state {
namespace {

TEST(RocksStore, KeepsWhatWasWrittenAndLocksItsFolder) {
  const testing::TempDir dir;
  RocksOptions options;
  options.path = dir.path() / "state";
  {
    auto store = open_rocks_store(options);
    ASSERT_TRUE(store) << store.error().message;
    WriteBatch batch;
    batch.put("a", "1");
    batch.put("b", std::string(3000, 'x'));
    ASSERT_TRUE((*store)->write(batch));
    WriteBatch erasing;
    erasing.erase("a");
    ASSERT_TRUE((*store)->write(erasing));
    const auto second = open_rocks_store(options);
    ASSERT_FALSE(second);
    EXPECT_NE(second.error().message.find("in use by another gapwatch"), std::string::npos) << second.error().message;
  }
  options.read_only = true;
  auto store = open_rocks_store(options);
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_EQ(**(*store)->get("b"), std::string(3000, 'x'));
  EXPECT_EQ(*(*store)->get("a"), std::nullopt);
  options.path = dir.path() / "nothing";
  EXPECT_FALSE(open_rocks_store(options));
}

TEST(RocksStore, AFolderTakenAwayIsNoticedAndMayComeBack) {
  const testing::TempDir dir;
  RocksOptions options;
  options.path = (dir.path() / "state").string();
  auto store = open_rocks_store(options).value();
  WriteBatch batch;
  batch.put("key", "value");
  ASSERT_TRUE(store->write(batch));
  std::filesystem::rename(options.path, dir.path() / "moved");
  for (const bool replaced : {false, true}) {
    if (replaced) std::filesystem::create_directories(options.path);
    const auto status = store->write(batch);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().action, Action::kRetry);
    EXPECT_NE(status.error().message.find("deleted or replaced"), std::string::npos) << status.error().message;
    EXPECT_FALSE(store->usable());
  }
  std::filesystem::remove(options.path);
  std::filesystem::rename(dir.path() / "moved", options.path);
  EXPECT_TRUE(store->write(batch));
}

TEST(RocksStore, DamageIsSaid) {
  const testing::TempDir dir;
  RocksOptions options;
  options.path = dir.path() / "state";
  ASSERT_TRUE(open_rocks_store(options));
  for (const auto& entry : std::filesystem::directory_iterator(options.path)) {
    if (entry.path().filename().string().starts_with("MANIFEST")) std::filesystem::resize_file(entry.path(), 5);
  }
  const auto store = open_rocks_store(options);
  ASSERT_FALSE(store);
  EXPECT_NE(store.error().message.find("is damaged"), std::string::npos) << store.error().message;
}

std::vector<std::filesystem::path> files_of(const RocksOptions& options, const char* extension) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(options.path)) {
    if (entry.path().extension() == extension) found.push_back(entry.path());
  }
  return found;
}

void flip_the_middle(const std::filesystem::path& path) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  const auto at = static_cast<std::streamoff>(std::filesystem::file_size(path) / 2);
  file.seekg(at);
  const auto byte = static_cast<char>(file.get() ^ 0x55);
  file.seekp(at);
  file.put(byte);
}

// Batches of a hundred kilobytes each; with `flushed` they are in a table, else in the log alone.
void fill(const RocksOptions& options, bool flushed) {
  for (int round = 0; round < (flushed ? 2 : 1); ++round) {  // a log is written to a table at the next start
    auto store = open_rocks_store(options);
    ASSERT_TRUE(store) << store.error().message;
    for (int i = 0; i < 8; ++i) {
      WriteBatch batch;
      for (int k = 0; k < 100; ++k) batch.put(std::to_string(1'000 * i + k), std::string(1'000, static_cast<char>('a' + (i * k) % 26)));
      ASSERT_TRUE((*store)->write(batch));
    }
  }
}

TEST(RocksStore, WithoutItsBeginningAFolderIsRefusedAndNothingInItTouched) {
  const testing::TempDir dir;
  RocksOptions options;
  options.path = dir.path() / "state";
  fill(options, true);
  const auto current = std::filesystem::path(options.path) / "CURRENT";
  std::filesystem::rename(current, dir.path() / "kept");
  const auto tables = files_of(options, ".sst");
  ASSERT_FALSE(tables.empty());
  for (const bool read_only : {false, true, false}) {
    options.read_only = read_only;
    const auto store = open_rocks_store(options);
    ASSERT_FALSE(store);
    EXPECT_NE(store.error().message.find("CURRENT is missing"), std::string::npos) << store.error().message;
  }
  EXPECT_EQ(files_of(options, ".sst"), tables);
  std::filesystem::rename(dir.path() / "kept", current);
  const auto store = open_rocks_store(options);
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_TRUE((*store)->get("7099")->has_value());
}

TEST(RocksStore, ALogThatIsDamagedInItsMiddleIsNotCutOffThere) {
  const testing::TempDir dir;
  RocksOptions options;
  options.path = dir.path() / "state";
  fill(options, false);
  for (const auto& log : files_of(options, ".log")) flip_the_middle(log);
  for (const bool read_only : {true, false}) {
    options.read_only = read_only;
    const auto store = open_rocks_store(options);
    ASSERT_FALSE(store);
    EXPECT_NE(store.error().message.find("is damaged"), std::string::npos) << store.error().message;
  }
}

TEST(RocksStore, ALogThatBreaksOffHasWhatWasWholeInIt) {
  const testing::TempDir dir;
  RocksOptions options;
  options.path = dir.path() / "state";
  fill(options, false);
  for (const auto& log : files_of(options, ".log")) std::filesystem::resize_file(log, std::filesystem::file_size(log) - 50'000);
  const auto store = open_rocks_store(options);
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_TRUE((*store)->get("6099")->has_value());
  EXPECT_FALSE((*store)->get("7000")->has_value());
}

TEST(RocksStore, ADamagedTableIsNotTakenForALock) {
  const testing::TempDir dir;
  RocksOptions options;
  options.path = dir.path() / "a lock, a block";
  fill(options, true);
  for (const auto& table : files_of(options, ".sst")) flip_the_middle(table);
  std::string said;
  const auto store = open_rocks_store(options);
  if (!store) {
    said = store.error().message;
  } else {
    const auto status = (*store)->scan("", [](std::string_view, std::string_view) -> Status { return {}; });
    ASSERT_FALSE(status);
    said = status.error().message;
  }
  EXPECT_NE(said.find("is damaged"), std::string::npos) << said;
}

TEST(RocksStore, AReadOnlyDiskIsSaid) {
  const testing::TempDir dir;
  const testing::SmallDisk disk(dir.path() / "disk", "12m");
  ASSERT_TRUE(disk.mounted()) << "this test mounts a tmpfs and needs to be root";
  RocksOptions options;
  options.path = dir.path() / "disk" / "state";
  ASSERT_TRUE(open_rocks_store(options));
  ASSERT_EQ(::mount(nullptr, (dir.path() / "disk").c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr), 0);
  const auto store = open_rocks_store(options);
  ASSERT_FALSE(store);
  EXPECT_NE(store.error().message.find("read-only"), std::string::npos) << store.error().message;
}

// A write that the disk has no room for is not begun. (One that fails half way is not tried here: Debian 12's
// RocksDB is built with its asserts, and one of them can end the process then.)
TEST(RocksStore, AFullDiskLosesNothingAndRoomIsEnoughToGoOn) {
  const testing::TempDir dir;
  const testing::SmallDisk disk(dir.path() / "disk", "12m");
  ASSERT_TRUE(disk.mounted()) << "this test mounts a tmpfs and needs to be root";
  RocksOptions options;
  options.path = dir.path() / "disk" / "state";
  options.keep_free_bytes = 1 << 20;
  auto opened = open_rocks_store(options);
  ASSERT_TRUE(opened) << opened.error().message;
  Store& store = **opened;
  const auto batch_of = [](int number) {
    WriteBatch batch;
    std::string noise;
    for (std::uint64_t x = static_cast<std::uint64_t>(number) + 1; noise.size() < (512u << 10);) {
      x = x * 6364136223846793005u + 1442695040888963407u;
      noise.push_back(static_cast<char>(x >> 56));
    }
    batch.put("key-" + std::to_string(number), noise);
    return batch;
  };
  const auto ballast = dir.path() / "disk" / "ballast";
  { std::ofstream(ballast) << std::string(6 << 20, 'x'); }
  int written = 0;
  Status status;
  while ((status = store.write(batch_of(written))).ok()) ASSERT_LT(++written, 100);
  EXPECT_EQ(status.error().action, Action::kRetry) << status.error().message;
  EXPECT_NE(status.error().message.find("no room"), std::string::npos) << status.error().message;
  std::filesystem::remove(ballast);
  status = store.write(batch_of(written));
  ASSERT_TRUE(status) << status.error().message;
  for (int number = 0; number <= written; ++number) {
    const auto batch = batch_of(number);
    const auto found = store.get(batch.entries[0].key);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(*found, batch.entries[0].value) << number;
  }
}

}  // namespace
}  // namespace gapwatch::state
