// read_mapping: a mapping's YAML -> Mapping, every fault noted where it is.
//
// Internal to this folder, as value.h is.
#pragma once

#include <optional>
#include <string>

#include "config/mapping.h"
#include "config/value.h"

namespace gapwatch::config {

// The section of `format:`, or the root of a mapping file. `preset: NAME` in it begins with that preset; then what
// stands beside it replaces the preset's, under `fields` and `labels` entry by entry.
std::optional<Mapping> read_mapping(const Value& value, std::string name);

// The same settings in one line of YAML.
std::string flow_text(const YAML::Node& node);

}  // namespace gapwatch::config
