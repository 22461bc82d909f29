#include "ingest/pipeline.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <random>

#include "base/log.h"
#include "ingest/memory_source.h"
#include "state/ledger.h"
#include "tests/support/process.h"
#include "tests/support/temp_dir.h"

namespace gapwatch::ingest {
namespace {

using std::chrono::milliseconds;

const PartitionName kFirst{"scores", 0}, kSecond{"scores", 1};

std::string draw_line(std::uint64_t prompt, std::uint64_t policy, std::uint64_t draw, bool correct) {
  return fmt::format(R"({{"eval":"e","prompt":"p{}","policy":"m{}","draw":{},"correct":{}}})", prompt, policy, draw,
                     correct ? 1 : 0);
}

// What a process holds between its start and its death; the topic, the store and the clock outlive it.
struct Life {
  Life(std::shared_ptr<MemoryTopic> topic, state::Store& store, const Clock& clock, std::size_t batch = 7)
      : source(std::move(topic), batch),
        decoder(std::move(*make_decoder("native", settings.events))),
        ledger(settings, &store),
        pipeline(source, *decoder, ledger, clock, milliseconds(1'000)) {
    EXPECT_TRUE(ledger.open());
    log::set_level(log::Level::kOff);
  }
  ~Life() { log::set_level(log::Level::kInfo); }

  config::Settings settings;
  MemorySource source;
  std::unique_ptr<Decoder> decoder;
  state::Ledger ledger;
  Pipeline pipeline;
};

state::MonitorSums sums_of(state::Ledger& ledger) {
  ledger.refresh();
  EXPECT_EQ(ledger.monitor_count(), 1u);
  return ledger.moment(0).sums;
}

// A stream with corrections, retractions, anonymous draws, counts, duplicates and rubbish.
std::shared_ptr<MemoryTopic> mixed_topic(std::uint64_t seed, int records) {
  auto topic = std::make_shared<MemoryTopic>();
  std::mt19937_64 random(seed);
  for (int i = 0; i < records; ++i) {
    const auto prompt = random() % 9, policy = random() % 3, draw = random() % 12;
    std::string line = draw_line(prompt, policy, draw, random() % 2 == 0);
    switch (random() % 12) {
      case 0: line = "rubbish"; break;
      case 1: line = fmt::format(R"({{"eval":"e","prompt":"p{}","policy":"m{}","correct":true}})", prompt, policy); break;
      case 2:
        line = fmt::format(R"({{"eval":"e","prompt":"p{}","policy":"m{}","successes":1,"trials":3}})", prompt, policy);
        break;
      case 3:
        line = fmt::format(R"({{"eval":"e","prompt":"p{}","policy":"m{}","draw":{},"retract":true}})", prompt, policy, draw);
        break;
      default: break;
    }
    topic->append(prompt % 2 == 0 ? kFirst : kSecond, line);
    if (random() % 40 == 0) topic->skip_offsets(kFirst, 3);
  }
  return topic;
}

state::MonitorSums uninterrupted(std::shared_ptr<MemoryTopic> topic) {
  state::MemoryStore store;
  const ManualClock clock(0);
  Life life(std::move(topic), store, clock);
  life.source.assign(kFirst);
  life.source.assign(kSecond);
  life.source.end_after_records();
  while (*life.pipeline.step(milliseconds(0))) {
  }
  return sums_of(life.ledger);
}

// A process that dies between any two steps, with its checkpoints at any time, and one that starts again:
// every record counts once.
TEST(Pipeline, DeathAtAnyStepLosesNothingAndCountsNothingTwice) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const auto topic = mixed_topic(seed, 400);
    const auto expected = uninterrupted(topic);
    state::MemoryStore store;
    ManualClock clock(0);
    std::mt19937_64 random(seed + 1'000);
    for (int deaths = 0;; ++deaths) {
      ASSERT_LT(deaths, 500);
      Life life(topic, store, clock, 1 + random() % 20);
      life.source.assign(kFirst);
      life.source.assign(kSecond);
      life.source.end_after_records();
      bool more = true;
      for (auto steps = 1 + random() % 12; steps > 0 && more; --steps) {
        if (random() % 5 == 0) store.fail_next_writes(1);
        if (random() % 3 == 0) clock.advance(milliseconds(1'500));
        if (random() % 6 == 0) life.source.redeliver(random() % 2 == 0 ? kFirst : kSecond, 5);
        const auto stepped = life.pipeline.step(milliseconds(0));
        ASSERT_TRUE(stepped) << stepped.error().message;
        more = *stepped;
      }
      store.fail_next_writes(0);
      if (more && random() % 4 != 0) continue;  // dies as it is
      if (more && random() % 2 == 0) {
        ASSERT_TRUE(life.pipeline.close());
        continue;
      }
      // A failed checkpoint is tried again when its second has passed.
      while (*life.pipeline.step(milliseconds(0))) clock.advance(milliseconds(100));
      ASSERT_EQ(sums_of(life.ledger), expected) << "seed " << seed;
      ASSERT_TRUE(life.pipeline.close());
      break;
    }
    Life again(topic, store, clock);
    again.source.assign(kFirst);
    again.source.assign(kSecond);
    again.source.end_after_records();
    while (*again.pipeline.step(milliseconds(0))) {
    }
    EXPECT_EQ(sums_of(again.ledger), expected) << "seed " << seed;
    EXPECT_EQ(again.pipeline.counters().events, 0u) << "a clean restart reads nothing again, seed " << seed;
  }
}

TEST(Pipeline, OffsetsAreToldOnlyOnceTheyAreDurable) {
  const auto topic = std::make_shared<MemoryTopic>();
  for (std::uint64_t draw = 0; draw < 5; ++draw) topic->append(kFirst, draw_line(0, 0, draw, true));
  state::MemoryStore store;
  ManualClock clock(0);
  Life life(topic, store, clock);
  life.source.assign(kFirst);
  ASSERT_TRUE(life.pipeline.step(milliseconds(0)));
  ASSERT_TRUE(life.pipeline.step(milliseconds(0)));
  EXPECT_TRUE(topic->committed.empty());
  clock.advance(milliseconds(1'000));
  store.fail_next_writes(1);
  ASSERT_TRUE(life.pipeline.step(milliseconds(0)));
  EXPECT_TRUE(topic->committed.empty());
  EXPECT_TRUE(life.source.paused());
  EXPECT_NE(life.pipeline.trouble(), "");
  clock.advance(milliseconds(1'000));
  ASSERT_TRUE(life.pipeline.step(milliseconds(0)));
  EXPECT_EQ(topic->committed[kFirst], 5);
  EXPECT_FALSE(life.source.paused());
  EXPECT_EQ(life.pipeline.trouble(), "");
}

TEST(Pipeline, AUsersPauseOutlastsTheStores) {
  const auto topic = std::make_shared<MemoryTopic>();
  topic->append(kFirst, draw_line(0, 0, 0, true));
  state::MemoryStore store;
  ManualClock clock(0);
  Life life(topic, store, clock);
  life.source.assign(kFirst);
  ASSERT_TRUE(life.pipeline.step(milliseconds(0)));
  ASSERT_TRUE(life.pipeline.step(milliseconds(0)));
  life.pipeline.pause();
  store.fail_next_writes(1);
  clock.advance(milliseconds(1'000));
  ASSERT_TRUE(life.pipeline.step(milliseconds(0)));
  clock.advance(milliseconds(1'000));
  ASSERT_TRUE(life.pipeline.step(milliseconds(0)));
  EXPECT_EQ(life.pipeline.trouble(), "");
  EXPECT_TRUE(life.source.paused());
  life.pipeline.resume();
  EXPECT_FALSE(life.source.paused());
}

TEST(Pipeline, ARevokedPartitionIsFlushedAndItsNextHolderGoesOn) {
  const auto topic = std::make_shared<MemoryTopic>();
  for (std::uint64_t draw = 0; draw < 20; ++draw) topic->append(kFirst, draw_line(0, draw % 2, draw / 2, draw % 3 == 0));
  const auto expected = uninterrupted(topic);
  state::MemoryStore store;
  ManualClock clock(0);
  Life first(topic, store, clock, 4);
  first.source.assign(kFirst);
  ASSERT_TRUE(first.pipeline.step(milliseconds(0)));
  ASSERT_TRUE(first.pipeline.step(milliseconds(0)));
  first.source.revoke(kFirst);
  ASSERT_TRUE(first.pipeline.step(milliseconds(0)));
  EXPECT_TRUE(first.ledger.shards().empty());

  Life second(topic, store, clock, 4);
  second.source.assign(kFirst);
  second.source.end_after_records();
  while (*second.pipeline.step(milliseconds(0))) {
  }
  EXPECT_EQ(sums_of(second.ledger).pool, expected.pool);
  EXPECT_LT(second.pipeline.counters().events, 20u);
}

TEST(Pipeline, BadRecordsAreCountedByReasonAndMoveTheOffset) {
  const auto topic = std::make_shared<MemoryTopic>();
  topic->append(kFirst, "rubbish");
  topic->append(kFirst, R"({"prompt":"p","policy":"m","correct":"true"})");
  topic->append_tombstone(kFirst, "p");
  topic->append(kFirst, draw_line(0, 0, 0, true));
  topic->append(kFirst, "more rubbish");
  state::MemoryStore store;
  ManualClock clock(0);
  Life life(topic, store, clock);
  life.source.assign(kFirst);
  life.source.end_after_records();
  while (*life.pipeline.step(milliseconds(0))) {
  }
  const auto& counters = life.pipeline.counters();
  EXPECT_EQ(counters.records, 5u);
  EXPECT_EQ(counters.events, 1u);
  EXPECT_EQ(counters.rejected.at("not_json"), 2u);
  std::uint64_t rejected = 0;
  for (const auto& [reason, count] : counters.rejected) rejected += count;
  EXPECT_EQ(rejected, 3u);
  EXPECT_EQ(counters.skipped.size(), 1u);
  EXPECT_EQ(life.ledger.shard("scores", 0)->next_offset(), std::optional<Offset>(5));
}

// What lives of a file that grows and changes between them make of it; the state goes on.
class GrowingFile : public ::testing::Test {
 protected:
  // Reads the file as it now is, to its end: the error, if any.
  std::string read(const std::string& text, const std::string& format = "native") {
    gapwatch::testing::write_file(path_, text);
    config::Settings settings;
    const auto source = make_file_source({path_}, 1 << 20, format == "csv" ? FileShape::kCsv : FileShape::kLines).value();
    const auto decoder = make_decoder(format, settings.events).value();
    state::Ledger ledger(settings, &store_);
    EXPECT_TRUE(ledger.open());
    Pipeline pipeline(*source, *decoder, ledger, clock_, milliseconds(1'000));
    log::set_level(log::Level::kOff);
    auto more = pipeline.step(milliseconds(0));
    while (more && *more) more = pipeline.step(milliseconds(0));
    EXPECT_TRUE(pipeline.close());
    log::set_level(log::Level::kInfo);
    counters_ = pipeline.counters();
    return more ? "" : more.error().message;
  }
  std::uint64_t counted() const { return counters_.applied[static_cast<std::size_t>(state::Applied::kApplied)]; }

  const gapwatch::testing::TempDir dir_;
  const std::string path_ = (dir_.path() / "scores.jsonl").string();
  const ManualClock clock_{0};
  state::MemoryStore store_;
  StreamCounters counters_;
};

TEST_F(GrowingFile, GoesOnBehindTheLastLine) {
  const auto first = draw_line(0, 0, 0, true) + "\n" + draw_line(0, 0, 1, true), second = "\n\n" + draw_line(0, 0, 2, true) + "\n";
  EXPECT_EQ(read(first), "");
  EXPECT_EQ(counted(), 2u);
  EXPECT_EQ(read(first + second), "");
  EXPECT_EQ(counted(), 1u);
  EXPECT_EQ(read(first + second), "");
  EXPECT_EQ(counters_.records, 0u);
}

TEST_F(GrowingFile, ALastLineThatWasNotWholeIsCountedWhenItIs) {
  const auto first = draw_line(0, 0, 0, true) + "\n", second = draw_line(0, 0, 1, true), third = draw_line(0, 0, 2, true);
  for (const std::size_t cut : {std::size_t{1}, second.size() / 2, second.size() - 1}) {
    EXPECT_EQ(read(first + second.substr(0, cut)), "");
    EXPECT_EQ(counters_.rejected.size(), 1u) << cut;
    EXPECT_EQ(read(first + second.substr(0, cut)), "");
    EXPECT_EQ(counters_.records, 0u) << "it is as it was";
  }
  EXPECT_EQ(read(first + second + "\n" + third), "");
  EXPECT_EQ(counted(), 2u);
  EXPECT_TRUE(counters_.rejected.empty());
}

TEST_F(GrowingFile, AnotherFileUnderItsNameEndsTheRun) {
  const auto first = draw_line(0, 0, 0, true) + "\n", second = draw_line(0, 0, 1, true) + "\n", other = draw_line(1, 0, 0, true) + "\n";
  EXPECT_EQ(read(first + second), "");
  EXPECT_THAT(read(first + other + second + second),
              ::testing::HasSubstr(path_ + ":2: this is not the record that was counted there: the file is another one"));
  EXPECT_EQ(counters_.records, 0u);
  EXPECT_EQ(read(first + second + other), "") << "the old one is back";
  EXPECT_EQ(counted(), 1u);
}

// What was read of it is counted, and cannot be taken back.
TEST_F(GrowingFile, ALineThatCouldBeReadMayNotGoOn) {
  EXPECT_EQ(read("eval,prompt,policy,correct,draw\ne,p,m,1,1", "csv"), "");
  EXPECT_EQ(counted(), 1u);
  EXPECT_THAT(read("eval,prompt,policy,correct,draw\ne,p,m,1,12\n", "csv"), ::testing::HasSubstr(path_ + ":2: this is not the record"));
  EXPECT_EQ(counters_.records, 0u);
}

}  // namespace
}  // namespace gapwatch::ingest
