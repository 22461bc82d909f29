// What the parts that speak librdkafka share, and the one file that includes it: its objects with an
// owner, its settings, its log and errors. Private to ingest/: source.h, kafka_producer.h and
// embedded_cluster.h are what others include.
#pragma once

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "base/result.h"
#include "ingest/kafka_producer.h"
#include "ingest/source.h"

namespace gapwatch::ingest::kafka {

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

using Deadline = std::chrono::steady_clock::time_point;

// As librdkafka takes it; never its "for ever".
int to_timeout(std::chrono::milliseconds wait);
// What is left, never negative.
std::chrono::milliseconds until(Deadline deadline);

// Waits for the client's end for so long at most: librdkafka 2.0 may wait for ever, where a topic was deleted under it
// (a deleted partition's queue keeps its messages, and they the client). Then what is left of it ends with the process.
void end_within(Handle handle, std::chrono::milliseconds wait);

// The properties of a client to be. The first that is refused is the error of make().
class Settings {
 public:
  Settings() : conf_(rd_kafka_conf_new()) {}

  rd_kafka_conf_t* get() { return conf_.get(); }

  // A property of ours, whose value may come from the config.
  Settings& set(const char* name, const std::string& value);
  // A property that later versions of the library have.
  Settings& set_if_known(const char* name, const std::string& value);
  // The user's. Values of `hidden` names appear in no message.
  Settings& set_all(const KafkaProperties& properties, const std::set<std::string>& hidden = {});

  // Once.
  Result<Handle> make(rd_kafka_type_t type);

 private:
  Status set_users(const std::string& name, const std::string& value, bool secret);

  Owned<rd_kafka_conf_t, rd_kafka_conf_destroy> conf_;
  Status status_;
};

// Whether brokers answer, from librdkafka's error callback. It reports every attempt; this keeps
// the last reason and tells each change once.
class Link {
 public:
  void heard(rd_kafka_resp_err_t code, const char* reason);
  void works(const std::string& brokers);
  bool take_change() { return std::exchange(change_, false); }
  std::string reason() const { return reason_.empty() ? "no answer" : reason_; }

 private:
  bool down_ = false, change_ = false;
  std::string reason_;
};

// librdkafka's log callback; called by its threads.
void on_log(const rd_kafka_t*, int level, const char* facility, const char* text);

// Asks for the metadata of `topic`, or with none for any broker's answer, for at most `wait`. kSkip: there is no
// such topic.
Status ask(rd_kafka_t* handle, const std::string& brokers, const std::string& topic, Link& link,
           std::chrono::milliseconds wait);

// A message's headers, in order; views into the message.
void read_headers(const rd_kafka_message_t& message, std::vector<Header>& headers);

// A group's consumer as we want it, then the user's properties.
void set_consumer(const config::KafkaSource& source, Settings& settings);

// Why reading ends, and what to do: librdkafka gave up; the offset wanted of a partition is not there.
Error fatal(rd_kafka_t* handle, const config::KafkaSource& settings, std::string_view text);
Error lost_offset(rd_kafka_t* handle, const PartitionName& name, Offset wanted, std::string_view text);

// How many partitions each topic has. Asks the broker, for at most ten seconds.
Result<std::map<std::string, int>> partition_counts(rd_kafka_t* handle);

// Where a partition begins that the state knows nothing of, by the settings; nothing: its beginning. `came_later`: it
// was not there, or not ours, when "the end" was first asked for; then that is where the group committed to, else its
// beginning. Asks the broker where it must, for at most ten seconds.
Result<std::optional<Offset>> start_of(rd_kafka_t* handle, const config::KafkaSource& settings, const PartitionName& name,
                                       bool came_later);

}  // namespace gapwatch::ingest::kafka
