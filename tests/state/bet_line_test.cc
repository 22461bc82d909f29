#include "state/bet_line.h"

#include <pthread.h>

#include <random>

namespace gapwatch::state {
namespace {

struct Recorder final : BetTaker {
  void take(const Bet& bet) override {
    taken.push_back(bet.identity);
    const bool rare = bet.identity % 5 == 0;
    if (bet.more == nullptr || !rare) {
      EXPECT_EQ(bet.more != nullptr, rare);
      return;
    }
    EXPECT_EQ(bet.more->seed, bet.identity);
    EXPECT_EQ(bet.more->propensities.size(), bet.identity % 3) << "and nothing of who had the place before";
  }
  void prefetch(const Bet&, int) const override {}
  std::vector<std::uint64_t> taken;
};

void put(BetLine& line, Recorder& recorder, std::uint64_t sequence) {
  Bet& bet = line.next();
  bet.taker = &recorder;
  bet.identity = sequence;
  bet.more = nullptr;
  if (sequence % 5 != 0) return;
  auto& more = line.more();
  more.seed = sequence;
  more.propensities.resize(sequence % 3, 0.5);
}

// Between two drains nothing, a few, or more than all batches hold.
void take_in_order(BetLine& line) {
  std::mt19937_64 random(7);
  Recorder recorder;
  std::uint64_t next = 0;
  for (int round = 0; round < 60; ++round) {
    const std::uint64_t count = random() % 4 == 0 ? random() % 30'000 : random() % 40;
    for (std::uint64_t i = 0; i < count; ++i) put(line, recorder, next++);
    line.drain();
    ASSERT_EQ(recorder.taken.size(), next) << "round " << round;
  }
  ASSERT_GT(next, 100'000u);
  for (std::uint64_t i = 0; i < next; ++i) ASSERT_EQ(recorder.taken[i], i);
}

TEST(BetLine, TakesEveryBetOnceAndInOrder) {
  BetLine line;
  take_in_order(line);
}

TEST(BetLine, TakesWhatIsLeftWhenItEnds) {
  Recorder recorder;
  {
    BetLine line;
    for (std::uint64_t i = 0; i < 5'000; ++i) put(line, recorder, i);
  }
  EXPECT_EQ(recorder.taken.size(), 5'000u);
}

TEST(BetLine, DoesWithoutAThread) {
  pthread_attr_t usual, impossible;
  ASSERT_EQ(pthread_getattr_default_np(&usual), 0);
  ASSERT_EQ(pthread_attr_init(&impossible), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&impossible, std::size_t{1} << 47), 0);  // more than there are addresses
  ASSERT_EQ(pthread_setattr_default_np(&impossible), 0);
  BetLine line;
  take_in_order(line);
  EXPECT_EQ(pthread_setattr_default_np(&usual), 0);
  pthread_attr_destroy(&impossible);
  pthread_attr_destroy(&usual);
}

}  // namespace
}  // namespace gapwatch::state
