// The Kafka source and producer against the cluster in memory. What only a real broker can show is
// tested on one, in tests/system.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include "ingest/embedded_cluster.h"
#include "ingest/kafka_producer.h"
#include "recording_handler.h"

namespace gapwatch::ingest {
namespace {

using gapwatch::testing::poll_until;
using gapwatch::testing::RecordingHandler;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Joining a group takes three seconds at the cluster in memory, so all that join begin before the first
// test. A test's topic and group have its own name.
class Kafka : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster_ = make_embedded_cluster(1, "events", 2).value();
    leaving_ = make_embedded_cluster(1, "ABrokerThatGoesAwayIsSaidOnceAndWaitedFor", 2).value();
    for (const char* name :
         {"RecordsArriveInOrderWithKeyTimeAndOffset", "StartsWhereTheHandlerSays", "TombstonesAndEmptyValuesDiffer",
          "ASecondMemberTakesAShareAndTheFirstFlushesBefore", "AHandlerThatRefusesEndsTheRun",
          "AnOffsetThatIsGoneIsAnErrorAndNeverAJump", "RecordsThatTheBrokerForgotAreCounted",
          "PauseHoldsRecordsBackAndResumeLosesNone"}) {
      if (!will_run(name)) continue;
      ASSERT_TRUE(cluster_->add_topic(name, 2));
      joining_[name] = make_kafka_source(settings(*cluster_, name)).value();
    }
    const char* away = "ABrokerThatGoesAwayIsSaidOnceAndWaitedFor";
    if (!will_run(away)) return;
    auto quick = settings(*leaving_, away);
    quick.properties = kQuick;
    joining_[away] = make_kafka_source(quick).value();
  }
  static void TearDownTestSuite() {
    joining_.clear();
    leaving_.reset();
    cluster_.reset();
  }
  // Nothing joins for a test that was not asked for: librdkafka 2.0's cluster can crash under a client that
  // leaves while it joins.
  static bool will_run(const std::string& name) {
    const auto& suite = *::testing::UnitTest::GetInstance()->current_test_suite();
    for (int i = 0; i < suite.total_test_count(); ++i) {
      if (suite.GetTestInfo(i)->name() == name) return suite.GetTestInfo(i)->should_run();
    }
    return false;
  }
  static config::KafkaSource settings(const EmbeddedCluster& cluster, const std::string& name) {
    config::KafkaSource settings;
    settings.brokers = cluster.bootstrap();
    settings.topics = {name};
    settings.group = name;
    // Longer than the three seconds that the cluster waits for the first members. For later ones it
    // waits this long less a second.
    settings.session_timeout = milliseconds(6000);
    return settings;
  }
  static config::KafkaSource settings() { return settings(*cluster_, "events"); }
  std::unique_ptr<Source> joined() { return std::move(joining_.at(topic_)); }

  void produce(int from, int to, std::optional<std::int32_t> partition = {}) {
    if (!producer_) producer_ = make_kafka_producer(cluster_->bootstrap(), {}).value();
    for (int i = from; i < to; ++i) {
      const auto key = "k" + std::to_string(i % 7), value = "v" + std::to_string(i);
      OutgoingMessage message;
      message.topic = topic_;
      message.key = key;
      message.value = value;
      message.partition = partition;
      message.time = 1'764'000'000'000 + i;
      ASSERT_TRUE(producer_->produce(message));
    }
    const auto flushed = producer_->flush(seconds(60));
    ASSERT_TRUE(flushed) << flushed.error().message;
  }
  static std::string error_of(const config::KafkaSource& settings, milliseconds wait = seconds(10)) {
    auto made = make_kafka_source(settings, wait);
    if (made) return "no error";
    EXPECT_EQ(made.error().action, Action::kRefuse);
    return made.error().message;
  }

  // Back to a broker that answers again without waiting for seconds.
  inline static const KafkaProperties kQuick = {{"reconnect.backoff.ms", "10"}, {"reconnect.backoff.max.ms", "100"}};
  inline static std::unique_ptr<EmbeddedCluster> cluster_, leaving_;
  inline static std::map<std::string, std::unique_ptr<Source>> joining_;
  const std::string topic_ = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  std::unique_ptr<Producer> producer_;
};

