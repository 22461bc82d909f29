#include "config/load.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "base/log.h"
#include "config/binding.h"
#include "config/text.h"
#include "config/units.h"

namespace gapwatch::config {
namespace {

constexpr std::size_t kLargestFile = 1 << 20;
constexpr std::size_t kMostMonitors = 1'000;
constexpr std::string_view kMonitors = "monitors", kMonitorDefaults = "monitor_defaults";

std::string below(const std::string& section, const std::string& name) {
  return section.empty() ? name : section + "." + name;
}

// The keys that may stand directly in `section`.
template <typename Owner>
std::vector<std::string> keys_of(const std::vector<Binding<Owner>>& table, const std::string& section) {
  const auto prefix = section.empty() ? "" : section + ".";
  std::vector<std::string> keys;
  for (const auto& binding : table) {
    if (!binding.path.starts_with(prefix)) continue;
    auto key = binding.path.substr(prefix.size());
    key.resize(std::min(key.find('.'), key.size()));
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(std::move(key));
  }
  if constexpr (std::is_same_v<Owner, Settings>) {
    if (section.empty()) keys.insert(keys.end(), {std::string(kMonitorDefaults), std::string(kMonitors)});
  }
  return keys;
}

// The right word in the wrong place: where the table has a setting or a section of that name.
template <typename Owner>
std::optional<std::string> elsewhere(const std::vector<Binding<Owner>>& table, const std::string& name) {
  for (const auto& binding : table) {
    const auto path = "." + binding.path + ".";
    const auto at = path.find("." + name + ".");
    if (at != std::string::npos) return binding.path.substr(0, at + name.size());
  }
  return std::nullopt;
}

// Reads one owner's part of the file: sections by the table's paths, leaves by their bindings.
template <typename Owner>
class TreeReader {
 public:
  // `root` is the owner's own key: "" or "monitors[2]".
  TreeReader(const std::vector<Binding<Owner>>& table, std::string root, Owner& owner)
      : table_(table), root_(std::move(root)), owner_(owner) {}

  // Answers what it does not own (the monitors) to `other`, which says whether it took the key.
  template <typename Other>
  void read(const Value& value, const std::string& section, Other other) {
    if (value.node.IsNull()) return;
    const auto entries = value.entries();
    if (!entries) return;
    for (const auto& [name, entry] : *entries) {
      const auto path = below(section, name);
      if (other(path, entry)) continue;
      const bool one_word = name.find('.') == std::string::npos;
      if (const auto* binding = one_word ? find(path) : nullptr) {
        read_leaf(*binding, entry);
      } else if (const auto keys = keys_of(table_, path); one_word && !keys.empty()) {
        auto inner = entry;
        inner.allowed = fmt::format("write {}: {{{}: ...}}; known there: {}", name, keys.front(), joined(keys));
        read(inner, path, other);
      } else {
        unknown(section, name, entry);
      }
    }
  }

  void require(Reader& reader) const {
    for (const auto& binding : table_) {
      const auto full = below(root_, binding.path);
      const auto cut = binding.path.rfind('.');
      const auto section = cut == std::string::npos ? root_ : below(root_, binding.path.substr(0, cut));
      if (!binding.required || reader.seen(full) || (!section.empty() && !reader.seen(section))) continue;
      reader.fault_at(full, "is missing", binding.allowed);
    }
  }

 private:
  const Binding<Owner>* find(const std::string& path) const {
    for (const auto& binding : table_) {
      if (binding.path == path) return &binding;
    }
    return nullptr;
  }

  void read_leaf(const Binding<Owner>& binding, const Value& entry) {
    auto value = entry;
    value.allowed = binding.allowed;
    value.secret = binding.secret;
    if (value.node.IsNull()) {
      value.fail("has no value");
    } else {
      binding.read(value, owner_);
    }
  }

  void unknown(const std::string& section, const std::string& name, const Value& entry) const {
    const auto known = keys_of(table_, section);
    auto near = nearest(name, known);
    if (!near) {
      near = elsewhere(table_, name);
      if (near) near = below(root_, *near);
      if (!near && root_.empty() && (near = elsewhere(monitor_table(), name))) near = fmt::format("{}[].{}", kMonitors, *near);
    }
    entry.reader->fault_at(entry.key, "is not known",
                           near ? fmt::format("did you mean {}?", *near) : "known here: " + joined(known));
  }

