// Where reading begins, on a real broker: the end, a time, an offset, what the group committed; and topics and
// partitions that come later.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ingest/kafka_producer.h"
#include "tests/ingest/recording_handler.h"
#include "tests/support/broker.h"
#include "tests/support/eventually.h"

namespace gapwatch {
namespace {

using ingest::PartitionName;
using std::chrono::seconds;
using testing::broker;
using testing::fresh_topic;
using testing::poll_until;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr TimeMs kStart = 1'790'000'000'000;

class StartingHandler final : public testing::RecordingHandler {
 public:
  void on_started(ingest::PartitionIndex index, Offset from) override { started[held.at(index)] = from; }
  void on_records(std::span<const ingest::Record> records) override {
    RecordingHandler::on_records(records);
    for (const auto& record : records) {
      EXPECT_EQ(record.topic(), held.at(record.partition).topic);
      for (const auto& header : record.headers()) headers.push_back(std::string(header.name) + "=" + std::string(header.value));
    }
  }
  std::map<PartitionName, Offset> started;
  std::vector<std::string> headers;
};

class StartPositions : public ::testing::Test {
 protected:
  void make_topic(int partitions) {
    const auto made = ingest::create_topic(broker().bootstrap(), {}, topic_, partitions);
    ASSERT_TRUE(made) << made.error().message;
  }
  // Records v<from> ... to one partition, a second apart.
  void produce(int from, int to, std::int32_t partition = 0) {
    const auto producer = ingest::make_kafka_producer(broker().bootstrap(), {}).value();
    const ingest::OutgoingHeader headers[] = {{"model", "phi"}, {"run", ""}};
    for (int i = from; i < to; ++i) {
      const auto value = "v" + std::to_string(i);
      ingest::OutgoingMessage message;
      message.topic = topic_;
      message.value = value;
      message.partition = partition;
      message.time = kStart + i * 1'000;
      message.headers = headers;
      ASSERT_TRUE(producer->produce(message));
    }
    ASSERT_TRUE(producer->flush(seconds(60)));
  }
  config::KafkaSource settings() const {
    config::KafkaSource settings;
    settings.brokers = broker().bootstrap();
    settings.topics = {topic_};
    settings.group = topic_;
    settings.properties = {{"topic.metadata.refresh.interval.ms", "500"}};
    return settings;
  }
  // Reads until `count` records came; the first one's value.
  std::string first_of(const config::KafkaSource& chosen, std::size_t count) {
    handler_.emplace();
    auto source = ingest::make_kafka_source(chosen).value();
    const auto error = poll_until(*source, *handler_, [&] { return handler_->seen.size() >= count; });
    EXPECT_FALSE(error) << error->message;
    source->close(*handler_);
    return handler_->seen.empty() ? "" : handler_->seen.front().value;
  }

  const std::string topic_ = fresh_topic("start");
  std::optional<StartingHandler> handler_;
};

TEST_F(StartPositions, TheBeginningIsTheDefaultAndHeadersComeAlong) {
  make_topic(1);
  produce(0, 3);
  EXPECT_EQ(first_of(settings(), 3), "v0");
  EXPECT_TRUE(handler_->started.empty());
  EXPECT_THAT(handler_->headers, ElementsAre("model=phi", "run=", "model=phi", "run=", "model=phi", "run="));
}

TEST_F(StartPositions, ATimeIsTheFirstRecordAtOrAfterIt) {
  make_topic(1);
  produce(0, 10);
  auto chosen = settings();
  chosen.start = config::StartAt::kTime;
  chosen.start_time = kStart + 4'000;
  EXPECT_EQ(first_of(chosen, 6), "v4");
  EXPECT_EQ(handler_->started.at({topic_, 0}), 4);
  chosen.start_time = kStart + 4'001;
  chosen.group += "-2";
  EXPECT_EQ(first_of(chosen, 5), "v5");
}

TEST_F(StartPositions, TheEndAndATimeAfterItAreAnOffsetThatIsKept) {
  make_topic(1);
  produce(0, 4);
  for (const auto start : {config::StartAt::kLatest, config::StartAt::kTime}) {
    auto chosen = settings();
    chosen.group += start == config::StartAt::kLatest ? "-a" : "-b";
    chosen.start = start;
    chosen.start_time = kStart + 1'000'000;
    StartingHandler handler;
    auto source = ingest::make_kafka_source(chosen).value();
    ASSERT_FALSE(poll_until(*source, handler, [&] { return !handler.started.empty(); }));
    EXPECT_EQ(handler.started.at({topic_, 0}), 4);
    source->close(handler);
  }
  auto chosen = settings();
  chosen.start_offsets = {{topic_ + "/0", 3}};
  chosen.start = config::StartAt::kLatest;
  EXPECT_EQ(first_of(chosen, 1), "v3");
}

TEST_F(StartPositions, WhatTheGroupCommittedAndElseTheBeginning) {
  make_topic(2);
  produce(0, 5, 0);
  produce(5, 8, 1);
  auto chosen = settings();
  chosen.start = config::StartAt::kCommitted;
  EXPECT_EQ(first_of(chosen, 8).front(), 'v');
  EXPECT_TRUE(handler_->started.empty()) << "nothing was committed";
  {
    StartingHandler handler;
    auto source = ingest::make_kafka_source(settings()).value();
    ASSERT_FALSE(poll_until(*source, handler, [&] { return handler.held.size() == 2; }));
    for (const auto& [index, name] : handler.held) {
      if (name.partition == 0) source->committed(index, 3);
    }
    source->close(handler);
  }
  first_of(chosen, 5);
  EXPECT_EQ(handler_->started.at({topic_, 0}), 3);
  EXPECT_FALSE(handler_->started.contains({topic_, 1}));
}

TEST_F(StartPositions, AnOffsetBeyondTheEndIsAnErrorAndNoJump) {
  make_topic(1);
  produce(0, 2);
  auto chosen = settings();
  chosen.start_offsets = {{topic_ + "/0", 100}};
  StartingHandler handler;
  auto source = ingest::make_kafka_source(chosen).value();
  const auto error = poll_until(*source, handler, [] { return false; });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->action, Action::kRefuse);
  EXPECT_THAT(error->message, HasSubstr("offset 100 is wanted, but the topic ends at 2"));
  EXPECT_TRUE(handler.seen.empty());
}

TEST_F(StartPositions, ATopicThatIsNotThereYetIsWaitedFor) {
  EXPECT_THAT(ingest::make_kafka_source(settings()).error().message, HasSubstr("does not exist"));
  auto chosen = settings();
  chosen.wait_for_topics = true;
  StartingHandler handler;
  auto source = ingest::make_kafka_source(chosen).value();
  (void)source->poll(std::chrono::milliseconds(100), handler);  // may say that it is not there
  make_topic(1);
  produce(0, 3);
  std::string last = "no error";
  bool failed = false;
  ASSERT_TRUE(testing::eventually([&] {
    if (const auto more = source->poll(std::chrono::milliseconds(100), handler); !more) {
      last = more.error().message;
      failed = more.error().action != Action::kRetry;
    }
    return failed || handler.seen.size() >= 3;
  })) << handler.seen.size() << " records came; " << last;
  ASSERT_FALSE(failed) << last;
  EXPECT_EQ(handler.seen.front().value, "v0");
  source->close(handler);
}

}  // namespace
}  // namespace gapwatch
