// Everything that speaks librdkafka, in the one file that includes it: the consumer behind Source,
// the producer, and the cluster in memory.

#include <fmt/format.h>
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <syslog.h>

#include "base/log.h"
#include "config/text.h"
#include "ingest/embedded_cluster.h"
#include "ingest/kafka_producer.h"
#include "ingest/source.h"

namespace gapwatch::ingest {
namespace {

using std::chrono::milliseconds;
using Deadline = std::chrono::steady_clock::time_point;

constexpr std::size_t kBatch = 4096;

template <auto destroy>
struct Destroy {
  template <typename T>
  void operator()(T* object) const {
    destroy(object);
  }
};
template <typename T, auto destroy>
using Owned = std::unique_ptr<T, Destroy<destroy>>;

using Handle = Owned<rd_kafka_t, rd_kafka_destroy>;
using Queue = Owned<rd_kafka_queue_t, rd_kafka_queue_destroy>;
using Topic = Owned<rd_kafka_topic_t, rd_kafka_topic_destroy>;
using PartitionList = Owned<rd_kafka_topic_partition_list_t, rd_kafka_topic_partition_list_destroy>;

int to_timeout(milliseconds wait) { return static_cast<int>(std::clamp<std::int64_t>(wait.count(), 0, 1 << 30)); }

milliseconds until(Deadline deadline) {
  return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now()));
}

// ---- settings ----

std::vector<std::string> known_properties() {
  const Owned<rd_kafka_conf_t, rd_kafka_conf_destroy> conf(rd_kafka_conf_new());
  std::size_t count = 0;
  const char** dump = rd_kafka_conf_dump(conf.get(), &count);
  std::vector<std::string> names;
  for (std::size_t i = 0; i + 1 < count; i += 2) names.emplace_back(dump[i]);
  rd_kafka_conf_dump_free(dump, count);
  return names;
}

// Properties that are not the user's to set, and why.
constexpr std::pair<std::string_view, std::string_view> kOwnProperties[] = {
    {"bootstrap.servers", "it is source.kafka.brokers"},
    {"metadata.broker.list", "it is source.kafka.brokers"},
    {"group.id", "it is source.kafka.group"},
    {"group.instance.id", "it is source.kafka.instance"},
    {"enable.auto.commit", "positions are kept with the counts"},
    {"enable.auto.offset.store", "positions are kept with the counts"},
    {"auto.offset.reset", "a lost position must be an error, or records would be passed over"},
};

class Settings {
 public:
  Settings() : conf_(rd_kafka_conf_new()) {}

  rd_kafka_conf_t* get() { return conf_.get(); }

  // A property of ours, whose value may come from the config.
  Settings& set(const char* name, const std::string& value) {
    char why[512];
    if (status_ && rd_kafka_conf_set(get(), name, value.c_str(), why, sizeof why) != RD_KAFKA_CONF_OK) {
      status_ = refuse(fmt::format("source.kafka: {}", why));
    }
    return *this;
  }
  // A property that later versions of the library have.
  Settings& set_if_known(const char* name, const std::string& value) {
    char why[512];
    rd_kafka_conf_set(get(), name, value.c_str(), why, sizeof why);
    return *this;
  }
  Settings& set_all(const KafkaProperties& properties, const std::set<std::string>& hidden = {}) {
    for (const auto& [name, value] : properties) {
      if (status_) status_ = set_users(name, value, hidden.contains(name));
    }
    return *this;
  }

  Result<Handle> make(rd_kafka_type_t type) {
    if (!status_) return status_.error();
    char why[512];
    auto* handle = rd_kafka_new(type, get(), why, sizeof why);
    if (handle == nullptr) return refuse(fmt::format("source.kafka.properties: librdkafka refuses: {}", why));
    conf_.release();  // the handle has it now
    return Handle(handle);
  }

