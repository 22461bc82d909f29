// Topics that change under the monitor, on a real broker: made anew under the same name, larger by partitions, shorter by
// records.

#include <gmock/gmock.h>

#include "base/log.h"
#include "ingest/pipeline.h"
#include "state/store.h"
#include "tests/support/topic_admin.h"

namespace gapwatch {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::eventually;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr const char* kAnother = "this is not the record that was counted there: the topic was made anew";

// One process's life; the topic and the store outlive it.
class Life {
 public:
  Life(const std::string& topic, state::Store& store, config::StartAt start = config::StartAt::kEarliest)
      : ledger_(settings_, &store),
        decoder_(std::move(*ingest::make_decoder("native", settings_.events))),
        source_(ingest::make_kafka_source(kafka(topic, start)).value()),
        pipeline_(*source_, *decoder_, ledger_, clock_, milliseconds(10)) {
    EXPECT_TRUE(ledger_.open());
  }
  ~Life() { (void)pipeline_.close(); }

  // Whether so many records were counted; stops at the first error that is not passing.
  bool counts(std::uint64_t records) {
    return eventually([&] {
             step();
             return error_ || pipeline_.counters().records >= records;
           }) &&
           !failed() && pipeline_.counters().records == records && pipeline_.checkpoint().ok();
  }
  // The message of the error that ends it.
  std::string ends() {
    EXPECT_TRUE(eventually([&] {
      step();
      return error_.has_value();
    }));
    return error_ ? error_->message : "";
  }
  // Nothing happens for some polls, more than two seconds.
  void rest() {
    for (int i = 0; i < 24 && !error_; ++i) step();
    EXPECT_FALSE(failed());
  }
  ingest::Pipeline& pipeline() { return pipeline_; }
  std::uint64_t read() const { return pipeline_.counters().records; }
  bool held(std::int32_t partition) const {
    const auto all = source_->progress();
    return std::any_of(all.begin(), all.end(), [&](const auto& one) { return one.name.partition == partition; });
  }

 private:
  bool failed() const {
    EXPECT_FALSE(error_) << error_->message;
    return error_.has_value();
  }
  static config::KafkaSource kafka(const std::string& topic, config::StartAt start) {
    config::KafkaSource settings;
    settings.brokers = testing::broker().bootstrap();
    settings.topics = {topic};
    settings.group = topic;
    settings.start = start;
    settings.wait_for_topics = true;
    settings.properties = {{"topic.metadata.refresh.interval.ms", "300"}};
    return settings;
  }
  void step() {
    if (auto more = pipeline_.step(milliseconds(100)); !more && more.error().action != Action::kRetry) error_ = more.error();
  }

  config::Settings settings_;
  const SystemClock clock_;
  state::Ledger ledger_;
  std::unique_ptr<ingest::Decoder> decoder_;
  std::unique_ptr<ingest::Source> source_;
  ingest::Pipeline pipeline_;
  std::optional<Error> error_;
};

class TopicChanges : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(ingest::create_topic(testing::broker().bootstrap(), {}, topic_, 1)); }

  // Draws `from` to `to` of one cell, told apart by their policy.
  void produce(const std::string& policy, int from, int to, std::int32_t partition = 0) {
    const auto producer = ingest::make_kafka_producer(testing::broker().bootstrap(), {}).value();
    for (int i = from; i < to; ++i) {
      const auto value =
          R"({"eval":"e","prompt":"p","policy":")" + policy + R"(","correct":1,"draw":)" + std::to_string(i) + "}";
      ingest::OutgoingMessage message{};
      message.topic = topic_;
      message.value = value;
      message.partition = partition;
      ASSERT_TRUE(producer->produce(message));
    }
    ASSERT_TRUE(producer->flush(seconds(60)));
  }
  void count_five() {
    produce("old", 0, 5);
    Life life(topic_, store_);
    ASSERT_TRUE(life.counts(5));
  }

  const std::string topic_ = testing::fresh_topic("changes");
  testing::TopicAdmin admin_;
  state::MemoryStore store_;
};

TEST_F(TopicChanges, GoingOnReadsNothingTwice) {
  count_five();
  produce("old", 5, 7);
  Life life(topic_, store_);
  EXPECT_TRUE(life.counts(2));
}

