// A prompt on two partitions is noticed, once a row, whatever comes and goes.

#include "state/ledger.h"

namespace gapwatch::state {
namespace {

class SplitPrompts : public ::testing::Test {
 protected:
  void count(std::int32_t partition, const char* prompt, const char* scorer = "s") {
    if (ledger_.shard("t", partition) == nullptr) {
      EXPECT_TRUE(ledger_.take_partition("t", partition));
    }
    Event event;
    event.eval = "e", event.scorer = scorer, event.prompt = prompt, event.policy = "m";
    ledger_.shard("t", partition)->apply(event);
  }
  std::uint64_t found() {
    ledger_.refresh();
    return ledger_.split_prompts().count;
  }

  config::Settings settings_;
  Ledger ledger_{settings_, nullptr};
};

TEST_F(SplitPrompts, CountsEachSecondPartitionOnce) {
  count(0, "a");
  count(0, "b");
  count(1, "c");
  EXPECT_EQ(found(), 0u);
  count(1, "a");
  EXPECT_EQ(found(), 1u);
  EXPECT_EQ(ledger_.split_prompts().example, "a of e on t/1 and t/0");
  count(1, "a");
  EXPECT_EQ(found(), 1u);
  count(2, "a");
  EXPECT_EQ(found(), 2u);
  count(0, "c");
  EXPECT_EQ(found(), 3u);
  count(2, "b", "another scorer");
  EXPECT_EQ(found(), 3u);
}

TEST_F(SplitPrompts, APartitionThatLeavesIsForgotten) {
  count(0, "a");
  count(1, "a");
  EXPECT_EQ(found(), 1u);
  ledger_.drop_partition("t", 1);
  EXPECT_EQ(found(), 0u);
  count(1, "a");
  EXPECT_EQ(found(), 1u);
}

}  // namespace
}  // namespace gapwatch::state
