// What an administrator does to topics of the test broker: takes them away, makes them larger, lets go of records.
#pragma once

#include <gtest/gtest.h>

#include "ingest/kafka_handle.h"
#include "tests/support/broker.h"
#include "tests/support/eventually.h"

namespace gapwatch::testing {

class TopicAdmin {
 public:
  TopicAdmin() {
    ingest::kafka::Settings settings;
    settings.set("bootstrap.servers", broker().bootstrap());
    handle_ = settings.make(RD_KAFKA_PRODUCER).value();
    queue_.reset(rd_kafka_queue_new(handle_.get()));
  }

  // The topic under the same name, empty.
  void make_anew(const std::string& topic, int partitions) {
    auto* name = rd_kafka_DeleteTopic_new(topic.c_str());
    rd_kafka_DeleteTopics(handle_.get(), &name, 1, nullptr, queue_.get());
    rd_kafka_DeleteTopic_destroy(name);
    await();
    EXPECT_TRUE(eventually([&] { return !end_of(topic); }));
    EXPECT_TRUE(ingest::create_topic(broker().bootstrap(), {}, topic, partitions));
    EXPECT_TRUE(eventually([&] { return end_of(topic) == 0; }));
  }

  void add_partitions(const std::string& topic, int partitions) {
    char why[512];
    auto* more = rd_kafka_NewPartitions_new(topic.c_str(), static_cast<std::size_t>(partitions), why, sizeof why);
    rd_kafka_CreatePartitions(handle_.get(), &more, 1, nullptr, queue_.get());
    rd_kafka_NewPartitions_destroy(more);
    await();
  }

  void delete_records(const std::string& topic, std::int32_t partition, Offset before) {
    const ingest::kafka::PartitionList list(rd_kafka_topic_partition_list_new(1));
    rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), partition)->offset = before;
    auto* records = rd_kafka_DeleteRecords_new(list.get());
    rd_kafka_DeleteRecords(handle_.get(), &records, 1, nullptr, queue_.get());
    rd_kafka_DeleteRecords_destroy(records);
    await();
  }

 private:
  // Of partition 0; nothing where there is no such topic.
  std::optional<Offset> end_of(const std::string& topic) {
    std::int64_t low = 0, high = 0;
    const auto code = rd_kafka_query_watermark_offsets(handle_.get(), topic.c_str(), 0, &low, &high, 1'000);
    return code == RD_KAFKA_RESP_ERR_NO_ERROR ? std::optional<Offset>(high) : std::nullopt;
  }

  void await() {
    const ingest::kafka::Owned<rd_kafka_event_t, rd_kafka_event_destroy> event(rd_kafka_queue_poll(queue_.get(), 30'000));
    ASSERT_TRUE(event) << "the broker did not answer";
    EXPECT_EQ(rd_kafka_event_error(event.get()), RD_KAFKA_RESP_ERR_NO_ERROR) << rd_kafka_event_error_string(event.get());
  }

  ingest::kafka::Handle handle_;
  ingest::kafka::Queue queue_;
};

}  // namespace gapwatch::testing