  const std::vector<Binding<Owner>>& table_;
  std::string root_;
  Owner& owner_;
};

void read_monitors(const Value& value, Settings& settings) {
  if (value.node.IsNull()) return;
  auto list = value;
  list.allowed = "a list of sections, each beginning with - name: NAME";
  const auto items = list.items();
  if (!items) return;
  if (items->size() > kMostMonitors) {
    list.fail(fmt::format("has more than {} monitors", kMostMonitors));
    return;
  }
  for (const auto& item : *items) {
    auto monitor = settings.automatic_monitor;
    TreeReader<Monitor> tree(monitor_table(), item.key, monitor);
    tree.read(item, "", [](const std::string&, const Value&) { return false; });
    tree.require(*item.reader);
    settings.monitors.push_back(std::move(monitor));
  }
}

void check_source(const Settings& settings, SourceNeed need, Reader& reader) {
  const auto count = reader.seen("source.kafka") + reader.seen("source.files") + settings.source.stdin_stream;
  const char* allowed = "exactly one of kafka, files, stdin: true";
  if (count > 1) reader.fault_at("source", "names more than one kind of source", allowed);
  if (count == 0 && need == SourceNeed::kRequired) reader.fault_at("source", "is missing", allowed);
}

void check_dead_letters(const Settings& settings, Reader& reader) {
  const auto& chosen = settings.dead_letters;
  if (!chosen.topic.empty() && !chosen.file.empty()) {
    reader.fault_at("dead_letters.file", "is a second place for dead letters", "either topic or file");
  }
  if (chosen.topic.empty()) return;
  if (!settings.source.kafka) reader.fault_at("dead_letters.topic", "has no source.kafka to go to", "use dead_letters.file");
  const auto& topics = settings.source.kafka ? settings.source.kafka->topics : std::vector<std::string>();
  if (std::find(topics.begin(), topics.end(), chosen.topic) != topics.end()) {
    reader.fault_at("dead_letters.topic", "is a topic that is read, so its letters would be read for ever", "another topic");
  }
}

void check_tls(Reader& reader) {
  const bool certificate = reader.seen("http.tls.certificate"), key = reader.seen("http.tls.key");
  if (certificate && !key) reader.fault_at("http.tls.certificate", "has no key", "http.tls.key beside it");
  if (key && !certificate) reader.fault_at("http.tls.key", "has no certificate", "http.tls.certificate beside it");
  if (reader.seen("http.tls.client_ca") && !certificate) {
    reader.fault_at("http.tls.client_ca", "has no certificate of the server's", "http.tls.certificate and http.tls.key beside it");
  }
}

void check_token(Reader& reader) {
  if (reader.seen("http.token") && reader.seen("http.token_file")) {
    reader.fault_at("http.token_file", "gives the token twice", "either token or token_file");
  }
}

// Fills in what the events' defaults say, and holds the monitors against each other.
void finish_monitors(Settings& settings, Reader& reader) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < settings.monitors.size(); ++i) {
    auto& monitor = settings.monitors[i];
    const auto key = fmt::format("{}[{}]", kMonitors, i);
    if (!monitor.name.empty() && !names.insert(monitor.name).second) {
      reader.fault_at(key + ".name", fmt::format("\"{}\" is there twice", monitor.name),
                      "one monitor for each name");
    }
    if (monitor.eval.empty()) monitor.eval = settings.events.eval;
    if (monitor.eval.empty() && !reader.seen(key + ".eval")) {
      reader.fault_at(key + ".eval", "is missing", "the eval to watch, here or as events.eval");
    }
    if (monitor.scorer.empty()) monitor.scorer = settings.events.scorer;
    if (monitor.policies.size() > settings.max_policies) {
      reader.fault_at(key + ".pool.policies", "has more policies than limits.policies", "raise that limit");
    }
    if (monitor.policies.empty()) continue;
    for (const auto& [policy, group] : monitor.groups) {
      const auto& pool = monitor.policies;
      if (std::find(pool.begin(), pool.end(), policy) != pool.end()) continue;
      const auto near = nearest(policy, pool);
      reader.fault_at(fmt::format("{}.pool.groups.{}", key, policy),
                      "is not in the pool" + (near ? fmt::format(" (did you mean {}?)", *near) : ""),
                      "the policies of pool.policies");
    }
  }
}

