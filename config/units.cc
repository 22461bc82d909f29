#include "config/units.h"

#include <array>
#include <charconv>
#include <cmath>
#include <system_error>

#include <fmt/format.h>

namespace gapwatch::config {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

// Largest first, so that formatting finds the shortest text; "min" only reads.
constexpr std::array kDurations = {Unit{"d", 86'400'000}, Unit{"h", 3'600'000}, Unit{"m", 60'000},
                                   Unit{"s", 1'000},      Unit{"ms", 1},        Unit{"min", 60'000}};
constexpr std::array kSizes = {Unit{"GiB", 1ull << 30},
                               Unit{"GB", 1'000'000'000},
                               Unit{"MiB", 1ull << 20},
                               Unit{"MB", 1'000'000},
                               Unit{"KiB", 1ull << 10},
                               Unit{"kB", 1'000},
                               Unit{"B", 1},
                               Unit{"KB", 1'000}};
constexpr double kLongestMs = 1000.0 * 365 * 86'400'000;
constexpr std::uint64_t kLargestSize = 1ull << 62;

// Splits "1.5 h" into number and unit.
struct Split {
  std::string_view number, unit;
};

Split split(std::string_view text) {
  const auto end = text.find_first_not_of("0123456789.");
  if (end == std::string_view::npos) return {text, {}};
  auto unit = text.substr(end);
  if (end > 0 && unit.size() > 1 && unit[0] == ' ') unit.remove_prefix(1);
  return {text.substr(0, end), unit};
}

template <typename Units>
const Unit* find(const Units& units, std::string_view name) {
  for (const Unit& unit : units) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

template <typename Units>
std::string format(const Units& units, std::uint64_t value) {
  for (const Unit& unit : units) {
    if (value != 0 && value % unit.factor == 0) return fmt::format("{}{}", value / unit.factor, unit.name);
  }
  return {};
}

}  // namespace

Result<std::chrono::milliseconds> parse_duration(std::string_view text) {
  const auto [number, unit_name] = split(text);
  const auto amount = parse_number(number);
  if (!amount) return refuse("is not a duration");
  if (unit_name.empty()) return refuse("has no unit");
  const Unit* unit = find(kDurations, unit_name);
  if (unit == nullptr) return refuse("has an unknown unit");
  const double ms = *amount * static_cast<double>(unit->factor);
  if (ms > kLongestMs) return refuse("is too long");
  if (std::abs(ms - std::round(ms)) > 1e-6) return refuse("is finer than a millisecond");
  return std::chrono::milliseconds(std::llround(ms));
}

std::string format_duration(std::chrono::milliseconds duration) {
  if (duration.count() == 0) return "0ms";
  return format(kDurations, static_cast<std::uint64_t>(duration.count()));
}

Result<std::uint64_t> parse_size(std::string_view text) {
  const auto [number, unit_name] = split(text);
  const auto amount = parse_whole(number);
  if (!amount) return refuse("is not a size");
  if (unit_name.empty()) return refuse("has no unit");
  const Unit* unit = find(kSizes, unit_name);
  if (unit == nullptr) return refuse("has an unknown unit");
  if (*amount > kLargestSize / unit->factor) return refuse("is too large");
  return *amount * unit->factor;
}

std::string format_size(std::uint64_t bytes) {
  return bytes == 0 ? "0B" : format(kSizes, bytes);
}

Result<double> parse_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    return refuse("is not a number");
  }
  return value;
}

std::string format_number(double value) {
  return fmt::format("{}", value);
}

Result<std::uint64_t> parse_whole(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) return refuse("is too large");
  if (error != std::errc() || end != text.data() + text.size()) return refuse("is not a whole number");
  return value;
}

}  // namespace gapwatch::config
