// load: a config file and the environment -> Settings, or every fault at once.
//
// - Scalars may name environment variables, ${NAME}; an undefined one is a fault; $${NAME} is a
//   literal ${NAME}. Keys that end in _file read a secret from a file. Relative paths in the file
//   start at the file's own folder.
// - No fault shows the value of a secret, or of a variable.
// - Work and memory are bounded whatever the text: at most 1 MiB of it, 200,000 values (aliases
//   expanded), 100 faults.
// Threads: any. Nothing is kept between calls.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/fault.h"
#include "config/settings.h"

namespace gapwatch::config {

// Answers the value of an environment variable, or nothing where it is not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
Environment process_environment();

// Whether the file must say where events come from; two kinds of source are a fault either way.
enum class SourceNeed { kRequired, kOptional };

struct Loaded {
  std::optional<Settings> settings;  // present exactly where there is no fault
  std::vector<Fault> faults;         // in the order of the file
};

// `file_name` gives the folder of relative paths; the text is not read from it.
Loaded load(std::string_view text, const std::string& file_name, const Environment& environment,
            SourceNeed need = SourceNeed::kRequired);
Loaded load_file(const std::string& path, const Environment& environment = process_environment(),
                 SourceNeed need = SourceNeed::kRequired);

}  // namespace gapwatch::config
