#include "ingest/kafka_producer.h"

#include <fmt/format.h>

#include "ingest/kafka_handle.h"

namespace gapwatch::ingest {
namespace {

using std::chrono::milliseconds;

class KafkaProducer final : public Producer {
 public:
  explicit KafkaProducer(std::string brokers) : brokers_(std::move(brokers)) {}

  ~KafkaProducer() override {
    if (handle_) rd_kafka_purge(handle_.get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
  }

  Status start(const KafkaProperties& properties, milliseconds start_wait) {
    kafka::Settings settings;
    settings.set("bootstrap.servers", brokers_)
        .set("client.id", "gapwatch")
        .set("enable.idempotence", "true")
        .set("compression.codec", "lz4")
        .set("linger.ms", "20")
        .set("partitioner", "murmur2_random")
        .set("log.connection.close", "false")
        .set_all(properties);
    rd_kafka_conf_set_opaque(settings.get(), this);
    rd_kafka_conf_set_log_cb(settings.get(), kafka::on_log);
    rd_kafka_conf_set_error_cb(settings.get(), [](rd_kafka_t*, int code, const char* reason, void* self) {
      static_cast<KafkaProducer*>(self)->link_.heard(static_cast<rd_kafka_resp_err_t>(code), reason);
    });
    rd_kafka_conf_set_dr_msg_cb(settings.get(), [](rd_kafka_t*, const rd_kafka_message_t* message, void* self) {
      static_cast<KafkaProducer*>(self)->reported(*message);
    });
    auto handle = settings.make(RD_KAFKA_PRODUCER);
    if (!handle) return handle.error();
    handle_ = *std::move(handle);
    return kafka::ask(handle_.get(), brokers_, "", link_, start_wait);
  }

  Status produce(const OutgoingMessage& message) override {
    describe(message);
    kafka::Deadline deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    auto seen = delivery_.delivered + delivery_.failed;
    for (;;) {
      const kafka::Owned<rd_kafka_error_t, rd_kafka_error_destroy> error(
          rd_kafka_produceva(handle_.get(), parts_.data(), parts_.size()));
      rd_kafka_poll(handle_.get(), 0);
      if (!error) return {};
      if (rd_kafka_error_code(error.get()) != RD_KAFKA_RESP_ERR__QUEUE_FULL) {
        return stop(fmt::format("kafka: topic \"{}\" does not take a message: {}", message.topic,
                                rd_kafka_error_string(error.get())));
      }
      rd_kafka_poll(handle_.get(), 100);
      const auto now_seen = delivery_.delivered + delivery_.failed;
      if (now_seen != seen) deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
      seen = now_seen;
      if (kafka::until(deadline) == milliseconds(0)) {
        return retry(fmt::format("kafka: {} has taken nothing for a minute: {}", brokers_, link_.reason()));
      }
    }
  }

  Status flush(milliseconds wait) override {
    const auto code = rd_kafka_flush(handle_.get(), kafka::to_timeout(wait));
    const auto failed = delivery_.failed - std::exchange(failed_before_, delivery_.failed);
    if (failed > 0) return stop(fmt::format("kafka: {} messages were not delivered: {}", failed, delivery_.first_failure));
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR) return {};
    return retry(fmt::format("kafka: {} messages are still not delivered to {}: {}", rd_kafka_outq_len(handle_.get()),
                             brokers_, link_.reason()));
  }

  Delivery delivery() const override { return delivery_; }

