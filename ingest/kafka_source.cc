// The consumer behind Source.

#include <fmt/format.h>

#include "base/log.h"
#include "config/text.h"
#include "ingest/kafka_cautions.h"
#include "ingest/kafka_handle.h"

namespace gapwatch::ingest {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kBatch = 1024;  // what is still in the caches when it is given back
constexpr auto kSilence = std::chrono::seconds(1);  // no topic is made anew and grows past an offset in less

class KafkaSource final : public Source, private HeaderReader {
 public:
  explicit KafkaSource(const config::KafkaSource& settings) : settings_(settings), messages_(kBatch) {}

  ~KafkaSource() override {
    if (handle_ && !closed_) shut(nullptr);
    queue_.reset();
    if (handle_) kafka::end_within(std::move(handle_), std::chrono::seconds(5));
  }

  Status start(milliseconds start_wait) {
    kafka::Settings settings;
    configure(settings);
    auto handle = settings.make(RD_KAFKA_CONSUMER);
    if (!handle) return handle.error();
    handle_ = *std::move(handle);
    rd_kafka_poll_set_consumer(handle_.get());
    queue_.reset(rd_kafka_queue_get_consumer(handle_.get()));
    const kafka::PartitionList topics(rd_kafka_topic_partition_list_new(static_cast<int>(settings_.topics.size())));
    for (const auto& topic : settings_.topics) {
      const bool pattern = topic.starts_with('^');
      auto status = kafka::ask(handle_.get(), settings_.brokers, pattern ? "" : topic, link_, start_wait);
      if (!status && !may_wait(status.error())) return with_cautions(status.error());
      rd_kafka_topic_partition_list_add(topics.get(), topic.c_str(), RD_KAFKA_PARTITION_UA);
    }
    if (settings_.start == config::StartAt::kLatest) {
      auto counts = kafka::partition_counts(handle_.get());
      if (!counts) return counts.error();
      at_start_ = *std::move(counts);
    }
    const auto code = rd_kafka_subscribe(handle_.get(), topics.get());
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR) return {};
    return refuse(fmt::format("source.kafka.topics: cannot subscribe: {}", rd_kafka_err2str(code)));
  }

  Result<bool> poll(milliseconds wait, SourceHandler& handler) override {
    handler_ = &handler;
    if (std::exchange(resumed_, false)) {
      for (auto& held : held_) look_again(held);
    }
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
    const kafka::PartitionList list(rd_kafka_topic_partition_list_new(1));
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
    resumed_ = true;
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
    bool again = false;          // the record before it comes first, for the handler to know it by
    Clock::time_point heard;     // when records came last
    std::uint64_t looked_in = 0;  // the batch whose records of this partition come again
    RecordContext context;
    bool assigned = false;
  };
  struct Rebalance {
    rd_kafka_resp_err_t code;
    kafka::PartitionList partitions;
  };

  bool may_wait(const Error& error) const {
    if (error.action != Action::kSkip || !settings_.wait_for_topics) return false;
    log::warn(fmt::format("kafka: {} (waiting for it)", error.message));
    return true;
  }

  Error with_cautions(const Error& error) const {
    auto message = error.message;
    for (const auto& caution : kafka_cautions(settings_)) message += "; mind: " + caution;
    return refuse(std::move(message));
  }

  void configure(kafka::Settings& settings) {
    kafka::set_consumer(settings_, settings);
    rd_kafka_conf_set_opaque(settings.get(), this);
    rd_kafka_conf_set_log_cb(settings.get(), kafka::on_log);
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
    messages_[0] = rd_kafka_consume_queue(queue_.get(), kafka::to_timeout(wait));
    if (messages_[0] == nullptr) return 0;
    count = rd_kafka_consume_batch_queue(queue_.get(), 0, messages_.data() + 1, kBatch - 1);
    return 1 + static_cast<std::size_t>(std::max<std::int64_t>(count, 0));
  }

