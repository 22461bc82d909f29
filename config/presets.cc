// Presets and mapping files. The presets' texts are config/presets/*.yaml, put into the program by the build.
#include <fmt/format.h>

#include <filesystem>

#include "config/read_mapping.h"
#include "config/text.h"

namespace gapwatch::config {

std::vector<std::string> format_names() {
  std::vector<std::string> names{"native"};
  for (const auto& preset : presets()) names.emplace_back(preset.name);
  return names;
}

std::optional<Mapping> preset_mapping(std::string_view name) {
  for (const auto& preset : presets()) {
    if (preset.name != name) continue;
    auto mapping = parse_mapping(preset.text, std::string(name));
    if (!mapping) return std::nullopt;
    mapping->name = std::string(name);
    return std::move(*mapping);
  }
  return std::nullopt;
}

Result<Mapping> parse_mapping(std::string_view text, const std::string& file_name) {
  if (first_bad_byte(text)) return refuse(fmt::format("{} is not UTF-8 text", file_name));
  const Environment none = [](const std::string&) { return std::nullopt; };
  Reader reader(none, std::filesystem::path(file_name).parent_path().string());
  try {
    const auto root = YAML::Load(std::string(text));
    auto mapping = read_mapping({root, "", "", &reader}, std::filesystem::path(file_name).stem().string());
    if (mapping) return std::move(*mapping);
  } catch (const YAML::Exception& error) {
    return refuse(fmt::format("{}:{}:{}: not YAML: {}", file_name, error.mark.line + 1, error.mark.column + 1, error.msg));
  }
  std::string message;
  for (const auto& fault : reader.take_faults()) {
    if (!message.empty()) message += "\n";
    message += to_string(fault, file_name);
  }
  return refuse(message);
}

}  // namespace gapwatch::config