// Two members of a group as one state would serve them: a partition goes on where it was left, and has
// one holder at a time.
struct Shared {
  std::map<PartitionName, Offset> next;
  std::set<PartitionName> held;
  std::vector<std::string> values;
};
class MemberHandler : public RecordingHandler {
 public:
  explicit MemberHandler(Shared& shared) : shared_(shared) {}
  Result<std::optional<Offset>> on_assigned(PartitionIndex index, const PartitionName& name) override {
    EXPECT_TRUE(shared_.held.insert(name).second) << name.partition << " is taken before it is given up";
    start = shared_.next;
    return RecordingHandler::on_assigned(index, name);
  }
  void on_revoked(PartitionIndex index) override {
    shared_.held.erase(held.at(index));
    RecordingHandler::on_revoked(index);
  }
  void on_records(std::span<const Record> records) override {
    for (const auto& one : records) {
      EXPECT_EQ(one.offset, shared_.next[held.at(one.partition)]++);
      shared_.values.emplace_back(one.value);
    }
    RecordingHandler::on_records(records);
  }

 private:
  Shared& shared_;
};

TEST_F(Kafka, RecordsArriveInOrderWithKeyTimeAndOffset) {
  produce(0, 1000);
  auto source = joined();
  RecordingHandler handler;
  ASSERT_FALSE(poll_until(*source, handler, [&] { return handler.seen.size() >= 1000; }));
  EXPECT_EQ(handler.assignments, 2);
  std::map<PartitionName, Offset> next;
  std::set<std::string> values;
  for (const auto& one : handler.seen) {
    EXPECT_EQ(one.offset, next[one.from]++);
    const int i = std::stoi(one.value.substr(1));
    EXPECT_EQ(one.key, "k" + std::to_string(i % 7));
    EXPECT_EQ(one.time, 1'764'000'000'000 + i);
    values.insert(one.value);
  }
  EXPECT_EQ(values.size(), 1000u);

  for (const auto& progress : source->progress()) {
    EXPECT_EQ(progress.next, next[progress.name]);
    EXPECT_EQ(progress.end, next[progress.name]);
  }
  source->committed(handler.held.begin()->first, 5);
  source->close(handler);
  EXPECT_TRUE(handler.held.empty());
  EXPECT_EQ(handler.revoked.size(), 2u);
}

TEST_F(Kafka, StartsWhereTheHandlerSays) {
  produce(0, 100, 0);
  produce(100, 150, 1);
  auto source = joined();
  RecordingHandler handler;
  handler.start = {{{topic_, 0}, 90}, {{topic_, 1}, 50}};  // ten records left, and none
  ASSERT_FALSE(poll_until(*source, handler, [&] { return handler.seen.size() >= 10; }));
  produce(150, 152, 1);
  ASSERT_FALSE(poll_until(*source, handler, [&] { return handler.seen.size() >= 12; }));
  EXPECT_EQ(handler.seen.front().value, "v90");
  EXPECT_EQ(handler.seen[9].value, "v99");
  EXPECT_EQ(handler.seen[10].value, "v150");
  EXPECT_EQ(handler.seen[10].offset, 50);
  source->close(handler);
}

TEST_F(Kafka, TombstonesAndEmptyValuesDiffer) {
  auto producer = make_kafka_producer(cluster_->bootstrap(), {}).value();
  const OutgoingHeader headers[] = {{"reason", "not_json"}, {"empty", ""}};
  OutgoingMessage message;
  message.topic = topic_;
  message.partition = 0;
  message.key = "k";
  ASSERT_TRUE(producer->produce(message));
  message.value = "";
  message.headers = headers;
  ASSERT_TRUE(producer->produce(message));
  ASSERT_TRUE(producer->flush(seconds(20)));
  EXPECT_EQ(producer->delivery().delivered, 2u);
  EXPECT_EQ(producer->delivery().failed, 0u);

  auto source = joined();
  RecordingHandler handler;
  ASSERT_FALSE(poll_until(*source, handler, [&] { return handler.seen.size() >= 2; }));
  EXPECT_TRUE(handler.seen[0].tombstone);
  EXPECT_FALSE(handler.seen[1].tombstone);
  EXPECT_EQ(handler.seen[1].value, "");
  source->close(handler);
}

