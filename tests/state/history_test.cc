// The history: what thinning keeps, that its order does not matter, bytes, failing writes, slices.
#include "state/history.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "tests/support/temp_dir.h"

namespace gapwatch::state {
namespace {

constexpr TimeMs kSecond = 1'000, kMinute = 60 * kSecond, kHour = 60 * kMinute, kDay = 24 * kHour;
constexpr TimeMs kStart = 1'790'000'000'000;

HistorySample sample(TimeMs at, const char* state = "quiet") {
  HistorySample out;
  out.at = at;
  out.state = state;
  out.complete = 240;
  out.prompts = 241;
  out.trials = 12'345;
  out.paired = true;
  out.comparator = 0.5;
  out.noise_share = 0.25;
  out.margin = {2.5, true};
  out.thresholds = {{0.1, 0.125, {0.0625, 0.03125, 0.09375, 0.0625}, {}}};
  return out;
}

std::vector<TimeMs> times(const HistorySlice& slice) {
  std::vector<TimeMs> out;
  for (const auto& one : slice.samples) out.push_back(one.at);
  return out;
}

// The rule of the header, said once more: by age a step; of each step the last, and every change.
std::vector<HistoryMark> naive_thinned(const std::vector<HistoryMark>& marks, TimeMs now) {
  std::map<std::pair<TimeMs, TimeMs>, TimeMs> last_of_bucket;  // (step, bucket) -> last time in it, over all marks
  const TimeMs steps[] = {1, kMinute, 10 * kMinute, 3 * kHour};
  for (const auto step : steps) {
    for (const auto& mark : marks) last_of_bucket[{step, mark.at / step}] = mark.at;
  }
  std::vector<HistoryMark> out;
  for (std::size_t i = 0; i < marks.size(); ++i) {
    const auto age = now - marks[i].at;
    if (age > 366 * kDay) continue;
    const auto step = age <= kHour ? steps[0] : age <= kDay ? steps[1] : age <= 14 * kDay ? steps[2] : steps[3];
    const bool change = i == 0 || marks[i - 1].look != marks[i].look;
    if (change || last_of_bucket[{step, marks[i].at / step}] == marks[i].at) out.push_back(marks[i]);
  }
  return out;
}

std::vector<HistoryMark> random_marks(std::mt19937_64& random, TimeMs span, std::size_t count) {
  std::set<TimeMs> at;
  while (at.size() < count) at.insert(kStart + static_cast<TimeMs>(random() % static_cast<std::uint64_t>(span)));
  std::vector<HistoryMark> marks;
  for (const auto time : at) {
    const bool other = random() % 20 == 0;
    const auto look = static_cast<std::uint8_t>(other ? random() % 4 : (marks.empty() ? 2 : marks.back().look));
    marks.push_back({time, look});
  }
  return marks;
}

TEST(History, ThinsByAgeAsTheHeaderSays) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const TimeMs spans[] = {2 * kHour, 3 * kDay, 40 * kDay, 500 * kDay};
    const auto marks = random_marks(random, spans[seed % 4], 2'000);
    const auto now = marks.back().at + static_cast<TimeMs>(random() % (2 * kDay));
    EXPECT_EQ(thinned(marks, now), naive_thinned(marks, now));
  }
}

// So it does not matter how often it is done, and every change outlives every thinning.
TEST(History, ThinningTwiceIsThinningOnce) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto marks = random_marks(random, 30 * kDay, 3'000);
    const auto early = marks.back().at + static_cast<TimeMs>(random() % kDay);
    const auto late = early + static_cast<TimeMs>(random() % (20 * kDay));
    EXPECT_EQ(thinned(thinned(marks, early), late), thinned(marks, late));
    const auto kept = thinned(marks, late);
    for (std::size_t i = 1; i < marks.size(); ++i) {
      if (marks[i].look == marks[i - 1].look) continue;
      EXPECT_TRUE(std::find(kept.begin(), kept.end(), marks[i]) != kept.end()) << i;
    }
  }
}

