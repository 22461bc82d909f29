// Writing to Kafka: replays, simulated streams, dead letters.
//
// Threads: one. Errors: a broker that does not answer refuses at the start; afterwards messages are
// tried again by librdkafka, in order and without duplicates, until message.timeout.ms; what fails
// for good is counted and said by flush().
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"

namespace gapwatch::ingest {

struct OutgoingHeader {
  std::string_view name, value;
};

struct OutgoingMessage {
  std::string_view topic;
  std::optional<std::string_view> key;
  std::optional<std::string_view> value;    // absent: a tombstone
  std::optional<std::int32_t> partition;    // absent: by the key, as Java's producers choose
  std::optional<TimeMs> time;               // absent: now
  std::span<const OutgoingHeader> headers;
};

struct Delivery {
  std::uint64_t delivered = 0, failed = 0;
  std::string first_failure;  // why, in the broker's words
};

class Producer {
 public:
  virtual ~Producer() = default;
  // Takes a copy. Waits while the queue is full and the broker takes what is in it; kRetry when it
  // takes nothing for a minute.
  virtual Status produce(const OutgoingMessage& message) = 0;
  // Waits until everything is delivered or has failed, for at most `wait`; kRetry when time is up,
  // kStop when any message since the last flush failed.
  virtual Status flush(std::chrono::milliseconds wait) = 0;
  // Since the start; what is still under way is in neither number.
  virtual Delivery delivery() const = 0;
};

// librdkafka's properties by name, as under `source.kafka.properties`.
using KafkaProperties = std::map<std::string, std::string>;

Result<std::unique_ptr<Producer>> make_kafka_producer(
    const std::string& brokers, const KafkaProperties& properties,
    std::chrono::milliseconds start_wait = std::chrono::seconds(10));

// Makes a topic with the broker's default replication. One that is there already is left as it is.
Status create_topic(const std::string& brokers, const KafkaProperties& properties, const std::string& topic,
                    int partitions, std::chrono::milliseconds wait = std::chrono::seconds(10));

}  // namespace gapwatch::ingest