TEST_F(Kafka, ASecondMemberTakesAShareAndTheFirstFlushesBefore) {
  Shared shared;
  MemberHandler one(shared), two(shared);
  produce(0, 20, 0);
  produce(20, 40, 1);
  auto first = joined();
  ASSERT_FALSE(poll_until(*first, one, [&] { return one.seen.size() >= 40; }));
  auto second = make_kafka_source(settings(*cluster_, topic_)).value();
  // Each must poll for the group to balance.
  std::optional<Error> trouble;
  const auto both = [&](auto done) {
    return poll_until(*first, one, [&] {
      if (done() || trouble) return true;
      if (auto more = second->poll(milliseconds(50), two); !more) trouble = more.error();
      return false;
    });
  };
  ASSERT_FALSE(both([&] { return one.held.size() == 1 && two.held.size() == 1; }));
  ASSERT_FALSE(trouble) << trouble->message;
  EXPECT_GE(one.revoked.size(), 1u);
  EXPECT_NE(one.held.begin()->second, two.held.begin()->second);
  produce(40, 45, 0);
  produce(45, 50, 1);
  ASSERT_FALSE(both([&] { return shared.values.size() >= 50; }));
  ASSERT_FALSE(trouble) << trouble->message;
  EXPECT_EQ(std::set(shared.values.begin(), shared.values.end()).size(), 50u);
  EXPECT_EQ(shared.values.size(), 50u);
  EXPECT_FALSE(two.seen.empty());
  second->close(two);
  first->close(one);
  EXPECT_TRUE(shared.held.empty());
}

TEST_F(Kafka, AHandlerThatRefusesEndsTheRun) {
  auto source = joined();
  RecordingHandler handler;
  handler.refusal = refuse("the state is of another topic");
  const auto error = poll_until(*source, handler, [] { return false; });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message, "the state is of another topic");
  EXPECT_EQ(error->action, Action::kRefuse);
  EXPECT_FALSE(source->poll(milliseconds(0), handler));
  source->close(handler);
}

TEST_F(Kafka, AnOffsetThatIsGoneIsAnErrorAndNeverAJump) {
  produce(0, 10, 0);
  auto source = joined();
  RecordingHandler handler;
  handler.start = {{{topic_, 0}, 500}};
  const auto error = poll_until(*source, handler, [] { return false; });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->action, Action::kRefuse);
  EXPECT_THAT(error->message, AllOf(HasSubstr(topic_ + "[0]: offset 500 is wanted"), HasSubstr("the topic ends at 10")));
  EXPECT_TRUE(handler.seen.empty());
  source->close(handler);
}

// The cluster in memory keeps some 5 MB of a partition.
TEST_F(Kafka, RecordsThatTheBrokerForgotAreCounted) {
  auto producer = make_kafka_producer(cluster_->bootstrap(), {{"compression.codec", "none"}}).value();
  const std::string large(100'000, 'x');
  for (int i = 0; i < 120; ++i) {
    OutgoingMessage message;
    message.topic = topic_;
    message.partition = 0;
    message.value = large;
    ASSERT_TRUE(producer->produce(message));
    if (i % 10 == 9) {
      ASSERT_TRUE(producer->flush(seconds(20)));
    }
  }
  auto source = joined();
  RecordingHandler handler;
  handler.start = {{{topic_, 0}, 1}};
  const auto error = poll_until(*source, handler, [] { return false; });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->action, Action::kRefuse);
  EXPECT_TRUE(handler.seen.empty());
  long long first = 0, lost = 0;
  const std::string what = "[0]: offset 1 is gone from the broker, the first available is ";
  const auto at = error->message.find(topic_ + what);
  ASSERT_NE(at, std::string::npos) << error->message;
  const char* const numbers = error->message.c_str() + at + topic_.size() + what.size();
  ASSERT_EQ(std::sscanf(numbers, "%lld: %lld records are lost", &first, &lost), 2);
  EXPECT_GT(first, 1);
  EXPECT_EQ(lost, first - 1);
  source->close(handler);
}

TEST_F(Kafka, PauseHoldsRecordsBackAndResumeLosesNone) {
  produce(0, 10, 0);
  auto source = joined();
  RecordingHandler handler;
  ASSERT_FALSE(poll_until(*source, handler, [&] { return handler.seen.size() >= 10; }));
  source->pause();
  produce(10, 20, 0);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(source->poll(milliseconds(20), handler));
  EXPECT_EQ(handler.seen.size(), 10u);
  source->resume();
  ASSERT_FALSE(poll_until(*source, handler, [&] { return handler.seen.size() >= 20; }));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(handler.seen[static_cast<std::size_t>(i)].value, "v" + std::to_string(i));
  source->close(handler);
}

