// How durations, sizes and numbers are written: in the config file and on the command line.
//
// A duration is a decimal number and a unit (ms, s, m or min, h, d); a size is a whole number and a
// unit (B, kB, MB, GB by 1000; KiB, MiB, GiB by 1024). A bare number is refused, so that nobody has
// to guess. An error's message is the problem alone ("has no unit"), for the caller to place.
// The format functions give the shortest text that parses back to the same value.
// Pure; independent of the locale.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gapwatch::config {

inline constexpr std::string_view kDurationUnits = "ms, s, m, h, d";
inline constexpr std::string_view kSizeUnits = "B, kB, MB, GB, KiB, MiB, GiB";

// Not negative; a whole number of milliseconds; at most 1000 years.
Result<std::chrono::milliseconds> parse_duration(std::string_view text);
std::string format_duration(std::chrono::milliseconds duration);

// In bytes, at most 2^62.
Result<std::uint64_t> parse_size(std::string_view text);
std::string format_size(std::uint64_t bytes);

// The whole text must be the number. Infinities, NaN, hexadecimal and a leading '+' are refused.
Result<double> parse_number(std::string_view text);
std::string format_number(double value);
Result<std::uint64_t> parse_whole(std::string_view text);

}  // namespace gapwatch::config