  void deliver(std::size_t count) {
    records_.clear();
    ++batch_;
    now_ = Clock::now();
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

  // A record of a partition that is no longer held, or from before its position, is dropped: it belongs to an
  // assignment that has ended. All but the one that is wanted again.
  void add_record(const rd_kafka_message_t& message) {
    Held* held = find(message);
    if (held == nullptr) return;
    const bool silent = now_ - std::exchange(held->heard, now_) > kSilence;
    if (silent && !held->again) look_again(*held);
    if (held->looked_in == batch_) return;
    const bool again = std::exchange(held->again, false);
    if (held->next && message.offset < *held->next - again) return;
    held->next = std::max(message.offset + 1, held->next.value_or(0));
    rd_kafka_timestamp_type_t kind = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
    const auto time = rd_kafka_message_timestamp(&message, &kind);
    Record record;
    record.partition = found_;
    record.offset = message.offset;
    record.time = kind == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE ? 0 : time;
    record.key = {static_cast<const char*>(message.key), message.key_len};
    record.value = {static_cast<const char*>(message.payload), message.len};
    record.tombstone = message.payload == nullptr;
    record.context = &held->context;
    record.origin = &message;
    records_.push_back(record);
  }

  std::span<const Header> headers_of(const Record& record) const override {
    kafka::read_headers(*static_cast<const rd_kafka_message_t*>(record.origin), headers_);
    return headers_;
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
      held_[i].context = {held_[i].name.topic, {}, {}, this};
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
      case RD_KAFKA_RESP_ERR__FATAL: failure_ = kafka::fatal(handle_.get(), settings_, text); return;
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

  // Whether the record before the next one is to come again. It may be gone, as long as the next one is not.
  bool wants_again(const Held& held) const {
    if (held.next.value_or(0) == 0 || !handler_->wants_last_again(static_cast<PartitionIndex>(&held - held_.data()))) return false;
    std::int64_t low = 0, high = 0;
    const auto code = rd_kafka_query_watermark_offsets(handle_.get(), held.name.topic.c_str(), held.name.partition, &low, &high, 5'000);
    return code != RD_KAFKA_RESP_ERR_NO_ERROR || low < *held.next;
  }

  bool seek(const Held& held, Offset to) {
    const kafka::PartitionList list(rd_kafka_topic_partition_list_new(1));
    rd_kafka_topic_partition_list_add(list.get(), held.name.topic.c_str(), held.name.partition)->offset = to;
    auto* const error = rd_kafka_seek_partitions(handle_.get(), list.get(), 5'000);
    const bool failed = error != nullptr || list->elems[0].err != RD_KAFKA_RESP_ERR_NO_ERROR;
    rd_kafka_error_destroy(error);
    return !failed;
  }

  // While nothing was read, a topic may have been made anew: what came since waits until it is known to be the old one.
  void look_again(Held& held) {
    held.again = held.assigned && wants_again(held) && seek(held, *held.next - 1);
    if (held.again) held.looked_in = batch_;
  }

  Error lost_offset(const rd_kafka_message_t& message) {
    const Held* held = find(message);
    if (held == nullptr) return refuse(fmt::format("kafka: {}", rd_kafka_message_errstr(&message)));
    return kafka::lost_offset(handle_.get(), held->name, held->next.value_or(0), rd_kafka_message_errstr(&message));
  }

  // Only notes what happened: the batch in hand was read under the assignment before and is counted
  // first. Within close there is no batch.
  void on_rebalance(rd_kafka_resp_err_t code, const rd_kafka_topic_partition_list_t* partitions) {
    rebalances_.push_back({code, kafka::PartitionList(rd_kafka_topic_partition_list_copy(partitions))});
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
    if (next && !*next) next = begin(static_cast<PartitionIndex>(free - held_.begin()), free->name);
    if (!next) {
      failure_ = next.error();
      return;
    }
    free->assigned = true;
    free->next = *next;
    free->again = wants_again(*free);
    free->heard = Clock::now();
    partition.offset = *next ? **next - free->again : RD_KAFKA_OFFSET_BEGINNING;
  }

  Result<std::optional<Offset>> begin(PartitionIndex index, const PartitionName& name) {
    const auto known = at_start_.find(name.topic);
    const bool there = known != at_start_.end() && name.partition < known->second;
    auto start = kafka::start_of(handle_.get(), settings_, name, !there || handler_->knew_topic(name.topic));
    if (start && *start) handler_->on_started(index, **start);
    return start;
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

  kafka::PartitionList assigned() const {
    kafka::PartitionList list(rd_kafka_topic_partition_list_new(static_cast<int>(held_.size())));
    for (const auto& held : held_) {
      if (held.assigned) rd_kafka_topic_partition_list_add(list.get(), held.name.topic.c_str(), held.name.partition);
    }
    return list;
  }

  config::KafkaSource settings_;
  kafka::Link link_;
  SourceHandler* handler_ = nullptr;
  std::map<std::string, int> at_start_;  // partitions of each topic; only where the end is asked for
  std::vector<Held> held_;
  std::vector<Rebalance> rebalances_;
  std::vector<rd_kafka_message_t*> messages_;
  std::vector<Record> records_;
  mutable std::vector<Header> headers_;
  std::uint64_t batch_ = 0;
  Clock::time_point now_;  // of the batch
  PartitionIndex found_ = 0;
  const rd_kafka_topic_t* found_topic_ = nullptr;
  std::int32_t found_partition_ = -1;
  std::optional<Error> failure_, trouble_;
  std::string last_trouble_;
  bool paused_ = false, resumed_ = false, closing_ = false, closed_ = false;
  kafka::Handle handle_;
  kafka::Queue queue_;
};

}  // namespace

Result<std::unique_ptr<Source>> make_kafka_source(const config::KafkaSource& settings, milliseconds start_wait) {
  auto source = std::make_unique<KafkaSource>(settings);
  if (auto status = source->start(start_wait); !status) return status.error();
  return std::unique_ptr<Source>(std::move(source));
}

}  // namespace gapwatch::ingest
