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