TEST_F(TopicChanges, ATopicMadeAnewIsKnownByItsRecordsHoweverManyItHas) {
  count_five();
  admin_.make_anew(topic_, 1);
  produce("new", 0, 9);
  Life life(topic_, store_);
  EXPECT_THAT(life.ends(), AnyOf(HasSubstr(kAnother)));
  EXPECT_EQ(life.read(), 0u);
}

TEST_F(TopicChanges, ATopicMadeAnewThatIsShorterOrAsLong) {
  count_five();
  admin_.make_anew(topic_, 1);
  produce("new", 0, 2);
  {
    Life life(topic_, store_);
    EXPECT_THAT(life.ends(), HasSubstr("offset 5 is wanted, but the topic ends at 2: it was made anew"));
  }
  produce("new", 2, 5);
  Life life(topic_, store_);
  EXPECT_THAT(life.ends(), HasSubstr(kAnother));
  EXPECT_EQ(life.read(), 0u);
}

TEST_F(TopicChanges, ATopicMadeAnewUnderARunningMonitor) {
  produce("old", 0, 5);
  Life life(topic_, store_);
  ASSERT_TRUE(life.counts(5));
  life.rest();
  admin_.make_anew(topic_, 1);
  produce("new", 0, 9);
  EXPECT_THAT(life.ends(), AnyOf(HasSubstr(kAnother), HasSubstr("it was made anew")));
  EXPECT_EQ(life.read(), 5u);
}

TEST_F(TopicChanges, ATopicMadeAnewDuringAPause) {
  produce("old", 0, 5);
  Life life(topic_, store_);
  ASSERT_TRUE(life.counts(5));
  life.pipeline().pause();
  life.rest();
  admin_.make_anew(topic_, 1);
  produce("new", 0, 9);
  life.pipeline().resume();
  EXPECT_THAT(life.ends(), AnyOf(HasSubstr(kAnother), HasSubstr("it was made anew")));
  EXPECT_EQ(life.read(), 5u);
}

TEST_F(TopicChanges, AfterAPauseNothingIsReadTwice) {
  produce("old", 0, 5);
  Life life(topic_, store_);
  ASSERT_TRUE(life.counts(5));
  life.pipeline().pause();
  produce("old", 5, 9);
  life.rest();
  EXPECT_EQ(life.read(), 5u);
  life.pipeline().resume();
  EXPECT_TRUE(life.counts(9));
}

TEST_F(TopicChanges, TheLastRecordCountedMayBeGoneButNoOther) {
  count_five();
  admin_.delete_records(topic_, 0, 5);
  produce("old", 5, 8);
  {
    Life life(topic_, store_);
    EXPECT_TRUE(life.counts(3));
  }
  produce("old", 8, 12);
  admin_.delete_records(topic_, 0, 10);
  Life life(topic_, store_);
  EXPECT_THAT(life.ends(), HasSubstr("offset 8 is gone from the broker, the first available is 10: 2 records are lost"));
  EXPECT_EQ(life.read(), 0u);
}

TEST_F(TopicChanges, AddedPartitionsAreReadFromTheirBeginning) {
  Life life(topic_, store_);
  produce("old", 0, 5);
  ASSERT_TRUE(life.counts(5));
  admin_.add_partitions(topic_, 3);
  produce("old", 5, 7, 1);
  produce("old", 7, 8, 2);
  EXPECT_TRUE(life.counts(8));
}

TEST_F(TopicChanges, OfAddedPartitionsNothingIsPassedOverWhereTheEndIsTheStart) {
  produce("old", 0, 5);
  {
    Life life(topic_, store_, config::StartAt::kLatest);
    ASSERT_TRUE(eventually([&] {
      life.rest();
      return life.held(0);
    }));
    produce("old", 5, 6);
    ASSERT_TRUE(life.counts(1));
    admin_.add_partitions(topic_, 2);
    produce("old", 6, 9, 1);
    EXPECT_TRUE(life.counts(4));
  }
  admin_.add_partitions(topic_, 3);
  produce("old", 9, 11, 2);
  Life life(topic_, store_, config::StartAt::kLatest);
  EXPECT_TRUE(life.counts(2));
}

}  // namespace
}  // namespace gapwatch
