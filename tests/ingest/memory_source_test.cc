// The twin must behave as the sources it stands for: what is tested on it holds for them.

#include "ingest/memory_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recording_handler.h"

namespace gapwatch::ingest {
namespace {

using gapwatch::testing::poll_to_end;
using gapwatch::testing::RecordingHandler;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const PartitionName kFirst{"events", 0}, kSecond{"events", 1};

class Memory : public ::testing::Test {
 protected:
  Memory() {
    for (int i = 0; i < 5; ++i) topic_->append(kFirst, "a" + std::to_string(i), "key", 100 + i);
    topic_->append(kSecond, "b0");
  }
  void poll(MemorySource& source) { ASSERT_TRUE(source.poll(milliseconds(0), handler_)); }

  std::shared_ptr<MemoryTopic> topic_ = std::make_shared<MemoryTopic>();
  RecordingHandler handler_;
};

TEST_F(Memory, HandsOverWhatIsAssignedFromWhereTheHandlerSays) {
  MemorySource source(topic_, 2);
  poll(source);
  EXPECT_TRUE(handler_.seen.empty());
  handler_.start = {{kFirst, 2}};
  source.assign(kFirst);
  poll(source);
  EXPECT_THAT(handler_.values(), ElementsAre("a2", "a3"));
  EXPECT_EQ(handler_.seen[0].time, 102);
  EXPECT_EQ(source.progress()[0].next, 4);
  EXPECT_EQ(source.progress()[0].end, 5);
  source.assign(kSecond);
  source.end_after_records();
  ASSERT_FALSE(poll_to_end(source, handler_));
  EXPECT_THAT(handler_.values(), ElementsAre("a2", "a3", "a4", "b0"));
  source.committed(0, 5);
  EXPECT_EQ(topic_->committed[kFirst], 5);
  source.close(handler_);
  EXPECT_THAT(handler_.revoked, ElementsAre(kFirst, kSecond));
}

TEST_F(Memory, ARestartGoesOnOnTheSameTopic) {
  topic_->skip_offsets(kFirst, 3);
  topic_->append_tombstone(kFirst, "gone");
  MemorySource source(topic_);
  handler_.start = {{kFirst, 4}};
  source.assign(kFirst);
  poll(source);
  ASSERT_EQ(handler_.seen.size(), 2u);
  EXPECT_EQ(handler_.seen[1].offset, 8);
  EXPECT_TRUE(handler_.seen[1].tombstone);
}

TEST_F(Memory, PlaysRevocationsRedeliveriesAndErrors) {
  MemorySource source(topic_);
  source.assign(kFirst);
  poll(source);
  source.redeliver(kFirst, 2);
  source.fail_next_poll(retry("no broker"));
  EXPECT_EQ(source.poll(milliseconds(0), handler_).error().message, "no broker");
  poll(source);
  EXPECT_THAT(handler_.values(), ElementsAre("a0", "a1", "a2", "a3", "a4", "a3", "a4"));
  source.revoke(kFirst);
  source.assign(kSecond);
  poll(source);
  EXPECT_THAT(handler_.revoked, ElementsAre(kFirst));
  EXPECT_EQ(handler_.seen.back().value, "b0");
  source.fail_next_poll(refuse("fenced"));
  EXPECT_FALSE(source.poll(milliseconds(0), handler_));
  EXPECT_EQ(source.poll(milliseconds(0), handler_).error().message, "fenced");
}

TEST_F(Memory, AnOffsetThatIsGoneIsAnError) {
  topic_->trim(kFirst, 3);
  MemorySource source(topic_);
  handler_.start = {{kFirst, 1}};
  source.assign(kFirst);
  EXPECT_THAT(source.poll(milliseconds(0), handler_).error().message, HasSubstr("the first available is 3: 2 records are lost"));
}

TEST_F(Memory, PausedHandsOverNothing) {
  MemorySource source(topic_);
  source.assign(kFirst);
  source.pause();
  poll(source);
  EXPECT_TRUE(handler_.seen.empty());
  source.resume();
  poll(source);
  EXPECT_EQ(handler_.seen.size(), 5u);
}

}  // namespace
}  // namespace gapwatch::ingest