TEST_F(Kafka, ABrokerThatGoesAwayIsSaidOnceAndWaitedFor) {
  producer_ = make_kafka_producer(leaving_->bootstrap(), kQuick).value();
  produce(0, 10, 0);
  auto source = joined();
  RecordingHandler handler;
  ASSERT_FALSE(poll_until(*source, handler, [&] { return handler.seen.size() >= 10; }));
  leaving_->set_reachable(false);
  const auto error = poll_until(*source, handler, [] { return false; });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->action, Action::kRetry);
  EXPECT_THAT(error->message, AllOf(HasSubstr("no broker answers at"), HasSubstr("refused")));
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(source->poll(milliseconds(20), handler));  // not said again
  leaving_->set_reachable(true);
  produce(10, 12, 0);
  ASSERT_FALSE(poll_until(*source, handler, [&] { return handler.seen.size() >= 12; }));
  source->close(handler);
}

TEST_F(Kafka, WhatIsWrongAtTheStartIsSaid) {
  auto silent = settings();
  silent.brokers = "127.0.0.1:1";
  EXPECT_THAT(error_of(silent, milliseconds(500)),
              AllOf(HasSubstr("no Kafka broker answers at 127.0.0.1:1"), HasSubstr("Connection refused"), HasSubstr("source.kafka.brokers")));
  auto made = make_kafka_producer("127.0.0.1:1", {}, milliseconds(500));
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr("no Kafka broker answers at 127.0.0.1:1"));
}

// The embedded cluster makes the topics it is asked for; this one says that it does not have it.
TEST(KafkaTopics, AMissingTopicIsRefused) {
  char why[512];
  rd_kafka_conf_t* quiet = rd_kafka_conf_new();  // it would say that it has no brokers
  rd_kafka_conf_set_log_cb(quiet, nullptr);
  rd_kafka_t* owner = rd_kafka_new(RD_KAFKA_PRODUCER, quiet, why, sizeof why);
  rd_kafka_mock_cluster_t* cluster = rd_kafka_mock_cluster_new(owner, 1);
  rd_kafka_mock_topic_set_error(cluster, "evnets", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
  config::KafkaSource settings;
  settings.brokers = rd_kafka_mock_cluster_bootstraps(cluster);
  settings.topics = {"evnets"};
  const auto made = make_kafka_source(settings);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message, "topic \"evnets\" does not exist on " + settings.brokers +
                                      "; create it, or correct source.kafka.topics");
  rd_kafka_mock_cluster_destroy(cluster);
  rd_kafka_destroy(owner);
}

TEST_F(Kafka, PropertiesGoThroughUntouchedOrAreNamed) {
  auto good = settings();
  good.properties = {{"fetch.wait.max.ms", "50"}, {"client.rack", "r1"}};
  auto source = make_kafka_source(good).value();
  RecordingHandler handler;
  source->close(handler);

  const auto with = [&](const char* name, const char* value) {
    auto bad = settings();
    bad.properties = {{name, value}};
    return error_of(bad);
  };
  EXPECT_THAT(with("fetch.wait.mx.ms", "50"), AllOf(HasSubstr("source.kafka.properties.fetch.wait.mx.ms"), HasSubstr("did you mean fetch.wait.max.ms?")));
  EXPECT_THAT(with("fetch.wait.max.ms", "soon"), HasSubstr("source.kafka.properties.fetch.wait.max.ms"));
  EXPECT_THAT(with("enable.auto.commit", "true"), HasSubstr("cannot be set: positions are kept with the counts"));
  EXPECT_THAT(with("security.protocol", "plaintexxt"), HasSubstr("security.protocol"));

  auto secret = settings();
  secret.properties = {{"security.protocol", "hunter2"}};
  secret.hidden_properties = {"security.protocol"};
  EXPECT_THAT(error_of(secret), ::testing::Not(HasSubstr("hunter2")));
}

TEST_F(Kafka, ProducingToATopicThatIsNotThereFails) {
  auto producer = make_kafka_producer(cluster_->bootstrap(), {{"message.timeout.ms", "1000"}}).value();
  OutgoingMessage message;
  message.topic = "events";
  message.partition = 7;  // of two
  message.value = "x";
  const auto taken = producer->produce(message);
  const auto flushed = producer->flush(seconds(20));
  EXPECT_FALSE(taken && flushed);
}

}  // namespace
}  // namespace gapwatch::ingest
