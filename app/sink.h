// Where events are written: standard output, a file, or a Kafka topic.
//
// Threads: one. Errors say what failed; finish() says what was not delivered.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gapwatch::app {

class EventSink {
 public:
  virtual ~EventSink() = default;
  // One event, a line without its line end. The key decides the partition of a topic: equal keys, one
  // partition; an empty key, any.
  virtual Status write(std::string_view key, std::string_view line) = 0;
  // Everything is written and delivered.
  virtual Status finish() = 0;
};

// "-" is standard output; "kafka://HOST[:PORT][,HOST...]/TOPIC" a topic, which is made with `partitions` where
// it is not there (0: it is there); anything else a file, made anew.
Result<std::unique_ptr<EventSink>> open_sink(const std::string& target, int partitions);

// Holds a stream to `per_second` events a second; 0: as fast as it goes.
class Pace {
 public:
  explicit Pace(double per_second);
  // Waits until the next event may go.
  void wait();

 private:
  double per_second_;
  std::uint64_t sent_ = 0;
  std::int64_t start_ns_ = 0;
};

}  // namespace gapwatch::app
