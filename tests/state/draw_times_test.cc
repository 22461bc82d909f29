// Of two events on one draw the later one holds, whichever comes first.

#include "state/draw_times.h"

#include <random>

#include "state/ledger.h"
#include "tests/support/events.h"

namespace gapwatch::state {
namespace {

using testing::EventMaker;

constexpr TimeMs kStart = 1'790'000'000'000;

TEST(DrawTimes, EqualAMapWhateverTheDrawsAndTimes) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 random(seed);
    DrawTimes times;
    std::map<std::uint64_t, TimeMs> naive;
    EXPECT_TRUE(times.empty());
    for (int i = 0; i < 400; ++i) {
      const std::uint64_t draw = random() % 4 == 0 ? random() >> (random() % 64) : random() % 200;
      TimeMs time = kStart + static_cast<TimeMs>(random() % 100'000);
      if (random() % 5 == 0) time = static_cast<TimeMs>(random() % 253'402'300'799'999);
      times.set(draw, time);
      naive[draw] = time;
      ASSERT_EQ(times.get(draw), time);
    }
    const std::vector<std::pair<std::uint64_t, TimeMs>> expected(naive.begin(), naive.end());
    EXPECT_EQ(times.all(), expected) << seed;
    EXPECT_EQ(times.get(5'000'000'000), naive.contains(5'000'000'000) ? std::optional(naive[5'000'000'000]) : std::nullopt);
  }
}

TEST(DrawTimes, SmallDrawsOfOneDayCostFourBytesEach) {
  DrawTimes times;
  for (std::uint64_t draw = 0; draw < 16; ++draw) times.set(draw, kStart + static_cast<TimeMs>(draw) * 1000);
  EXPECT_EQ(times.heap_bytes(), 64u);
}

TEST(DrawTimes, SoDoDrawsThatComeInAnyOrder) {
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> order(256);
  for (std::uint64_t draw = 0; draw < order.size(); ++draw) order[draw] = draw;
  std::shuffle(order.begin(), order.end(), random);
  DrawTimes times;
  for (const auto draw : order) times.set(draw, kStart + static_cast<TimeMs>(draw));
  EXPECT_EQ(times.heap_bytes(), 1024u);
  for (const auto draw : order) EXPECT_EQ(times.get(draw), kStart + static_cast<TimeMs>(draw));
}

Event draw(Outcome outcome, TimeMs time, std::uint64_t index = 3) {
  Event event;
  event.eval = "eval", event.scorer = "scorer", event.prompt = "p", event.policy = "m";
  event.draw = index;
  event.outcome = outcome;
  event.time = time;
  return event;
}

class Later : public ::testing::Test {
 protected:
  Later() { EXPECT_TRUE(ledger_.take_partition("t", 0)); }
  ApplyResult apply(const Event& event) { return ledger_.shard("t", 0)->apply(event); }
  const Cell& cell() { return ledger_.shard("t", 0)->rows()[0].cells[0]; }

  config::Settings settings_;
  Ledger ledger_{settings_, nullptr};
};

TEST_F(Later, TheLaterTimeHoldsInAnyOrder) {
  EXPECT_EQ(apply(draw(Outcome::kSuccess, kStart + 5)).applied, Applied::kApplied);
  const auto late = apply(draw(Outcome::kFailure, kStart + 4));
  EXPECT_EQ(late.applied, Applied::kCorrection);
  EXPECT_EQ(late.reason, kSuperseded);
  EXPECT_EQ(cell().successes, 1u);
  EXPECT_EQ(apply(draw(Outcome::kSuccess, kStart + 9)).applied, Applied::kDuplicate);
  EXPECT_EQ(apply(draw(Outcome::kFailure, kStart + 8)).reason, kSuperseded) << "a duplicate's later time counts";
  EXPECT_EQ(apply(draw(Outcome::kFailure, kStart + 9)).reason, "") << "at one time the order of the stream decides";
  EXPECT_EQ(cell().successes, 0u);
  EXPECT_EQ(cell().trials, 1u);
}

TEST_F(Later, ARetractionThatComesFirstHolds) {
  auto taken_back = draw(Outcome::kFailure, kStart + 5);
  taken_back.kind = EventKind::kRetract;
  EXPECT_EQ(apply(taken_back).applied, Applied::kUnmatched);
  EXPECT_EQ(apply(draw(Outcome::kSuccess, kStart)).reason, kSuperseded);
  EXPECT_TRUE(cell().empty());
  EXPECT_EQ(ledger_.cells(), 0u);
  EXPECT_EQ(apply(draw(Outcome::kSuccess, kStart + 6)).applied, Applied::kApplied);
  EXPECT_EQ(apply(taken_back).reason, kSuperseded);
  EXPECT_EQ(cell().trials, 1u);
}

TEST_F(Later, WithoutTimesTheLastOneHolds) {
  auto event = draw(Outcome::kSuccess, kStart);
  event.time.reset();
  apply(event);
  event.outcome = Outcome::kFailure;
  EXPECT_EQ(apply(event).applied, Applied::kCorrection);
  EXPECT_EQ(cell().times, kNoTimes);
  settings_.events.later_wins = false;
  apply(draw(Outcome::kSuccess, kStart + 5));
  EXPECT_EQ(apply(draw(Outcome::kFailure, kStart)).reason, "");
  EXPECT_EQ(cell().successes, 0u);
}

// Any order, with restarts from the store on the way: the same cells and sums.
TEST(LaterWins, ArrivalOrderDoesNotMatter) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    EventMaker maker(seed);
    std::vector<Event> events;
    for (int i = 0; i < 300; ++i) {
      auto event = maker.random_event();
      if ((event.kind != EventKind::kDraw && event.kind != EventKind::kRetract) || !event.draw) continue;
      event.version = event.slice = {};
      *event.draw %= 7;
      event.time = kStart + static_cast<TimeMs>(events.size()) * (maker.below(9) == 0 ? 40'000'000 : 10);
      events.push_back(event);
    }
    std::optional<MonitorSums> first;
    std::mt19937_64 random(seed);
    for (int order = 0; order < 6; ++order) {
      const config::Settings settings;
      MemoryStore store;
      auto ledger = std::make_unique<Ledger>(settings, &store);
      ASSERT_TRUE(ledger->open());
      ASSERT_TRUE(ledger->take_partition("t", 0));
      for (const auto& event : events) {
        ledger->shard("t", 0)->apply(event);
        if (maker.below(80) != 0) continue;
        ASSERT_TRUE(ledger->checkpoint());
        ledger = std::make_unique<Ledger>(settings, &store);
        ASSERT_TRUE(ledger->open());
        ASSERT_TRUE(ledger->take_partition("t", 0));
      }
      ledger->refresh();
      ASSERT_EQ(ledger->moment(0).sums, ledger->recount(0).value());
      if (!first) first = ledger->moment(0).sums;
      EXPECT_EQ(ledger->moment(0).sums, *first) << "seed " << seed << ", order " << order;
      std::shuffle(events.begin(), events.end(), random);
    }
  }
}

}  // namespace
}  // namespace gapwatch::state
