#include "app/load_config.h"

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

}  // namespace gapwatch::app
