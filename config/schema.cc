#include "config/schema.h"

#include <limits>

#include <fmt/format.h>

#include "config/binding.h"
#include "config/read_mapping.h"
#include "config/text.h"
#include "config/units.h"

namespace gapwatch::config {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::uint64_t kKiB = 1 << 10, kMiB = 1 << 20, kGiB = 1 << 30;

using S = Settings;

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

Form<double> any_score() { return number(std::numeric_limits<double>::lowest(), std::numeric_limits<double>::max()); }

Form<ErrorOutcome> error_outcome() {
  return choice<ErrorOutcome>(
      {{"unscored", ErrorOutcome::kUnscored}, {"failure", ErrorOutcome::kFailure}, {"skip", ErrorOutcome::kSkip}});
}

// A map of one kind of value by the name of an eval or a scorer.
template <typename T>
Binding<S> by_name(std::string path, std::string kind, std::string allowed, Form<T> form,
                   std::map<std::string, T> EventDefaults::*field, std::string help) {
  auto binding = custom<S>(std::move(path), std::move(kind), std::move(allowed), std::move(help));
  binding.read = [form, field](const Value& value, S& s) {
    const auto entries = value.entries();
    if (!entries) return;
    for (const auto& [name, entry] : *entries) {
      if (const auto read = form.read(entry)) (s.events.*field)[name] = *read;
    }
  };
  binding.show = [form, field](const S& s) -> std::optional<std::string> {
    const auto& all = s.events.*field;
    if (all.empty()) return std::nullopt;
    std::vector<std::pair<std::string, std::string>> shown;
    for (const auto& [name, value] : all) shown.emplace_back(name, form.write(value));
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
    return s.http.token.empty() ? std::nullopt : std::optional(yaml_text(kHiddenText));
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

Binding<S> tls_file(const char* path, std::string HttpSettings::*field, const char* help) {
  auto binding = in_settings(path, text("a path", not_empty), [field](auto& s) { return &(s.http.*field); }, help);
  binding.read = [form_read = binding.read, field](const Value& value, S& s) {
    form_read(value, s);
    s.http.*field = value.reader->resolved(s.http.*field);
  };
  return binding;
}

// A preset by name, a mapping file by its path, or the mapping itself.
void read_format(const Value& value, S& s) {
  if (value.node.IsMap()) {
    s.mapping = read_mapping(value, "custom");
    s.format = "custom";
    s.mapping_text = flow_text(value.node);
    return;
  }
  const auto name = value.text();
  if (!name) return;
  if (!name->ends_with(".yaml") && !name->ends_with(".yml")) {
    const auto names = format_names();
    const auto index = read_word(value, names);
    if (!index) return;
    s.format = names[*index];
    s.mapping = preset_mapping(s.format);
    return;
  }
  s.format = value.reader->resolved(*name);
  const auto text = read_text_file(s.format, 1 << 20);
  if (!text) {
    value.fail(fmt::format("cannot read {}: {}", value.quoted(), text.error().message));
    return;
  }
  auto mapping = parse_mapping(*text, s.format);
  if (mapping) s.mapping = std::move(*mapping);
  if (!mapping) {
    const auto& message = mapping.error().message;
    value.fail("is no mapping: " + message.substr(0, message.find('\n')));
  }
}

Binding<S> format() {
  const auto names = format_names();
  return custom<S>("format", "word, path or section", joined(names) + ", a mapping file (*.yaml), or a mapping",
                   "How records are read; docs/MAPPING.md. `gapwatch help NAME` prints a preset, to be copied and changed.",
                   read_format, [](const S& s) -> std::optional<std::string> {
                     return s.format == "custom" ? s.mapping_text : yaml_text(s.format);
                   });
}

void add_top(std::vector<Binding<S>>& table) {
  table.push_back(format());
  table.push_back(in_settings(
      "alarms.family",
      choice<FamilyRule>({{"each", FamilyRule::kEach},
                          {"bonferroni", FamilyRule::kBonferroni},
                          {"average", FamilyRule::kAverage},
                          {"e-bh", FamilyRule::kEBh}}),
      [](auto& s) { return &s.family; },
      "How monitors share `alarm.alpha`. each: every monitor has it to itself. bonferroni: each of K has alpha / K. "
      "average: closed testing with the mean of the e-values, with the same guarantee and less asked. e-bh: alpha is "
      "the expected share of false alarms."));
  table.push_back(in_settings(
      "threads", whole(0, 1'024), [](auto& s) { return &s.threads; },
      "Threads for the null tests; 0 is one for each core. The numbers do not depend on it."));
}

void add_events(std::vector<Binding<S>>& table) {
  table.push_back(in_settings(
      "events.eval", text("text", not_empty), [](auto& s) { return &s.events.eval; },
      "Eval of events that name none. Without it: the name of the topic or file."));
  table.push_back(in_settings(
      "events.scorer", text("text", not_empty), [](auto& s) { return &s.events.scorer; },
      "Scorer of events that name none."));
  auto success_at = in_settings("events.success_at", any_score(),
                                [](auto& s) { return s.events.success_at ? &*s.events.success_at : nullptr; },
                                "A `score` is a success at this score or above. Without it: 1 for native events; of a "
                                "mapped event only 0 and 1 are judged, and any other score is unscored.");
  success_at.read = [form = any_score()](const Value& value, S& s) { s.events.success_at = form.read(value); };
  table.push_back(std::move(success_at));
  table.push_back(by_name("events.success_at_by_eval", "map of numbers", "eval: number", any_score(),
                          &EventDefaults::success_at_by_eval, "`events.success_at` for single evals, by name."));
  table.push_back(by_name("events.success_at_by_scorer", "map of numbers", "scorer: number", any_score(),
                          &EventDefaults::success_at_by_scorer,
                          "The same for single scorers; goes before the one for the eval."));
  table.push_back(in_settings(
      "events.later_wins", flag(), [](auto& s) { return &s.events.later_wins; },
      "Of two events on one draw the one with the later `ts` holds, whichever comes first; a Kafka record without `ts` has "
      "the record's time, a line of a file none. That keeps the time of every draw that has one (about 60 bytes a cell and four a draw); false lets the one that comes last hold."));
  table.push_back(in_settings(
      "events.errors", error_outcome(), [](auto& s) { return &s.events.errors; },
      "What a response counts as whose generation or evaluation failed (`error_when` of a mapping)."));
  table.push_back(by_name("events.errors_by_scorer", "map of words", "scorer: unscored or failure or skip", error_outcome(),
                          &EventDefaults::errors_by_scorer, "The same for single scorers."));
  table.push_back(in_settings(
      "events.max_event", size(kKiB, 64 * kMiB), [](auto& s) { return &s.events.max_event_bytes; },
      "A longer event is rejected."));
  table.push_back(in_settings(
      "events.max_name", size(16, 64 * kKiB), [](auto& s) { return &s.events.max_name_bytes; },
      "An event with a longer prompt, policy, eval, scorer, slice, router or answer is rejected."));
}

void add_dead_letters(std::vector<Binding<S>>& table) {
  table.push_back(in_settings(
      "dead_letters.topic", text("name of a topic", fits_a_topic), [](auto& s) { return &s.dead_letters.topic; },
      "Records that cannot be read are produced to this topic of the source's cluster, as they were, with the reason and "
      "their place in headers. Where it cannot be written, the stream waits."));
  auto file = in_settings(
      "dead_letters.file", text("a path", not_empty), [](auto& s) { return &s.dead_letters.file; },
      "Or they are appended to this file, a line each as `kcat -J` prints records, with the reason.");
  file.read = [form_read = file.read](const Value& value, S& s) {
    form_read(value, s);
    s.dead_letters.file = value.reader->resolved(s.dead_letters.file);
  };
  table.push_back(std::move(file));
}

void add_process(std::vector<Binding<S>>& table) {
  table.push_back(state_path());
  table.push_back(in_settings(
      "state.checkpoint_every", duration(milliseconds(10), hours(1)),
      [](auto& s) { return &s.state.checkpoint_every; },
      "Counts and positions are made durable this often; at most this much is read again "
      "after a crash."));
  table.push_back(in_settings(
      "state.retain", duration(milliseconds(0), hours(24 * 3660)), [](auto& s) { return &s.state.retain; },
      "What a policy did on an eval is erased from the state when it has had no response there for so long, in the "
      "stream's time; an eval goes with its last policy. 0ms: nothing is."));
  table.push_back(in_settings(
      "state.cache", size(kMiB, 1'024 * kGiB), [](auto& s) { return &s.state.cache_bytes; },
      "Counts and evidence kept in memory, all partitions together. Of prompts beyond it that were not used of late "
      "memory has the name alone (about 400 bytes); the rest is read from `state.path` when an event needs it."));
  table.push_back(in_settings(
      "state.write_buffer", size(kMiB, 4 * kGiB), [](auto& s) { return &s.state.write_buffer_bytes; },
      "RocksDB's write buffer."));
  table.push_back(in_settings(
      "state.block_cache", size(kMiB, 64 * kGiB), [](auto& s) { return &s.state.block_cache_bytes; },
      "RocksDB's block cache, with the indexes and filters of its tables."));
  table.push_back(in_settings(
      "http.listen", text("host:port; port 0 takes a free one", host_and_port),
      [](auto& s) { return &s.http.listen; }, "Address of the page, the API and /metrics."));
  for (auto& binding : http_token()) table.push_back(std::move(binding));
  table.push_back(tls_file("http.tls.certificate", &HttpSettings::tls_certificate,
                           "PEM file of the server's certificate, and those that vouch for it: the port then speaks HTTPS. "
                           "A changed file is taken for the next connection."));
  table.push_back(tls_file("http.tls.key", &HttpSettings::tls_key, "PEM file of its key."));
  table.push_back(tls_file("http.tls.client_ca", &HttpSettings::tls_client_ca,
                           "PEM file of authorities: only who shows a certificate of theirs may connect."));
  table.push_back(in_settings(
      "limits.policies", whole(1, 65'536), [](auto& s) { return &s.max_policies; },
      "Policies of one eval and scorer; events of further ones are rejected."));
  table.push_back(in_settings(
      "limits.monitors", whole(1, 10'000), [](auto& s) { return &s.max_monitors; },
      "Monitors made by themselves, where the config has none; further evals and scorers are counted without "
      "one."));
  table.push_back(in_settings(
      "limits.prompts", whole(1, 4'000'000'000), [](auto& s) { return &s.max_prompts; },
      "Prompts of one partition; events of further ones are rejected. Those that `state.retain` has erased do not count."));
}

}  // namespace

const std::vector<Binding<Settings>>& settings_table() {
  static const auto kTable = [] {
    std::vector<Binding<S>> table;
    add_top(table);
    add_source(table);
    add_events(table);
    add_dead_letters(table);
    add_process(table);
    return table;
  }();
  return kTable;
}

}  // namespace gapwatch::config
