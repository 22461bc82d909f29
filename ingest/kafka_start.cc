// Where a partition begins that the state knows nothing of, and what to know before the start.
#include <fmt/format.h>

#include "base/time_text.h"
#include "ingest/kafka_cautions.h"
#include "ingest/kafka_handle.h"

namespace gapwatch::ingest {
namespace kafka {
namespace {

constexpr int kWaitMs = 10'000;

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

Result<std::optional<Offset>> start_of(rd_kafka_t* handle, const config::KafkaSource& settings, const PartitionName& name) {
  const auto given = settings.start_offsets.find(fmt::format("{}/{}", name.topic, name.partition));
  if (given != settings.start_offsets.end()) return std::optional<Offset>(given->second);
  switch (settings.start) {
    case config::StartAt::kLatest: return end_of(handle, name);
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
