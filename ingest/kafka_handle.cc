#include "ingest/kafka_handle.h"

#include <fmt/format.h>
#include <syslog.h>

#include <charconv>
#include <future>
#include <system_error>
#include <thread>

#include "base/log.h"
#include "config/text.h"

namespace gapwatch::ingest::kafka {
namespace {

using std::chrono::milliseconds;

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

Error unreachable(const std::string& brokers, const Link& link, milliseconds waited) {
  return refuse(fmt::format("no Kafka broker answers at {} within {} s: {}; check the address (source.kafka.brokers) "
                            "and that the broker runs",
                            brokers, std::chrono::ceil<std::chrono::seconds>(waited).count(), link.reason()));
}

}  // namespace

int to_timeout(milliseconds wait) { return static_cast<int>(std::clamp<std::int64_t>(wait.count(), 0, 1 << 30)); }

milliseconds until(Deadline deadline) {
  return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now()));
}

void end_within(Handle handle, milliseconds wait) {
  auto ended = std::make_shared<std::promise<void>>();
  const auto end = ended->get_future();
  try {
    std::thread([client = handle.get(), ended] {
      rd_kafka_destroy(client);
      ended->set_value();
    }).detach();
  } catch (const std::system_error&) {
    return;  // no thread to be had: as it is, then
  }
  (void)handle.release();
  if (end.wait_for(wait) != std::future_status::ready) log::warn("kafka: the client does not end; it is left to the process's end");
}

// librdkafka takes a port beyond 65535 for another one.
Status check_brokers(const std::string& brokers) {
  for (std::size_t from = 0; from < brokers.size();) {
    const auto end = std::min(brokers.find(',', from), brokers.size());
    const auto one = std::string_view(brokers).substr(from, end - from);
    from = end + 1;
    const auto colon = one.rfind(':');
    if (colon == std::string_view::npos || one.find(']', colon) != std::string_view::npos) continue;
    unsigned port = 0;
    const auto* last = one.data() + one.size();
    const auto [at, code] = std::from_chars(one.data() + colon + 1, last, port);
    if (code == std::errc() && at == last && port >= 1 && port <= 65'535) continue;
    return refuse(fmt::format("\"{}\" is no Kafka broker's address; write HOST:PORT, with a port from 1 to 65535", one));
  }
  return {};
}

Settings& Settings::set(const char* name, const std::string& value) {
  if (status_ && std::string_view(name) == "bootstrap.servers") status_ = check_brokers(value);
  char why[512];
  if (status_ && rd_kafka_conf_set(get(), name, value.c_str(), why, sizeof why) != RD_KAFKA_CONF_OK) {
    status_ = refuse(fmt::format("source.kafka: {}", why));
  }
  return *this;
}

Settings& Settings::set_if_known(const char* name, const std::string& value) {
  char why[512];
  rd_kafka_conf_set(get(), name, value.c_str(), why, sizeof why);
  return *this;
}

Settings& Settings::set_all(const KafkaProperties& properties, const std::set<std::string>& hidden) {
  for (const auto& [name, value] : properties) {
    if (status_) status_ = set_users(name, value, hidden.contains(name));
  }
  return *this;
}

Result<Handle> Settings::make(rd_kafka_type_t type) {
  if (!status_) return status_.error();
  char why[512];
  auto* handle = rd_kafka_new(type, get(), why, sizeof why);
  if (handle == nullptr) return refuse(fmt::format("source.kafka.properties: librdkafka refuses: {}", why));
  conf_.release();  // the handle has it now
  return Handle(handle);
}

Status Settings::set_users(const std::string& name, const std::string& value, bool secret) {
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

void Link::heard(rd_kafka_resp_err_t code, const char* reason) {
  if (code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) {
    if (!down_) change_ = true;
    down_ = true;
  } else {
    reason_ = reason;
    log::debug(fmt::format("kafka: {}", reason));
  }
}

void Link::works(const std::string& brokers) {
  if (down_ && !change_) log::info(fmt::format("kafka: {} answers again", brokers));
  down_ = change_ = false;
}

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
      return skip(fmt::format("topic \"{}\" does not exist on {}; create it, or correct source.kafka.topics", topic,
                              brokers));
    }
    if (found != RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE || until(deadline) == milliseconds(0)) {
      return refuse(fmt::format("topic \"{}\" on {} cannot be read: {}", topic, brokers, rd_kafka_err2str(found)));
    }
    rd_kafka_poll(handle, 100);  // a topic just made has no leader for a moment
  }
}

}  // namespace gapwatch::ingest::kafka
