// What the table of settings says about itself, and about a loaded config.
#include <fmt/format.h>

#include "config/binding.h"
#include "config/schema.h"

namespace gapwatch::config {
namespace {

template <typename Owner>
void add_settings(const std::vector<Binding<Owner>>& table, const std::string& prefix, const Owner& defaults,
                  std::vector<Setting>& out) {
  for (const auto& binding : table) {
    const auto initial = binding.required ? "required" : binding.show(defaults).value_or("none");
    out.push_back({prefix + binding.path, binding.kind, binding.allowed, initial, binding.help});
  }
}

constexpr std::string_view kIntroduction = R"(# Configuration

One YAML file, given by `--config FILE`. `gapwatch check --config FILE` reads it, shows every fault with its line and
column, and prints the settings in force. This page is printed by `gapwatch help config`.

```yaml
source:
  kafka:
    brokers: localhost:9092
    topics: [eval-scores]
    properties: {security.protocol: SASL_SSL, sasl.password_file: /run/secrets/kafka}
state: {path: /var/lib/gapwatch}
http: {listen: 127.0.0.1:9464}
monitors:
  - name: math500
    eval: math500
    scorer: lexical
    pool: {policies: [phi-4, gemma-2-9b, llama-3.1-8b], groups: {phi-4: Phi}}
    thresholds: [0.05, 0.1, 0.2, 0.3]
    window: {last_draws: 16}
    evaluate_every: 30s
```

- Durations carry a unit: `ms`, `s`, `m` (or `min`), `h`, `d`. Sizes carry one: `B`, `kB`, `MB`, `GB` (by 1000) or `KiB`,
  `MiB`, `GiB` (by 1024). A bare number is an error.
- `${NAME}` in a value is replaced by that environment variable; one that is not set is an error. `$${NAME}` is a literal
  `${NAME}`.
- Keys that end in `_file` read a secret from that file. Secrets, and properties that come from a file or the environment,
  are never shown.
- Relative paths start at the folder of the config file.
- An unknown key is an error that names the nearest known one.
- Without `monitors` there is one for every eval and scorer seen, with every policy in its pool.
)";

std::string cell(std::string text) {
  for (std::size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2))
    text.insert(at, "\\");
  return text;
}

std::string title(const Setting& setting) {
  const auto& path = setting.path;
  if (path.starts_with("monitor")) return "monitors";
  if (path.starts_with("source.kafka.")) return "source.kafka";
  const auto dot = path.find('.');
  return dot == std::string::npos ? "top level" : path.substr(0, dot);
}

// YAML lines from paths and values: sections open where they differ from the line before.
class Outline {
 public:
  explicit Outline(std::size_t indent) : indent_(indent) {}

  void add(const std::string& path, const std::string& value) {
    std::vector<std::string> parts;
    for (std::size_t at = 0; at <= path.size();) {
      const auto dot = std::min(path.find('.', at), path.size());
      parts.push_back(path.substr(at, dot - at));
      at = dot + 1;
    }
    std::size_t shared = 0;
    while (shared < open_.size() && shared + 1 < parts.size() && open_[shared] == parts[shared]) ++shared;
    open_.resize(shared);
    for (; shared + 1 < parts.size(); ++shared) {
      line(shared, parts[shared] + ":");
      open_.push_back(parts[shared]);
    }
    line(shared, parts.back() + ": " + value);
  }

  std::string take() { return std::move(text_); }

 private:
  void line(std::size_t depth, const std::string& text) {
    text_ += std::string(indent_ + 2 * depth, ' ') + text + "\n";
  }

  std::size_t indent_;
  std::vector<std::string> open_;
  std::string text_;
};

template <typename Owner>
std::string outline(const std::vector<Binding<Owner>>& table, const Owner& owner, std::size_t indent) {
  Outline outline(indent);
  for (const auto& binding : table) {
    if (const auto value = binding.show(owner)) outline.add(binding.path, *value);
  }
  return outline.take();
}

}  // namespace

const std::vector<Setting>& schema() {
  static const auto kSchema = [] {
    std::vector<Setting> out;
    Settings defaults;
    defaults.source.kafka.emplace();
    add_settings(settings_table(), "", defaults, out);
    out.push_back({"monitor_defaults", "section", "the settings of a monitor from `thresholds` on", "none",
                   "What every monitor has that does not say otherwise, the automatic ones included."});
    add_settings(monitor_table(), "monitors[].", Monitor{}, out);
    return out;
  }();
  return kSchema;
}

std::string config_reference() {
  std::string out(kIntroduction);
  std::string section;
  for (const auto& setting : schema()) {
    if (title(setting) != section) {
      section = title(setting);
      out += fmt::format("\n## {}\n\n| setting | value | default | meaning |\n| --- | --- | --- | --- |\n",
                         section);
    }
    const auto allowed =
        setting.allowed.empty() || setting.allowed == setting.kind ? "" : ": " + setting.allowed;
    const bool plain = setting.initial == "required" || setting.initial == "none";
    out +=
        fmt::format("| `{}` | {}{} | {} | {} |\n", setting.path, setting.kind, cell(allowed),
                    plain ? setting.initial : fmt::format("`{}`", cell(setting.initial)), cell(setting.help));
  }
  return out;
}

std::string describe(const Settings& settings) {
  auto out = outline(settings_table(), settings, 0);
  out += "monitor_defaults:\n" + outline(defaults_table(), settings.automatic_monitor, 2);
  if (!settings.monitors.empty()) out += "monitors:\n";
  for (const auto& monitor : settings.monitors) {
    auto lines = outline(monitor_table(), monitor, 4);
    lines.replace(2, 1, "-");
    out += lines;
  }
  return out;
}

}  // namespace gapwatch::config