 private:
  void describe(const OutgoingMessage& message) {
    topic_ = message.topic;
    header_names_.clear();
    for (const auto& header : message.headers) header_names_.emplace_back(header.name);
    parts_.clear();
    add(RD_KAFKA_VTYPE_TOPIC).u.cstr = topic_.c_str();
    if (message.partition) add(RD_KAFKA_VTYPE_PARTITION).u.i32 = *message.partition;
    if (message.time) add(RD_KAFKA_VTYPE_TIMESTAMP).u.i64 = *message.time;
    if (message.key) add(RD_KAFKA_VTYPE_KEY).u.mem = memory(*message.key);
    if (message.value) add(RD_KAFKA_VTYPE_VALUE).u.mem = memory(*message.value);
    add(RD_KAFKA_VTYPE_MSGFLAGS).u.i = RD_KAFKA_MSG_F_COPY;
    for (std::size_t i = 0; i < message.headers.size(); ++i) {
      auto& header = add(RD_KAFKA_VTYPE_HEADER).u.header;
      header.name = header_names_[i].c_str();
      header.val = message.headers[i].value.data();
      header.size = static_cast<std::int64_t>(message.headers[i].value.size());
    }
  }
  rd_kafka_vu_t& add(rd_kafka_vtype_t type) {
    auto& part = parts_.emplace_back();
    part.vtype = type;
    return part;
  }
  // librdkafka takes no pointer for null: an empty text needs one.
  static decltype(rd_kafka_vu_t::u.mem) memory(std::string_view text) {
    return {const_cast<char*>(text.data() == nullptr ? "" : text.data()), text.size()};
  }

  void reported(const rd_kafka_message_t& message) {
    if (message.err == RD_KAFKA_RESP_ERR_NO_ERROR) {
      ++delivery_.delivered;
    } else if (++delivery_.failed == 1) {
      delivery_.first_failure = rd_kafka_err2str(message.err);
    }
  }

  std::string brokers_;
  kafka::Link link_;
  Delivery delivery_;
  std::uint64_t failed_before_ = 0;
  std::string topic_;
  std::vector<std::string> header_names_;
  std::vector<rd_kafka_vu_t> parts_;
  kafka::Handle handle_;  // last: its end still reports deliveries
};

}  // namespace

Result<std::unique_ptr<Producer>> make_kafka_producer(const std::string& brokers, const KafkaProperties& properties,
                                                      milliseconds start_wait) {
  auto producer = std::make_unique<KafkaProducer>(brokers);
  if (auto status = producer->start(properties, start_wait); !status) return status.error();
  return std::unique_ptr<Producer>(std::move(producer));
}

Status create_topic(const std::string& brokers, const KafkaProperties& properties, const std::string& topic,
                    int partitions, milliseconds wait) {
  kafka::Settings settings;
  settings.set("bootstrap.servers", brokers).set_all(properties);
  rd_kafka_conf_set_log_cb(settings.get(), kafka::on_log);
  const auto handle = settings.make(RD_KAFKA_PRODUCER);
  if (!handle) return handle.error();
  rd_kafka_t* const client = handle->get();
  const auto failed = [&](std::string_view why) {
    return refuse(fmt::format("topic \"{}\" cannot be made on {}: {}", topic, brokers, why));
  };
  char why[512];
  const kafka::Owned<rd_kafka_NewTopic_t, rd_kafka_NewTopic_destroy> wanted(
      rd_kafka_NewTopic_new(topic.c_str(), partitions, -1, why, sizeof why));
  if (!wanted) return failed(why);
  const kafka::Owned<rd_kafka_AdminOptions_t, rd_kafka_AdminOptions_destroy> options(
      rd_kafka_AdminOptions_new(client, RD_KAFKA_ADMIN_OP_CREATETOPICS));
  rd_kafka_AdminOptions_set_request_timeout(options.get(), kafka::to_timeout(wait), why, sizeof why);
  const kafka::Queue queue(rd_kafka_queue_new(client));
  rd_kafka_NewTopic_t* topics[] = {wanted.get()};
  rd_kafka_CreateTopics(client, topics, 1, options.get(), queue.get());
  const kafka::Owned<rd_kafka_event_t, rd_kafka_event_destroy> event(
      rd_kafka_queue_poll(queue.get(), kafka::to_timeout(wait + std::chrono::seconds(1))));
  if (!event) return failed("no answer");
  if (rd_kafka_event_error(event.get()) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return failed(rd_kafka_event_error_string(event.get()));
  }
  std::size_t count = 0;
  const auto* const* results =
      rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event.get()), &count);
  const auto code = count == 1 ? rd_kafka_topic_result_error(results[0]) : RD_KAFKA_RESP_ERR_UNKNOWN;
  if (code == RD_KAFKA_RESP_ERR_NO_ERROR || code == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS) return {};
  return failed(rd_kafka_err2str(code));
}

}  // namespace gapwatch::ingest
