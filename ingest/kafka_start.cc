// How a consumer is set up, where a partition begins that the state knows nothing of, and why reading may end.
#include <fmt/format.h>

#include <algorithm>

#include "base/time_text.h"
#include "ingest/kafka_cautions.h"
#include "ingest/kafka_handle.h"

namespace gapwatch::ingest {
namespace kafka {
namespace {

constexpr int kWaitMs = 10'000;
constexpr std::uint64_t kQueuedBytes = 320;  // of a small message in librdkafka's queue

Error cannot_ask(const PartitionName& name, std::string_view what, rd_kafka_resp_err_t code) {
  return refuse(fmt::format("kafka: {}[{}]: cannot ask for {}: {}; start again when the broker answers", name.topic,
                            name.partition, what, rd_kafka_err2str(code)));
}

Result<std::optional<Offset>> end_of(rd_kafka_t* handle, const PartitionName& name) {
  std::int64_t low = 0, high = 0;
  const auto code = rd_kafka_query_watermark_offsets(handle, name.topic.c_str(), name.partition, &low, &high, kWaitMs);
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return cannot_ask(name, "its end", code);
  return std::optional<Offset>(high);
}

PartitionList list_of(const PartitionName& name, Offset offset) {
  PartitionList list(rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_list_add(list.get(), name.topic.c_str(), name.partition)->offset = offset;
  return list;
}

rd_kafka_resp_err_t error_of(rd_kafka_resp_err_t code, const PartitionList& list) {
  return code != RD_KAFKA_RESP_ERR_NO_ERROR ? code : list->elems[0].err;
}

Result<std::optional<Offset>> committed_of(rd_kafka_t* handle, const PartitionName& name) {
  const auto list = list_of(name, RD_KAFKA_OFFSET_INVALID);
  const auto code = error_of(rd_kafka_committed(handle, list.get(), kWaitMs), list);
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return cannot_ask(name, "its committed offset", code);
  const auto offset = list->elems[0].offset;
  return offset >= 0 ? std::optional<Offset>(offset) : std::nullopt;
}

// Past the last record's time it is the end.
Result<std::optional<Offset>> first_at(rd_kafka_t* handle, const PartitionName& name, TimeMs time) {
  const auto list = list_of(name, time);
  const auto code = error_of(rd_kafka_offsets_for_times(handle, list.get(), kWaitMs), list);
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return cannot_ask(name, "its offset at " + format_rfc3339(time), code);
  const auto offset = list->elems[0].offset;
  return offset >= 0 ? Result<std::optional<Offset>>(std::optional<Offset>(offset)) : end_of(handle, name);
}

}  // namespace

void set_consumer(const config::KafkaSource& source, Settings& settings) {
  const auto session = source.session_timeout.count();
  settings.set("bootstrap.servers", source.brokers).set("group.id", source.group).set("client.id", "gapwatch");
  if (!source.instance.empty()) settings.set("group.instance.id", source.instance);
  settings.set("session.timeout.ms", std::to_string(session))
      .set("heartbeat.interval.ms", std::to_string(std::clamp<std::int64_t>(session / 3, 1, 3'000)))
      .set("enable.auto.commit", "false")
      .set("enable.auto.offset.store", "false")
      .set("auto.offset.reset", "error")
      .set("log.connection.close", "false")
      // librdkafka bounds the queue by the messages' bytes or by their number, and holds some 220 bytes beside
      // each: where messages are small their number must bound it. At a bound it stops fetching for
      // fetch.queue.backoff.ms, which is a second before 2.2 and cannot be set there. Then only a queue that
      // outlasts that second (some 0.5 GB at full speed) keeps the consumer busy.
      .set("queued.min.messages", std::to_string(std::clamp<std::uint64_t>(source.queue_bytes / kQueuedBytes, 1, 10'000'000)))
      .set("queued.max.messages.kbytes",
           std::to_string(std::clamp<std::uint64_t>(source.queue_bytes >> 10, 1, 2'097'151)))
      .set_if_known("fetch.queue.backoff.ms", "10")
      // Members keep what they have while others come and go; and a new partition, or topic, is soon seen.
      .set("partition.assignment.strategy", "cooperative-sticky")
      .set("topic.metadata.refresh.interval.ms", "30000")
      .set_all(source.properties, source.hidden_properties);
}

Error fatal(rd_kafka_t* handle, const config::KafkaSource& settings, std::string_view text) {
  char why[512];
  if (rd_kafka_fatal_error(handle, why, sizeof why) == RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID) {
    return refuse(fmt::format("kafka: another monitor runs as instance \"{}\" of group {}; stop it, or give this one "
                              "its own source.kafka.instance",
                              settings.instance, settings.group));
  }
  return refuse(fmt::format("kafka: {}", text));
}

Error lost_offset(rd_kafka_t* handle, const PartitionName& name, Offset wanted, std::string_view text) {
  const auto where = fmt::format("kafka: {}[{}]: offset {}", name.topic, name.partition, wanted);
  std::int64_t low = 0, high = 0;
  if (rd_kafka_query_watermark_offsets(handle, name.topic.c_str(), name.partition, &low, &high, 5'000) !=
      RD_KAFKA_RESP_ERR_NO_ERROR) {
    return refuse(fmt::format("{} is not on the broker: {}", where, text));
  }
  if (wanted > high) {
    return refuse(fmt::format("{} is wanted, but the topic ends at {}: it was made anew or lost records; start with an "
                              "empty state folder to count what is there now",
                              where, high));
  }
  return refuse(fmt::format("{} is gone from the broker, the first available is {}: {} records are lost; keep the topic "
                            "longer, and start with an empty state folder to count what is left",
                            where, low, low - wanted));
}

Result<std::map<std::string, int>> partition_counts(rd_kafka_t* handle) {
  const rd_kafka_metadata_t* all = nullptr;
  const auto code = rd_kafka_metadata(handle, 1, nullptr, &all, kWaitMs);
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return refuse(fmt::format("kafka: cannot ask for the topics: {}; start again when the broker answers", rd_kafka_err2str(code)));
  }
  std::map<std::string, int> counts;
  for (int i = 0; i < all->topic_cnt; ++i) counts[all->topics[i].topic] = all->topics[i].partition_cnt;
  rd_kafka_metadata_destroy(all);
  return counts;
}

Result<std::optional<Offset>> start_of(rd_kafka_t* handle, const config::KafkaSource& settings, const PartitionName& name,
                                       bool came_later) {
  const auto given = settings.start_offsets.find(fmt::format("{}/{}", name.topic, name.partition));
  if (given != settings.start_offsets.end()) return std::optional<Offset>(given->second);
  switch (settings.start) {
    case config::StartAt::kLatest: return came_later ? committed_of(handle, name) : end_of(handle, name);
    case config::StartAt::kCommitted: return committed_of(handle, name);
    case config::StartAt::kTime: return first_at(handle, name, settings.start_time);
    case config::StartAt::kEarliest: break;
  }
  return std::optional<Offset>();
}

void read_headers(const rd_kafka_message_t& message, std::vector<Header>& headers) {
  headers.clear();
  rd_kafka_headers_t* list = nullptr;
  if (rd_kafka_message_headers(&message, &list) != RD_KAFKA_RESP_ERR_NO_ERROR) return;
  const char* name = nullptr;
  const void* value = nullptr;
  std::size_t size = 0;
  for (std::size_t i = 0; rd_kafka_header_get_all(list, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR; ++i) {
    headers.push_back({name, {static_cast<const char*>(value), size}});
  }
}

}  // namespace kafka

std::vector<std::string> kafka_cautions(const config::KafkaSource& settings) {
  constexpr int kNewNonce = 0x020601ff;  // 2.6.1
  std::vector<std::string> cautions;
  for (const char* name : {"sasl.mechanism", "sasl.mechanisms"}) {
    const auto at = settings.properties.find(name);
    if (at == settings.properties.end() || !at->second.starts_with("SCRAM") || rd_kafka_version() >= kNewNonce) continue;
    cautions.push_back(fmt::format(
        "librdkafka {} repeats the client's nonce in {}, which brokers since 3.7.2, 3.8.1 and 4.0 refuse as invalid "
        "credentials, right password or not; use librdkafka 2.6.1 or later, or another mechanism",
        rd_kafka_version_str(), at->second));
  }
  return cautions;
}

}  // namespace gapwatch::ingest
