// Checks of option values that the parser's own lack.
#pragma once

#include <CLI/CLI.hpp>
#include <cmath>
#include <string>

#include "config/units.h"

namespace gapwatch::app {

// A finite number from `low` to `high`; "nan" and "inf" are none.
inline CLI::Validator number_in(double low, double high) {
  return CLI::Validator(
      [low, high](std::string& text) -> std::string {
        const auto number = config::parse_number(text);
        if (number && std::isfinite(*number) && *number >= low && *number <= high) return {};
        return "\"" + text + "\" is no number from " + config::format_number(low) + " to " + config::format_number(high);
      },
      "NUMBER");
}

// A whole number from `low` to `high`, written in digits.
inline CLI::Validator whole_in(std::uint64_t low, std::uint64_t high) {
  return CLI::Validator(
      [low, high](std::string& text) -> std::string {
        const auto number = config::parse_whole(text);
        if (number && *number >= low && *number <= high) return {};
        return "\"" + text + "\" is no whole number from " + std::to_string(low) + " to " + std::to_string(high);
      },
      "WHOLE");
}

inline constexpr double kMostPerSecond = 1e9;

}  // namespace gapwatch::app
