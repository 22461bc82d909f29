// Records of another producer on a real topic, the ones that cannot be read, and a prompt on two partitions.
#include <gmock/gmock.h>

#include "ingest/kafka_producer.h"
#include "tests/ingest/recording_handler.h"
#include "tests/support/broker.h"
#include "tests/support/monitor_process.h"
#include "tests/support/temp_dir.h"

namespace gapwatch {
namespace {

using std::chrono::seconds;
using testing::broker;
using testing::eventually;
using testing::fresh_topic;
using testing::MonitorProcess;
using testing::TempDir;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

class LetterHandler final : public testing::RecordingHandler {
 public:
  void on_records(std::span<const ingest::Record> records) override {
    RecordingHandler::on_records(records);
    for (const auto& record : records) {
      for (const auto& header : record.headers()) headers.push_back(std::string(header.name) + "=" + std::string(header.value));
    }
  }
  std::vector<std::string> headers;
};

class MappedStream : public ::testing::Test {
 protected:
  MappedStream() {
    for (const auto& topic : {topic_, letters_}) EXPECT_TRUE(ingest::create_topic(broker().bootstrap(), {}, topic, 2));
    producer_ = ingest::make_kafka_producer(broker().bootstrap(), {}).value();
  }
  void send(const std::string& key, const std::string& value, std::int32_t partition, const std::string& model) {
    const ingest::OutgoingHeader headers[] = {{"x-eval-model", model}, {"x-eval-task", "river"}};
    ingest::OutgoingMessage message;
    message.topic = topic_;
    message.key = key;
    message.value = value;
    message.partition = partition;
    message.headers = headers;
    ASSERT_TRUE(producer_->produce(message));
  }
  static std::string row(const std::string& hash, const std::string& score) {
    return R"({"doc_id":0,"filter":"none","metrics":["acc","f1"],"doc_hash":")" + hash + R"(","acc":)" + score + R"(,"f1":0})";
  }
  std::string config(const std::filesystem::path& dir) const {
    return "source:\n  kafka:\n    brokers: " + broker().bootstrap() + "\n    topics: [" + topic_ + "]\n    group: " + topic_ +
           "\nformat: lm-eval\nstate: {path: " + (dir / "state").string() +
           ", checkpoint_every: 20ms}\nhttp: {listen: 127.0.0.1:0}\ndead_letters: {topic: " + letters_ + "}\n";
  }

  const std::string topic_ = fresh_topic("mapped"), letters_ = topic_ + "-bad";
  std::unique_ptr<ingest::Producer> producer_;
  TempDir dir_;
};

TEST_F(MappedStream, RowsAreCountedByTheirHeadersAndBadOnesAreLetters) {
  for (const char* model : {"oak", "fir"}) {
    send("a", row("a000000000000000", "1.0"), 0, model);
    send("b", row("b000000000000000", "NaN"), 1, model);
  }
  send("c", "{\"metrics\":", 1, "oak");
  ASSERT_TRUE(producer_->flush(seconds(60)));
  MonitorProcess monitor(dir_.path(), config(dir_.path()));
  ASSERT_TRUE(monitor.caught_up(9)) << monitor.process().err();
  EXPECT_EQ(monitor.metric("gapwatch_events_total{result=\"applied\"}"), 8.0);
  EXPECT_EQ(monitor.metric("gapwatch_rejected_total{reason=\"not_json\"}"), 1.0);
  EXPECT_TRUE(eventually([&] { return monitor.metric("gapwatch_dead_letters_total") == 1.0; }));
  EXPECT_THAT(monitor.get("/api/v1/monitors"), HasSubstr("\"acc,none\""));
  EXPECT_EQ(monitor.metric("gapwatch_stream_split_prompts"), 0.0);

  config::KafkaSource settings;
  settings.brokers = broker().bootstrap();
  settings.topics = {letters_};
  settings.group = letters_;
  LetterHandler handler;
  auto source = ingest::make_kafka_source(settings).value();
  ASSERT_FALSE(poll_until(*source, handler, [&] { return !handler.seen.empty(); }));
  EXPECT_EQ(handler.seen[0].key, "c");
  EXPECT_EQ(handler.seen[0].value, "{\"metrics\":");
  EXPECT_THAT(handler.headers, IsSupersetOf(std::vector<std::string>{"x-eval-model=oak", "gapwatch-reason=not_json",
                                                                      "gapwatch-partition=1", "gapwatch-topic=" + topic_,
                                                                      "gapwatch-offset=2"}));
  source->close(handler);
  EXPECT_EQ(monitor.process().kill(SIGTERM), 0) << monitor.process().err();
}

TEST_F(MappedStream, APromptOnTwoPartitionsIsSaid) {
  send("a", row("a000000000000000", "1.0"), 0, "oak");
  send("a", row("a000000000000000", "0.0"), 1, "fir");
  ASSERT_TRUE(producer_->flush(seconds(60)));
  MonitorProcess monitor(dir_.path(), config(dir_.path()));
  ASSERT_TRUE(monitor.caught_up(4)) << monitor.process().err();
  EXPECT_TRUE(eventually([&] { return monitor.metric("gapwatch_stream_split_prompts") == 2.0; })) << "one a scorer";
  EXPECT_THAT(monitor.process().err(), HasSubstr("a prompt is on two partitions"));
  EXPECT_EQ(monitor.process().kill(SIGTERM), 0) << monitor.process().err();
}

}  // namespace
}  // namespace gapwatch