Fault whole_file(std::string problem, std::string allowed) {
  return {0, 0, "", std::move(problem), std::move(allowed)};
}

// yaml-cpp's own words, made fit for one line. Its message on an anchor repeats a word of the
// file, which may be a password that wanted quotes.
Fault syntax_fault(const YAML::Exception& error) {
  std::string message = error.msg;
  if (message.find("anchor") != std::string::npos) {
    message = "an alias without its anchor (a value that begins with * or & needs quotes)";
  }
  const bool placed = error.mark.line >= 0;
  return {placed ? static_cast<std::size_t>(error.mark.line + 1) : 0,
          placed ? static_cast<std::size_t>(error.mark.column + 1) : 0, "",
          "not YAML: " + log::printable(message), "mend it and check again"};
}

Fault text_fault(std::string_view text, std::size_t at) {
  const auto before = text.substr(0, at);
  const auto line_start = before.rfind('\n');
  const auto line = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')) + 1;
  const auto column = line_start == std::string_view::npos ? at + 1 : at - line_start;
  return {line, column, "",
          fmt::format("byte 0x{:02x} is not UTF-8 text", static_cast<unsigned char>(text[at])),
          "save the file as UTF-8"};
}

Loaded failed(Fault fault) {
  Loaded loaded;
  loaded.faults.push_back(std::move(fault));
  return loaded;
}

Loaded read_tree(const YAML::Node& root, Reader& reader, SourceNeed need) {
  Settings settings;
  const Value top{root, "", "a map of settings", &reader};
  TreeReader<Settings> tree(settings_table(), "", settings);
  std::optional<Value> defaults, monitors;
  tree.read(top, "", [&](const std::string& path, const Value& value) {
    if (path == "source.kafka") settings.source.kafka.emplace();
    if (path == kMonitorDefaults) defaults = value;
    if (path == kMonitors) monitors = value;
    return path == kMonitorDefaults || path == kMonitors;
  });
  if (defaults) {
    TreeReader<Monitor> common(defaults_table(), std::string(kMonitorDefaults), settings.automatic_monitor);
    common.read(*defaults, "", [](const std::string&, const Value&) { return false; });
  }
  if (monitors) read_monitors(*monitors, settings);
  tree.require(reader);
  check_source(settings, need, reader);
  check_tls(reader);
  check_token(reader);
  check_dead_letters(settings, reader);
  finish_monitors(settings, reader);
  Loaded loaded;
  loaded.faults = reader.take_faults();
  if (loaded.faults.empty()) loaded.settings = std::move(settings);
  return loaded;
}

}  // namespace

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
}

Loaded load(std::string_view text, const std::string& file_name, const Environment& environment,
            SourceNeed need) {
  if (text.size() > kLargestFile) {
    return failed(
        whole_file(fmt::format("is larger than {}", format_size(kLargestFile)), "is it the right file?"));
  }
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  if (const auto bad = first_bad_byte(text)) return failed(text_fault(text, *bad));
  try {
    const auto documents = YAML::LoadAll(std::string(text));
    if (documents.size() > 1)
      return failed(whole_file("has more than one YAML document", "leave one, without ---"));
    Reader reader(environment, std::filesystem::path(file_name).parent_path().string());
    return read_tree(documents.empty() ? YAML::Node() : documents[0], reader, need);
  } catch (const YAML::Exception& error) {
    return failed(syntax_fault(error));
  }
}

Loaded load_file(const std::string& path, const Environment& environment, SourceNeed need) {
  const auto text = read_text_file(path, kLargestFile);
  if (!text)
    return failed(whole_file("cannot read it: " + text.error().message, "give a readable YAML file"));
  return load(*text, path, environment, need);
}

}  // namespace gapwatch::config