TEST(History, AYearOfThirtySecondsStaysBounded) {
  std::vector<HistoryMark> marks;
  const TimeMs year = 366 * kDay;
  for (TimeMs at = kStart; at < kStart + year; at += 30 * kSecond) {
    marks.push_back({at, 2});
    if (marks.size() >= 20'000) marks = thinned(marks, at);
  }
  marks = thinned(marks, marks.back().at);
  // An hour of half minutes, a day of minutes, a fortnight of ten minutes, a year of three hours.
  EXPECT_LE(marks.size(), 120u + 1'440u + 14u * 144u + 366u * 8u + 4u);
  EXPECT_GE(marks.size(), 6'000u);
}

TEST(History, ASampleReadsBackAsItWas) {
  auto full = sample(kStart, "evidence");
  full.redeal = {-0.5, false};
  EXPECT_EQ(decode_sample(encode_sample(full), kStart).value(), full);
  HistorySample empty;
  empty.at = kStart;
  empty.state = "collecting";
  EXPECT_EQ(decode_sample(encode_sample(empty), kStart).value(), empty);
  auto strange = empty;
  strange.state = "dreaming";
  EXPECT_EQ(decode_sample(encode_sample(strange), kStart).value().state, "unknown");
}

// The example of state/FORMAT.md.
TEST(History, BytesAreThoseOfTheFormat) {
  HistorySample one;
  one.state = "quiet";
  one.complete = 300;
  one.prompts = 301;
  one.trials = 7;
  one.margin.alarm = true;
  const auto bytes = encode_sample(one);
  std::string nan("\x00\x00\x00\x00\x00\x00\xf8\x7f", 8), expected("\x01\x12\xac\x02\xad\x02\x07", 7);
  for (int i = 0; i < 7; ++i) expected += nan;
  EXPECT_EQ(bytes, expected + '\0');
}

TEST(History, DamagedAndLaterBytesAreRefused) {
  const auto bytes = encode_sample(sample(kStart));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_sample(std::string_view(bytes).substr(0, size), kStart)) << size;
  }
  EXPECT_FALSE(decode_sample(bytes + "x", kStart));
  EXPECT_FALSE(decode_sample("\x02" + bytes.substr(1), kStart));
  MemoryStore store;
  WriteBatch batch;
  batch.put(std::string("H\x01m\0\0\0\0\0\0\0\x05", 11), "\x02\x02");
  ASSERT_TRUE(store.write(batch));
  History history(&store);
  EXPECT_FALSE(history.open());
}

TEST(History, IsThereAgainAfterARestart) {
  const testing::TempDir dir;
  RocksOptions options;
  options.path = dir.path() / "state";
  {
    const auto store = open_rocks_store(options).value();
    History history(store.get());
    ASSERT_TRUE(history.open());
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(history.append("m/1", sample(kStart + i * kMinute)));
    ASSERT_TRUE(history.append("m", sample(kStart + 7)));
  }
  const auto store = open_rocks_store(options).value();
  History history(store.get());
  ASSERT_TRUE(history.open());
  EXPECT_EQ(history.size("m/1"), 5u);
  const auto slice = history.read("m/1", kStart + kMinute, kStart + 3 * kMinute, 0).value();
  EXPECT_EQ(times(slice), (std::vector<TimeMs>{kStart + kMinute, kStart + 2 * kMinute, kStart + 3 * kMinute}));
  EXPECT_EQ(slice.samples.front(), sample(kStart + kMinute));
  EXPECT_EQ(times(history.read("m", 0, kStart + kDay, 0).value()), (std::vector<TimeMs>{kStart + 7}));
  EXPECT_TRUE(history.read("nobody", 0, kStart + kDay, 0).value().samples.empty());
}

TEST(History, ErasesFromTheStoreWhatIsThinned) {
  MemoryStore store;
  History history(&store);
  ASSERT_TRUE(history.open());
  for (TimeMs at = kStart; at < kStart + 3 * kHour; at += 10 * kSecond) ASSERT_TRUE(history.append("m", sample(at)));
  EXPECT_EQ(store.entries().size(), history.size("m"));
  EXPECT_LE(history.size("m"), 361u + 122u);
  History again(&store);
  ASSERT_TRUE(again.open());
  EXPECT_EQ(again.size("m"), history.size("m"));
}

TEST(History, ASampleThatCouldNotBeWrittenComesWithTheNext) {
  MemoryStore store;
  History history(&store);
  ASSERT_TRUE(history.open());
  store.fail_next_writes(2);
  EXPECT_FALSE(history.append("m", sample(kStart)));
  EXPECT_FALSE(history.append("m", sample(kStart + kMinute)));
  EXPECT_EQ(history.size("m"), 0u);
  EXPECT_TRUE(history.append("n", sample(kStart + 2 * kMinute)));
  EXPECT_EQ(times(history.read("m", 0, kStart + kDay, 0).value()), (std::vector<TimeMs>{kStart, kStart + kMinute}));
  EXPECT_EQ(history.size("n"), 1u);
}

TEST(History, KeepsOrderWhenTheClockGoesBack) {
  History history(nullptr);
  ASSERT_TRUE(history.open());
  for (const TimeMs at : {kStart + 5, kStart + 1, kStart + 5, kStart + 3}) ASSERT_TRUE(history.append("m", sample(at)));
  EXPECT_EQ(times(history.read("m", 0, kStart + kDay, 0).value()), (std::vector<TimeMs>{kStart + 1, kStart + 3, kStart + 5}));
}

TEST(History, ASliceHasItsStepAndTheChanges) {
  History history(nullptr);
  ASSERT_TRUE(history.open());
  for (int i = 0; i < 60; ++i) ASSERT_TRUE(history.append("m", sample(kStart + i * kSecond, i == 33 ? "stale" : "quiet")));
  const auto slice = history.read("m", kStart, kStart + kHour, 20 * kSecond).value();
  EXPECT_EQ(slice.step, 20 * kSecond);
  std::set<TimeMs> wanted{kStart, kStart + 33 * kSecond, kStart + 34 * kSecond, kStart + 59 * kSecond};
  for (int i = 0; i < 59; ++i) {
    const auto at = kStart + i * kSecond;
    if ((at + kSecond) % (20 * kSecond) == 0) wanted.insert(at);
  }
  EXPECT_EQ(times(slice), std::vector<TimeMs>(wanted.begin(), wanted.end()));
}

TEST(History, ChoosesAStepOnlyAsLargeAsTheAnswerNeeds) {
  std::vector<HistoryMark> marks;
  for (int i = 0; i < 5'000; ++i) marks.push_back({kStart + i * kSecond, 2});
  EXPECT_EQ(chosen(marks, 0, 5'000).step, 0);
  const auto fits = chosen(marks, 0, 2'000);
  EXPECT_LE(fits.marks.size(), 2'000u);
  EXPECT_GE(fits.marks.size(), 1'000u);
  EXPECT_EQ(fits.marks.back(), marks.back());
  for (auto& mark : marks) mark.look = static_cast<std::uint8_t>(mark.at / kSecond % 2);  // nothing but changes
  const auto flapping = chosen(marks, 0, 2'000);
  EXPECT_LE(flapping.marks.size(), 2'000u);
  EXPECT_GE(flapping.marks.size(), 1'000u);
  EXPECT_TRUE(chosen({}, 5, 10).marks.empty());
}

}  // namespace
}  // namespace gapwatch::state
