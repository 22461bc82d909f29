// The part of the table that is the source's.
#include <limits>

#include <fmt/format.h>

#include "base/time_text.h"
#include "config/binding.h"
#include "config/text.h"
#include "config/units.h"

namespace gapwatch::config {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::uint64_t kMiB = 1 << 20, kGiB = 1 << 30;

using S = Settings;

// The field of the kafka source, or null while there is no such source.
template <typename Field>
auto kafka(Field KafkaSource::*field) {
  return [field](auto& s) { return s.source.kafka ? &((*s.source.kafka).*field) : nullptr; };
}

bool names_a_secret(std::string_view property) {
  for (const auto* word : {"password", "secret", "token", "pem", "passphrase", "credential", "jaas",
                           "oauthbearer.config", "private", "sasl.username"}) {
    if (property.find(word) != std::string_view::npos) return true;
  }
  return false;
}

// Where a librdkafka property has a setting here, or must not be touched: the reason.
std::optional<std::string> owned_property(const std::string& name) {
  static const std::map<std::string, std::string> kOwned = {
      {"bootstrap.servers", "source.kafka.brokers"},
      {"metadata.broker.list", "source.kafka.brokers"},
      {"group.id", "source.kafka.group"},
      {"group.instance.id", "source.kafka.instance"},
      {"session.timeout.ms", "source.kafka.session_timeout"},
      {"queued.max.messages.kbytes", "source.kafka.queue"}};
  if (const auto found = kOwned.find(name); found != kOwned.end()) {
    return "has a setting of its own, " + found->second;
  }
  if (name == "enable.auto.commit" || name == "enable.auto.offset.store") {
    return "is not to be set: positions are kept with the counts";
  }
  return std::nullopt;
}

void read_property(const std::string& name, const Value& value, KafkaSource& kafka) {
  constexpr std::string_view kFileSuffix = "_file";
  const bool from_file = name.ends_with(kFileSuffix);
  const auto property = from_file ? name.substr(0, name.size() - kFileSuffix.size()) : name;
  if (const auto reason = owned_property(property)) {
    value.fail(*reason);
    return;
  }
  auto scalar = value;
  scalar.secret = !from_file && names_a_secret(property);
  if (value.node.IsMap()) {
    value.fail("is a section; write the property's whole name as one key, with its dots");
    return;
  }
  bool hide = from_file;
  auto text = from_file ? read_secret_file(scalar) : scalar.text(&hide);
  if (!text) return;
  if (!kafka.properties.emplace(property, std::move(*text)).second) {
    value.fail(fmt::format("gives {} twice", property));
  }
  if (hide) kafka.hidden_properties.insert(property);
}

Binding<S> properties() {
  auto binding =
      custom<S>("source.kafka.properties", "map of text", "",
                "Passed to librdkafka untouched, by its own names (`security.protocol: SASL_SSL`). A name "
                "ending in `_file` is read from that file: `sasl.password_file: /run/secrets/kafka`.");
  binding.read = [](const Value& value, S& s) {
    const auto entries = value.entries();
    if (!entries || !s.source.kafka) return;
    for (const auto& [name, entry] : *entries) read_property(name, entry, *s.source.kafka);
  };
  binding.show = [](const S& s) -> std::optional<std::string> {
    if (!s.source.kafka || s.source.kafka->properties.empty()) return std::nullopt;
    std::vector<std::pair<std::string, std::string>> shown;
    for (const auto& [name, text] : s.source.kafka->properties) {
      const bool hidden = names_a_secret(name) || s.source.kafka->hidden_properties.contains(name);
      shown.emplace_back(name, hidden ? yaml_text(kHiddenText) : yaml_text(text));
    }
    return flow_map(shown);
  };
  return binding;
}

Binding<S> source_files() {
  auto binding = in_settings(
      "source.files", names("list of paths", "paths; - is standard input", not_empty, 100'000),
      [](auto& s) { return &s.source.files; },
      "Files read in this order and then done: plain, .gz or .zst. What was read is remembered by name, number of lines and "
      "the last of them: a file may grow, and a last line that was still being written is read again when it is whole; "
      "another file under the name ends the run.");
  binding.read = [form_read = binding.read](const Value& value, S& s) {
    form_read(value, s);
    for (auto& file : s.source.files) {
      if (file != "-") file = value.reader->resolved(file);
    }
  };
  return binding;
}

Binding<S> start() {
  const auto word = choice<StartAt>(
      {{"earliest", StartAt::kEarliest}, {"latest", StartAt::kLatest}, {"committed", StartAt::kCommitted}});
  auto binding = custom<S>(
      "source.kafka.start", "word or time", word.allowed + ", or an RFC 3339 time",
      "Where a partition begins that `state.path` knows nothing of: its beginning, its end, where the group has "
      "committed to (else its beginning), or the first record at or after a time. Of a partition that is added later, "
      "`latest` is where the group has committed to, else its beginning: no record of it is passed over.");
  binding.read = [word](const Value& value, S& s) {
    if (!s.source.kafka) return;
    const auto text = value.text();
    if (!text) return;
    if (const auto time = parse_rfc3339(*text)) {
      s.source.kafka->start = StartAt::kTime;
      s.source.kafka->start_time = *time;
    } else if (const auto at = word.read(value)) {
      s.source.kafka->start = *at;
    }
  };
  binding.show = [word](const S& s) -> std::optional<std::string> {
    if (!s.source.kafka) return std::nullopt;
    const auto& kafka = *s.source.kafka;
    return kafka.start == StartAt::kTime ? yaml_text(format_rfc3339(kafka.start_time)) : word.write(kafka.start);
  };
  return binding;
}

Binding<S> start_offsets() {
  auto binding = custom<S>("source.kafka.start_offsets", "map of whole numbers", "topic/partition: offset",
                           "Offsets at which single partitions begin that `state.path` knows nothing of: "
                           "`{eval-scores/0: 1500}`. Goes before `start`.");
  binding.read = [](const Value& value, S& s) {
    const auto entries = value.entries();
    if (!entries || !s.source.kafka) return;
    const auto offset = whole(0, std::numeric_limits<std::int64_t>::max());
    for (const auto& [place, entry] : *entries) {
      const auto slash = place.rfind('/');
      if (slash == std::string::npos || slash == 0 || !parse_whole(std::string_view(place).substr(slash + 1))) {
        entry.fail("is not under topic/partition");
      } else if (const auto read = offset.read(entry)) {
        s.source.kafka->start_offsets[place] = static_cast<std::int64_t>(*read);
      }
    }
  };
  binding.show = [](const S& s) -> std::optional<std::string> {
    if (!s.source.kafka || s.source.kafka->start_offsets.empty()) return std::nullopt;
    std::vector<std::pair<std::string, std::string>> shown;
    for (const auto& [place, offset] : s.source.kafka->start_offsets) shown.emplace_back(place, std::to_string(offset));
    return flow_map(shown);
  };
  return binding;
}

}  // namespace

void add_source(std::vector<Binding<Settings>>& table) {
  table.push_back(required(in_settings("source.kafka.brokers",
                                       text("host:port, several with commas between them", broker_list),
                                       kafka(&KafkaSource::brokers), "Where the cluster is first reached.")));
  table.push_back(required(
      in_settings("source.kafka.topics", names("list of text", "names of topics", fits_a_topic, 1'000),
                  kafka(&KafkaSource::topics),
                  "Topics read on from where the counts in `state.path` end, or from `start`.")));
  table.push_back(start());
  table.push_back(start_offsets());
  table.push_back(in_settings("source.kafka.wait_for_topics", flag(), kafka(&KafkaSource::wait_for_topics),
                              "A topic that is not there yet is waited for. Without it that is an error at the start."));
  table.push_back(in_settings("source.kafka.group", text("text", not_empty), kafka(&KafkaSource::group),
                              "Consumer group: monitors of one group share the partitions."));
  table.push_back(
      in_settings("source.kafka.instance", text("text", not_empty), kafka(&KafkaSource::instance),
                  "Name of this member of the group (static membership): under it a killed monitor "
                  "has its partitions back as soon as it returns."));
  table.push_back(in_settings("source.kafka.session_timeout", duration(seconds(1), minutes(30)),
                              kafka(&KafkaSource::session_timeout),
                              "How soon the group gives a dead monitor's partitions to another."));
  table.push_back(
      in_settings("source.kafka.queue", size(kMiB, 2 * kGiB), kafka(&KafkaSource::queue_bytes),
                  "Memory for what is fetched and not yet counted, all partitions together (records of a "
                  "few hundred bytes take up to 1.7 times as much). With librdkafka before 2.2 a full queue "
                  "waits up to a second for its next fetch: about 512MiB then keep the monitor busy at "
                  "full speed, and less only slows it while it catches up."));
  table.push_back(properties());
  table.push_back(source_files());
  table.push_back(in_settings(
      "source.stdin", flag(), [](auto& s) { return &s.source.stdin_stream; },
      "Events from standard input, one on a line."));
}

}  // namespace gapwatch::config