 private:
  Status set_users(const std::string& name, const std::string& value, bool secret) {
    for (const auto& [own, why] : kOwnProperties) {
      if (name == own) return refuse(fmt::format("source.kafka.properties.{} cannot be set: {}", name, why));
    }
    char why[512];
    const auto code = rd_kafka_conf_set(get(), name.c_str(), value.c_str(), why, sizeof why);
    if (code == RD_KAFKA_CONF_OK) return {};
    if (code == RD_KAFKA_CONF_INVALID) {
      return refuse(fmt::format("source.kafka.properties.{}: {}", name, secret ? "the value is not valid" : why));
    }
    const auto known = known_properties();
    const auto nearest = config::nearest(name, known);
    return refuse(fmt::format("source.kafka.properties.{}: librdkafka {} has no such property{}", name,
                              rd_kafka_version_str(), nearest ? fmt::format("; did you mean {}?", *nearest) : ""));
  }

  Owned<rd_kafka_conf_t, rd_kafka_conf_destroy> conf_;
  Status status_;
};

// ---- what librdkafka says by itself ----

// Whether brokers answer, from librdkafka's error callback. It reports every attempt; this keeps
// the last reason and tells each change once.
class Link {
 public:
  void heard(rd_kafka_resp_err_t code, const char* reason) {
    if (code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) {
      if (!down_) change_ = true;
      down_ = true;
    } else {
      reason_ = reason;
      log::debug(fmt::format("kafka: {}", reason));
    }
  }
  void works(const std::string& brokers) {
    if (down_ && !change_) log::info(fmt::format("kafka: {} answers again", brokers));
    down_ = change_ = false;
  }
  bool take_change() { return std::exchange(change_, false); }
  std::string reason() const { return reason_.empty() ? "no answer" : reason_; }

 private:
  bool down_ = false, change_ = false;
  std::string reason_;
};

// Failed connections come through the error callback, too, and a producer id is asked for until a
// broker has one: here these are for the debug log.
void on_log(const rd_kafka_t*, int level, const char* facility, const char* text) {
  const std::string_view kind(facility);
  const auto line = fmt::format("kafka: {}: {}", facility, log::printable(text, 500));
  if (level >= LOG_NOTICE || kind == "FAIL" || kind == "ERROR" || kind == "GETPID") {
    log::debug(line);
  } else {
    log::warn(line);
  }
}

Error unreachable(const std::string& brokers, const Link& link, milliseconds waited) {
  return refuse(fmt::format("no Kafka broker answers at {} within {} s: {}; check the address (source.kafka.brokers) "
                            "and that the broker runs",
                            brokers, std::chrono::ceil<std::chrono::seconds>(waited).count(), link.reason()));
}

// Asks for the metadata of `topic`, or with none for any broker's answer.
Status ask(rd_kafka_t* handle, const std::string& brokers, const std::string& topic, Link& link, milliseconds wait) {
  const Deadline deadline = std::chrono::steady_clock::now() + wait;
  const Topic wanted(topic.empty() ? nullptr : rd_kafka_topic_new(handle, topic.c_str(), nullptr));
  for (;;) {
    const rd_kafka_metadata_t* metadata = nullptr;
    const auto code = rd_kafka_metadata(handle, 0, wanted.get(), &metadata, to_timeout(until(deadline)));
    rd_kafka_poll(handle, 0);  // hear the reasons
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return unreachable(brokers, link, wait);
    auto found = RD_KAFKA_RESP_ERR_NO_ERROR;
    if (wanted && metadata->topic_cnt == 1) found = metadata->topics[0].err;
    rd_kafka_metadata_destroy(metadata);
    if (found == RD_KAFKA_RESP_ERR_NO_ERROR) return {};
    if (found == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) {
      return refuse(fmt::format("topic \"{}\" does not exist on {}; create it, or correct source.kafka.topics", topic,
                                brokers));
    }
    if (found != RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE || until(deadline) == milliseconds(0)) {
      return refuse(fmt::format("topic \"{}\" on {} cannot be read: {}", topic, brokers, rd_kafka_err2str(found)));
    }
    rd_kafka_poll(handle, 100);  // a topic just made has no leader for a moment
  }
}

// ---- the consumer ----

class KafkaSource final : public Source {
 public:
  explicit KafkaSource(const config::KafkaSource& settings) : settings_(settings), messages_(kBatch) {}

  ~KafkaSource() override {
    if (handle_ && !closed_) shut(nullptr);
  }

