// The table of every setting: where it is in the file, what it may be, what it is without a word.
//
// One table feeds the parser (load.h), the reference (docs/CONFIG.md, `gapwatch help config`) and
// the description of a loaded config, so they cannot disagree.
#pragma once

#include <string>
#include <vector>

#include "config/settings.h"

namespace gapwatch::config {

struct Setting {
  std::string path;     // "state.path"; "monitors[].band" for an item of the list
  std::string kind;     // "duration", "list of numbers"
  std::string allowed;  // range or words; empty: anything
  std::string initial;  // default, as YAML; "required" or "none"
  std::string help;
};

// A window as in the config, without braces: "all", "last_draws: 16", "sliding: 1d, step: 1h, lateness: 10m".
std::string window_text(const Window& window);

// In the order in which they are documented.
const std::vector<Setting>& schema();

// docs/CONFIG.md, to the byte.
std::string config_reference();

// The settings in force as a YAML config that loads to the same settings; what is secret is shown
// as (hidden), and so is every property whose value came from a file or the environment.
std::string describe(const Settings& settings);

}  // namespace gapwatch::config
