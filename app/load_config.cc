#include "app/load_config.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "config/text.h"

namespace gapwatch::app {

Result<config::Settings> load_config(const std::string& path, config::SourceNeed need) {
  auto loaded = config::load_file(path, config::process_environment(), need);
  if (loaded.settings) return std::move(*loaded.settings);
  std::string message;
  for (const auto& fault : loaded.faults) {
    if (!message.empty()) message += "\ngapwatch: ";
    message += config::to_string(fault, path);
  }
  return refuse(message);
}

Status use_format(config::Settings& settings, const std::string& format) {
  if (format.empty()) return {};
  settings.format = format;
  settings.mapping = config::preset_mapping(format);
  if (!format.ends_with(".yaml") && !format.ends_with(".yml")) {
    if (settings.mapping || format == "native") return {};
    const auto names = config::format_names();
    return refuse("format \"" + format + "\" is not known; known formats: " + config::joined(names) + ", or a file *.yaml");
  }
  std::ifstream file(format, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) return refuse("the mapping " + format + " cannot be read");
  auto mapping = config::parse_mapping(text, format);
  if (!mapping) return mapping.error();
  settings.mapping = std::move(*mapping);
  return {};
}

std::size_t longest_line(const config::Settings& settings) {
  return std::max<std::size_t>(settings.events.max_event_bytes, 16 << 20);
}

}  // namespace gapwatch::app