  Status start(milliseconds start_wait) {
    Settings settings;
    configure(settings);
    auto handle = settings.make(RD_KAFKA_CONSUMER);
    if (!handle) return handle.error();
    handle_ = *std::move(handle);
    rd_kafka_poll_set_consumer(handle_.get());
    queue_.reset(rd_kafka_queue_get_consumer(handle_.get()));
    const PartitionList topics(rd_kafka_topic_partition_list_new(static_cast<int>(settings_.topics.size())));
    for (const auto& topic : settings_.topics) {
      const bool pattern = topic.starts_with('^');
      if (auto status = ask(handle_.get(), settings_.brokers, pattern ? "" : topic, link_, start_wait); !status) {
        return status;
      }
      rd_kafka_topic_partition_list_add(topics.get(), topic.c_str(), RD_KAFKA_PARTITION_UA);
    }
    const auto code = rd_kafka_subscribe(handle_.get(), topics.get());
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR) return {};
    return refuse(fmt::format("source.kafka.topics: cannot subscribe: {}", rd_kafka_err2str(code)));
  }

  Result<bool> poll(milliseconds wait, SourceHandler& handler) override {
    handler_ = &handler;
    if (!failure_) deliver(fetch(wait));
    settle();
    handler_ = nullptr;
    if (failure_) return *failure_;
    if (trouble_) return *std::exchange(trouble_, std::nullopt);
    if (link_.take_change()) {
      return retry(fmt::format("kafka: no broker answers at {}: {}; trying again until one does", settings_.brokers,
                               link_.reason()));
    }
    return true;
  }

  void committed(PartitionIndex index, Offset next) override {
    const auto& name = held_.at(index).name;
    const PartitionList list(rd_kafka_topic_partition_list_new(1));
    rd_kafka_topic_partition_list_add(list.get(), name.topic.c_str(), name.partition)->offset = next;
    rd_kafka_commit(handle_.get(), list.get(), 1);
  }

  void pause() override {
    paused_ = true;
    const auto list = assigned();
    rd_kafka_pause_partitions(handle_.get(), list.get());
  }
  void resume() override {
    paused_ = false;
    const auto list = assigned();
    rd_kafka_resume_partitions(handle_.get(), list.get());
  }

  std::vector<PartitionProgress> progress() const override {
    std::vector<PartitionProgress> all;
    for (const auto& held : held_) {
      if (!held.assigned) continue;
      std::int64_t low = RD_KAFKA_OFFSET_INVALID, high = RD_KAFKA_OFFSET_INVALID;
      rd_kafka_get_watermark_offsets(handle_.get(), held.name.topic.c_str(), held.name.partition, &low, &high);
      PartitionProgress one{held.name, held.next.value_or(std::max<std::int64_t>(low, 0)), std::nullopt};
      if (high >= 0) one.end = std::max(high, one.next);
      all.push_back(std::move(one));
    }
    return all;
  }

  void close(SourceHandler& handler) override {
    if (!closed_) shut(&handler);
  }

 private:
  struct Held {
    PartitionName name;
    std::optional<Offset> next;  // none: the beginning, wherever that is
    bool assigned = false;
  };
  struct Rebalance {
    rd_kafka_resp_err_t code;
    PartitionList partitions;
  };

  void configure(Settings& settings) {
    const auto session = settings_.session_timeout.count();
    settings.set("bootstrap.servers", settings_.brokers).set("group.id", settings_.group).set("client.id", "gapwatch");
    if (!settings_.instance.empty()) settings.set("group.instance.id", settings_.instance);
    settings.set("session.timeout.ms", std::to_string(session))
        .set("heartbeat.interval.ms", std::to_string(std::clamp<std::int64_t>(session / 3, 1, 3'000)))
        .set("enable.auto.commit", "false")
        .set("enable.auto.offset.store", "false")
        .set("auto.offset.reset", "error")
        .set("log.connection.close", "false")
        // Bytes bound the queue, not the number of messages: at the number, librdkafka stops fetching
        // for fetch.queue.backoff.ms, which is a second before 2.2 and cannot be set there. Then only
        // a queue that outlasts that second (some 0.5 GB at full speed) keeps the consumer busy.
        .set("queued.min.messages", "10000000")
        .set("queued.max.messages.kbytes",
             std::to_string(std::clamp<std::uint64_t>(settings_.queue_bytes >> 10, 1, 2'097'151)))
        .set_if_known("fetch.queue.backoff.ms", "10")
        .set_all(settings_.properties, settings_.hidden_properties);
    rd_kafka_conf_set_opaque(settings.get(), this);
    rd_kafka_conf_set_log_cb(settings.get(), on_log);
    rd_kafka_conf_set_error_cb(settings.get(), [](rd_kafka_t*, int code, const char* reason, void* self) {
      static_cast<KafkaSource*>(self)->link_.heard(static_cast<rd_kafka_resp_err_t>(code), reason);
    });
    rd_kafka_conf_set_rebalance_cb(settings.get(), [](rd_kafka_t*, rd_kafka_resp_err_t code,
                                                      rd_kafka_topic_partition_list_t* partitions, void* self) {
      static_cast<KafkaSource*>(self)->on_rebalance(code, partitions);
    });
  }

  // How many of messages_ are filled. A first message ends the wait, so that a slow stream is not
  // held up until a batch is full.
  std::size_t fetch(milliseconds wait) {
    auto count = rd_kafka_consume_batch_queue(queue_.get(), 0, messages_.data(), kBatch);
    if (count > 0 || !rebalances_.empty()) return static_cast<std::size_t>(std::max<std::int64_t>(count, 0));
    messages_[0] = rd_kafka_consume_queue(queue_.get(), to_timeout(wait));
    if (messages_[0] == nullptr) return 0;
    count = rd_kafka_consume_batch_queue(queue_.get(), 0, messages_.data() + 1, kBatch - 1);
    return 1 + static_cast<std::size_t>(std::max<std::int64_t>(count, 0));
  }

  void deliver(std::size_t count) {
    records_.clear();
    for (std::size_t i = 0; i < count; ++i) {
      const auto& message = *messages_[i];
      if (message.err != RD_KAFKA_RESP_ERR_NO_ERROR) {
        on_error(message);
      } else {
        add_record(message);
      }
    }
    if (!records_.empty()) {
      link_.works(settings_.brokers);
      last_trouble_.clear();
      handler_->on_records(records_);
    }
    for (std::size_t i = 0; i < count; ++i) rd_kafka_message_destroy(messages_[i]);
  }

  // A record of a partition that is no longer held, or from before its position, is dropped: it
  // belongs to an assignment that has ended.
  void add_record(const rd_kafka_message_t& message) {
    Held* held = find(message);
    if (held == nullptr || (held->next && message.offset < *held->next)) return;
    held->next = message.offset + 1;
    rd_kafka_timestamp_type_t kind = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
    const auto time = rd_kafka_message_timestamp(&message, &kind);
    Record record;
    record.partition = found_;
    record.offset = message.offset;
    record.time = kind == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE ? 0 : time;
    record.key = {static_cast<const char*>(message.key), message.key_len};
    record.value = {static_cast<const char*>(message.payload), message.len};
    record.tombstone = message.payload == nullptr;
    records_.push_back(record);
  }

  // The partition of a message, its index in found_. Messages come in runs of one partition.
  Held* find(const rd_kafka_message_t& message) {
    if (message.rkt == found_topic_ && message.partition == found_partition_) return &held_[found_];
    const std::string_view topic = message.rkt == nullptr ? "" : rd_kafka_topic_name(message.rkt);
    for (std::size_t i = 0; i < held_.size(); ++i) {
      const auto& held = held_[i];
      if (!held.assigned || held.name.partition != message.partition || held.name.topic != topic) continue;
      found_ = static_cast<PartitionIndex>(i);
      found_topic_ = message.rkt;
      found_partition_ = message.partition;
      return &held_[i];
    }
    return nullptr;
  }

  void on_error(const rd_kafka_message_t& message) {
    const std::string text = rd_kafka_message_errstr(&message);
    switch (message.err) {
      case RD_KAFKA_RESP_ERR__PARTITION_EOF: return;
      case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
      case RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE: failure_ = lost_offset(message); return;
      case RD_KAFKA_RESP_ERR__FATAL: failure_ = fatal(text); return;
      case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
      case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
        failure_ = refuse(fmt::format("kafka: {} refuses: {}; give this user access to the topics {} and the group {}",
                                      settings_.brokers, text, config::joined(settings_.topics), settings_.group));
        return;
      default:
        if (text != last_trouble_) trouble_ = retry(fmt::format("kafka: {}", text));
        last_trouble_ = text;
    }
  }

  Error fatal(std::string text) {
    char why[512];
    if (rd_kafka_fatal_error(handle_.get(), why, sizeof why) == RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID) {
      return refuse(fmt::format("kafka: another monitor runs as instance \"{}\" of group {}; stop it, or give this one "
                                "its own source.kafka.instance",
                                settings_.instance, settings_.group));
    }
    return refuse(fmt::format("kafka: {}", text));
  }

  Error lost_offset(const rd_kafka_message_t& message) {
    const Held* held = find(message);
    if (held == nullptr) return refuse(fmt::format("kafka: {}", rd_kafka_message_errstr(&message)));
    const auto& [topic, partition] = held->name;
    const auto where = fmt::format("kafka: {}[{}]: offset {}", topic, partition, held->next.value_or(0));
    std::int64_t low = 0, high = 0;
    if (rd_kafka_query_watermark_offsets(handle_.get(), topic.c_str(), partition, &low, &high, 5'000) !=
        RD_KAFKA_RESP_ERR_NO_ERROR) {
      return refuse(fmt::format("{} is not on the broker: {}", where, rd_kafka_message_errstr(&message)));
    }
    const Offset wanted = held->next.value_or(0);
    if (wanted > high) {
      return refuse(fmt::format("{} is wanted, but the topic ends at {}: it was made anew or lost records; start with an "
                                "empty state folder to count what is there now",
                                where, high));
    }
    return refuse(fmt::format("{} is gone from the broker, the first available is {}: {} records are lost; keep the topic "
                              "longer, and start with an empty state folder to count what is left",
                              where, low, low - wanted));
  }

  // Only notes what happened: the batch in hand was read under the assignment before and is counted
  // first. Within close there is no batch.
  void on_rebalance(rd_kafka_resp_err_t code, const rd_kafka_topic_partition_list_t* partitions) {
    rebalances_.push_back({code, PartitionList(rd_kafka_topic_partition_list_copy(partitions))});
    if (closing_) settle();
  }

  void settle() {
    for (const auto& [code, partitions] : std::exchange(rebalances_, {})) {
      found_topic_ = nullptr;
      if (code == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
        take(*partitions);
      } else {
        give_up(*partitions);
      }
    }
  }

  bool cooperative() const { return std::string_view(rd_kafka_rebalance_protocol(handle_.get())) == "COOPERATIVE"; }

  void take(rd_kafka_topic_partition_list_t& partitions) {
    for (auto* at = partitions.elems; at != partitions.elems + partitions.cnt && !failure_; ++at) {
      take_one(*at);
    }
    const bool in_vain = failure_ || closing_;
    if (cooperative()) {
      rd_kafka_error_destroy(rd_kafka_incremental_assign(handle_.get(), &partitions));
    } else {
      rd_kafka_assign(handle_.get(), in_vain ? nullptr : &partitions);
    }
    if (!in_vain && paused_) rd_kafka_pause_partitions(handle_.get(), &partitions);
    if (!in_vain) link_.works(settings_.brokers);
  }

  void take_one(rd_kafka_topic_partition_t& partition) {
    if (handler_ == nullptr) return;
    auto free = std::find_if(held_.begin(), held_.end(), [](const Held& held) { return !held.assigned; });
    if (free == held_.end()) free = held_.insert(free, Held{});
    free->name = {partition.topic, partition.partition};
    auto next = handler_->on_assigned(static_cast<PartitionIndex>(free - held_.begin()), free->name);
    if (!next) {
      failure_ = next.error();
      return;
    }
    free->assigned = true;
    free->next = *next;
    partition.offset = next->value_or(RD_KAFKA_OFFSET_BEGINNING);
  }

  void give_up(const rd_kafka_topic_partition_list_t& partitions) {
    for (const auto* at = partitions.elems; at != partitions.elems + partitions.cnt; ++at) {
      const PartitionName name{at->topic, at->partition};
      for (auto& held : held_) {
        if (held.assigned && held.name == name) release(held);
      }
    }
    if (cooperative()) {
      rd_kafka_error_destroy(rd_kafka_incremental_unassign(handle_.get(), &partitions));
    } else {
      rd_kafka_assign(handle_.get(), nullptr);
    }
  }

  void release(Held& held) {
    if (handler_ != nullptr) handler_->on_revoked(static_cast<PartitionIndex>(&held - held_.data()));
    held.assigned = false;
  }

  void shut(SourceHandler* handler) {
    handler_ = handler;
    closing_ = true;
    settle();
    rd_kafka_consumer_close(handle_.get());
    for (auto& held : held_) {
      if (held.assigned) release(held);
    }
    handler_ = nullptr;
    closed_ = true;
  }

  PartitionList assigned() const {
    PartitionList list(rd_kafka_topic_partition_list_new(static_cast<int>(held_.size())));
    for (const auto& held : held_) {
      if (held.assigned) rd_kafka_topic_partition_list_add(list.get(), held.name.topic.c_str(), held.name.partition);
    }
    return list;
  }

  config::KafkaSource settings_;
  Link link_;
  SourceHandler* handler_ = nullptr;
  std::vector<Held> held_;
  std::vector<Rebalance> rebalances_;
  std::vector<rd_kafka_message_t*> messages_;
  std::vector<Record> records_;
  PartitionIndex found_ = 0;
  const rd_kafka_topic_t* found_topic_ = nullptr;
  std::int32_t found_partition_ = -1;
  std::optional<Error> failure_, trouble_;
  std::string last_trouble_;
  bool paused_ = false, closing_ = false, closed_ = false;
  Handle handle_;
  Queue queue_;  // goes before handle_
};

// ---- the producer ----

class KafkaProducer final : public Producer {
 public:
  explicit KafkaProducer(std::string brokers) : brokers_(std::move(brokers)) {}

  ~KafkaProducer() override {
    if (handle_) rd_kafka_purge(handle_.get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
  }

  Status start(const KafkaProperties& properties, milliseconds start_wait) {
    Settings settings;
    settings.set("bootstrap.servers", brokers_)
        .set("client.id", "gapwatch")
        .set("enable.idempotence", "true")
        .set("compression.codec", "lz4")
        .set("linger.ms", "20")
        .set("partitioner", "murmur2_random")
        .set("log.connection.close", "false")
        .set_all(properties);
    rd_kafka_conf_set_opaque(settings.get(), this);
    rd_kafka_conf_set_log_cb(settings.get(), on_log);
    rd_kafka_conf_set_error_cb(settings.get(), [](rd_kafka_t*, int code, const char* reason, void* self) {
      static_cast<KafkaProducer*>(self)->link_.heard(static_cast<rd_kafka_resp_err_t>(code), reason);
    });
    rd_kafka_conf_set_dr_msg_cb(settings.get(), [](rd_kafka_t*, const rd_kafka_message_t* message, void* self) {
      static_cast<KafkaProducer*>(self)->reported(*message);
    });
    auto handle = settings.make(RD_KAFKA_PRODUCER);
    if (!handle) return handle.error();
    handle_ = *std::move(handle);
    return ask(handle_.get(), brokers_, "", link_, start_wait);
  }

  Status produce(const OutgoingMessage& message) override {
    describe(message);
    Deadline deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    auto seen = delivery_.delivered + delivery_.failed;
    for (;;) {
      const Owned<rd_kafka_error_t, rd_kafka_error_destroy> error(
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
      if (until(deadline) == milliseconds(0)) {
        return retry(fmt::format("kafka: {} has taken nothing for a minute: {}", brokers_, link_.reason()));
      }
    }
  }

  Status flush(milliseconds wait) override {
    const auto code = rd_kafka_flush(handle_.get(), to_timeout(wait));
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
  Link link_;
  Delivery delivery_;
  std::uint64_t failed_before_ = 0;
  std::string topic_;
  std::vector<std::string> header_names_;
  std::vector<rd_kafka_vu_t> parts_;
  Handle handle_;  // last: its end still reports deliveries
};

// ---- the cluster in memory ----

class MockCluster final : public EmbeddedCluster {
 public:
  MockCluster(Handle handle, int brokers)
      : handle_(std::move(handle)), cluster_(rd_kafka_mock_cluster_new(handle_.get(), brokers)), brokers_(brokers) {}

  bool works() const { return cluster_ != nullptr; }
  std::string bootstrap() const override { return rd_kafka_mock_cluster_bootstraps(cluster_.get()); }
  Status add_topic(const std::string& topic, int partitions) override {
    const auto code = rd_kafka_mock_topic_create(cluster_.get(), topic.c_str(), partitions, 1);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR) return {};
    return refuse(fmt::format("embedded cluster: topic \"{}\": {}", topic, rd_kafka_err2str(code)));
  }
  void set_reachable(bool reachable) override {
    for (int id = 1; id <= brokers_; ++id) {
      if (reachable) {
        rd_kafka_mock_broker_set_up(cluster_.get(), id);
      } else {
        rd_kafka_mock_broker_set_down(cluster_.get(), id);
      }
    }
  }

 private:
  Handle handle_;
  Owned<rd_kafka_mock_cluster_t, rd_kafka_mock_cluster_destroy> cluster_;
  int brokers_;
};

}  // namespace

Result<std::unique_ptr<Source>> make_kafka_source(const config::KafkaSource& settings, milliseconds start_wait) {
  auto source = std::make_unique<KafkaSource>(settings);
  if (auto status = source->start(start_wait); !status) return status.error();
  return std::unique_ptr<Source>(std::move(source));
}

Result<std::unique_ptr<Producer>> make_kafka_producer(const std::string& brokers, const KafkaProperties& properties,
                                                      milliseconds start_wait) {
  auto producer = std::make_unique<KafkaProducer>(brokers);
  if (auto status = producer->start(properties, start_wait); !status) return status.error();
  return std::unique_ptr<Producer>(std::move(producer));
}

Status create_topic(const std::string& brokers, const KafkaProperties& properties, const std::string& topic,
                    int partitions, milliseconds wait) {
  Settings settings;
  settings.set("bootstrap.servers", brokers).set_all(properties);
  rd_kafka_conf_set_log_cb(settings.get(), on_log);
  const auto handle = settings.make(RD_KAFKA_PRODUCER);
  if (!handle) return handle.error();
  rd_kafka_t* const client = handle->get();
  const auto failed = [&](std::string_view why) {
    return refuse(fmt::format("topic \"{}\" cannot be made on {}: {}", topic, brokers, why));
  };
  char why[512];
  const Owned<rd_kafka_NewTopic_t, rd_kafka_NewTopic_destroy> wanted(
      rd_kafka_NewTopic_new(topic.c_str(), partitions, -1, why, sizeof why));
  if (!wanted) return failed(why);
  const Owned<rd_kafka_AdminOptions_t, rd_kafka_AdminOptions_destroy> options(
      rd_kafka_AdminOptions_new(client, RD_KAFKA_ADMIN_OP_CREATETOPICS));
  rd_kafka_AdminOptions_set_request_timeout(options.get(), to_timeout(wait), why, sizeof why);
  const Queue queue(rd_kafka_queue_new(client));
  rd_kafka_NewTopic_t* topics[] = {wanted.get()};
  rd_kafka_CreateTopics(client, topics, 1, options.get(), queue.get());
  const Owned<rd_kafka_event_t, rd_kafka_event_destroy> event(
      rd_kafka_queue_poll(queue.get(), to_timeout(wait + std::chrono::seconds(1))));
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

Result<std::unique_ptr<EmbeddedCluster>> make_embedded_cluster(int brokers, const std::string& topic, int partitions) {
  Settings settings;
  rd_kafka_conf_set_log_cb(settings.get(), on_log);
  auto handle = settings.make(RD_KAFKA_PRODUCER);
  if (!handle) return handle.error();
  auto cluster = std::make_unique<MockCluster>(*std::move(handle), brokers);
  if (!cluster->works()) return refuse("the embedded cluster cannot listen on the loopback");
  if (auto status = cluster->add_topic(topic, partitions); !status) return status.error();
  return std::unique_ptr<EmbeddedCluster>(std::move(cluster));
}

}  // namespace gapwatch::ingest
