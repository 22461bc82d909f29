// A Kafka cluster inside this process, in memory, on free ports of the loopback: for demo and quick
// tests. It is librdkafka's imitation of a broker: it keeps the last few megabytes of a partition,
// knows no transactions and cannot be asked by time. What must hold on a real broker is tested on one.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"

namespace gapwatch::ingest {

class EmbeddedCluster {
 public:
  virtual ~EmbeddedCluster() = default;
  // host:port of each broker, as source.kafka.brokers wants it.
  virtual std::string bootstrap() const = 0;
  virtual Status add_topic(const std::string& topic, int partitions) = 0;
  // Every broker stops answering, and answers again.
  virtual void set_reachable(bool reachable) = 0;
};

Result<std::unique_ptr<EmbeddedCluster>> make_embedded_cluster(int brokers, const std::string& topic, int partitions);

}  // namespace gapwatch::ingest
