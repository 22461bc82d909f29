#include "config/schema.h"

#include <limits>

#include <fmt/format.h>

#include "config/binding.h"
#include "config/text.h"
#include "config/units.h"

namespace gapwatch::config {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::uint64_t kKiB = 1 << 10, kMiB = 1 << 20, kGiB = 1 << 30;
constexpr const char* kHidden = "(hidden)";

using S = Settings;

template <typename T, typename Get>
auto in_settings(std::string path, Form<T> form, Get get, std::string help) {
  return bind<Settings>(std::move(path), std::move(form), get, std::move(help));
}
// The field of the kafka source, or null while there is no such source.
template <typename Field>
auto kafka(Field KafkaSource::*field) {
  return [field](auto& s) { return s.source.kafka ? &((*s.source.kafka).*field) : nullptr; };
}

template <typename Owner>
Binding<Owner> required(Binding<Owner> binding) {
  binding.required = true;
  return binding;
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
      shown.emplace_back(name, hidden ? yaml_text(kHidden) : yaml_text(text));
    }
    return flow_map(shown);
  };
  return binding;
}

Binding<S> source_files() {
  auto binding = in_settings(
      "source.files", names("list of paths", "paths; - is standard input", not_empty, 100'000),
      [](auto& s) { return &s.source.files; }, "Files read in this order and then done: plain, .gz or .zst.");
  binding.read = [form_read = binding.read](const Value& value, S& s) {
    form_read(value, s);
    for (auto& file : s.source.files) {
      if (file != "-") file = value.reader->resolved(file);
    }
  };
  return binding;
}

Binding<S> state_path() {
  auto binding = in_settings(
      "state.path", text("a path", not_empty), [](auto& s) { return &s.state.path; },
      "Folder of the counts (RocksDB), made where it is missing; one monitor at a time may "
      "have it. Without it the counts live in memory and are gone at the end.");
  binding.read = [form_read = binding.read](const Value& value, S& s) {
    form_read(value, s);
    s.state.path = value.reader->resolved(s.state.path);
  };
  return binding;
}

Binding<S> success_by_eval() {
  const auto score = number(std::numeric_limits<double>::lowest(), std::numeric_limits<double>::max());
  auto binding = custom<S>("events.success_at_by_eval", "map of numbers", "eval: number",
                           "`events.success_at` for single evals, by name.");
  binding.read = [score](const Value& value, S& s) {
    const auto entries = value.entries();
    if (!entries) return;
    for (const auto& [eval, entry] : *entries) {
      if (const auto at = score.read(entry)) s.events.success_at_by_eval[eval] = *at;
    }
  };
  binding.show = [](const S& s) -> std::optional<std::string> {
    if (s.events.success_at_by_eval.empty()) return std::nullopt;
    std::vector<std::pair<std::string, std::string>> shown;
    for (const auto& [eval, at] : s.events.success_at_by_eval) shown.emplace_back(eval, format_number(at));
    return flow_map(shown);
  };
  return binding;
}

std::vector<Binding<S>> http_token() {
  auto token =
      custom<S>("http.token", "text", "printable ASCII without spaces",
                "Bearer token for the calls that change something. Where there is none, such calls are "
                "answered on a loopback address only.");
  token.secret = true;
  token.read = [](const Value& value, S& s) {
    const auto read = value.text();
    if (!read) return;
    if (const auto complaint = fits_a_header(*read)) {
      value.fail("the token " + *complaint);
      return;
    }
    s.http.token = *read;
  };
  token.show = [](const S& s) -> std::optional<std::string> {
    return s.http.token.empty() ? std::nullopt : std::optional(yaml_text(kHidden));
  };
  auto file = custom<S>("http.token_file", "path", "a file that holds the token",
                        "The same token, read from a file.");
  file.read = [](const Value& value, S& s) {
    const auto read = read_secret_file(value);
    if (!read) return;
    if (const auto complaint = fits_a_header(*read)) {
      value.fail("the token in the file " + *complaint);
      return;
    }
    s.http.token = *read;
  };
  file.show = [](const S&) { return std::nullopt; };
  return {token, file};
}

void add_top(std::vector<Binding<S>>& table) {
  table.push_back(in_settings(
      "format", choice<std::string>({{"native", "native"}}), [](auto& s) { return &s.format; },
      "Shape of the events."));
  table.push_back(in_settings(
      "threads", whole(0, 1'024), [](auto& s) { return &s.threads; },
      "Threads for the null tests; 0 is one for each core. The numbers do not depend on it."));
}

void add_source(std::vector<Binding<S>>& table) {
  table.push_back(required(in_settings("source.kafka.brokers",
                                       text("host:port, several with commas between them", broker_list),
                                       kafka(&KafkaSource::brokers), "Where the cluster is first reached.")));
  table.push_back(required(
      in_settings("source.kafka.topics", names("list of text", "names of topics", fits_a_topic, 1'000),
                  kafka(&KafkaSource::topics),
                  "Topics read from their beginning, or from where the counts in `state.path` end.")));
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
                  "Fetched and not yet counted, all partitions together. With librdkafka before 2.2 a "
                  "full queue waits up to a second for its next fetch: about 512MiB then keep the "
                  "monitor busy at full speed, and less only slows it while it catches up."));
  table.push_back(properties());
  table.push_back(source_files());
  table.push_back(in_settings(
      "source.stdin", flag(), [](auto& s) { return &s.source.stdin_stream; },
      "Events from standard input, one on a line."));
}

void add_events(std::vector<Binding<S>>& table) {
  table.push_back(in_settings(
      "events.eval", text("text", not_empty), [](auto& s) { return &s.events.eval; },
      "Eval of events that name none. Without it: the name of the topic or file."));
  table.push_back(in_settings(
      "events.scorer", text("text", not_empty), [](auto& s) { return &s.events.scorer; },
      "Scorer of events that name none."));
  table.push_back(in_settings(
      "events.success_at", number(std::numeric_limits<double>::lowest(), std::numeric_limits<double>::max()),
      [](auto& s) { return &s.events.success_at; },
      "An event with a `score` is a success at this score or above."));
  table.push_back(success_by_eval());
  table.push_back(in_settings(
      "events.max_event", size(kKiB, 64 * kMiB), [](auto& s) { return &s.events.max_event_bytes; },
      "A longer event is rejected."));
  table.push_back(in_settings(
      "events.max_name", size(16, 64 * kKiB), [](auto& s) { return &s.events.max_name_bytes; },
      "An event with a longer prompt, policy, eval, scorer, slice, router or answer is rejected."));
}

void add_process(std::vector<Binding<S>>& table) {
  table.push_back(state_path());
  table.push_back(in_settings(
      "state.checkpoint_every", duration(milliseconds(10), hours(1)),
      [](auto& s) { return &s.state.checkpoint_every; },
      "Counts and positions are made durable this often; at most this much is read again "
      "after a crash."));
  table.push_back(in_settings(
      "state.write_buffer", size(kMiB, 4 * kGiB), [](auto& s) { return &s.state.write_buffer_bytes; },
      "RocksDB's write buffer."));
  table.push_back(in_settings(
      "state.block_cache", size(kMiB, 64 * kGiB), [](auto& s) { return &s.state.block_cache_bytes; },
      "RocksDB's block cache."));
  table.push_back(in_settings(
      "http.listen", text("host:port; port 0 takes a free one", host_and_port),
      [](auto& s) { return &s.http.listen; }, "Address of the page, the API and /metrics."));
  for (auto& binding : http_token()) table.push_back(std::move(binding));
  table.push_back(in_settings(
      "limits.policies", whole(1, 65'536), [](auto& s) { return &s.max_policies; },
      "Policies of one eval and scorer; events of further ones are rejected."));
  table.push_back(in_settings(
      "limits.monitors", whole(1, 10'000), [](auto& s) { return &s.max_monitors; },
      "Monitors made by themselves, where the config has none; further evals and scorers are counted without "
      "one."));
  table.push_back(in_settings(
      "limits.prompts", whole(1, 4'000'000'000), [](auto& s) { return &s.max_prompts; },
      "Prompts of one partition; events of further ones are rejected."));
}

}  // namespace

const std::vector<Binding<Settings>>& settings_table() {
  static const auto kTable = [] {
    std::vector<Binding<S>> table;
    add_top(table);
    add_source(table);
    add_events(table);
    add_process(table);
    return table;
  }();
  return kTable;
}

}  // namespace gapwatch::config
