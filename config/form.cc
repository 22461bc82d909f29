#include "config/form.h"

#include <algorithm>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "base/log.h"
#include "config/text.h"
#include "config/units.h"

namespace gapwatch::config {
namespace {

constexpr std::string_view kWordCharacters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";

// A form whose scalar is parsed by `parse` and then held against a range.
template <typename T, typename Parse, typename Inside>
std::optional<T> read_scalar(const Value& value, Parse parse, Inside inside) {
  const auto text = value.text();
  if (!text) return std::nullopt;
  const auto parsed = parse(*text);
  if (!parsed) return value.fail(fmt::format("{} {}", value.quoted(), parsed.error().message));
  if (!inside(*parsed)) return value.fail(fmt::format("{} is out of range", value.quoted()));
  return *parsed;
}

template <typename T>
auto between(T low, T high) {
  return [low, high](const T& value) { return low <= value && value <= high; };
}

}  // namespace

Form<bool> flag() {
  return {"true or false", "true or false",
          [](const Value& value) -> std::optional<bool> {
            const auto text = value.text();
            if (!text) return std::nullopt;
            if (*text == "true") return true;
            if (*text == "false") return false;
            return value.fail(value.quoted() + " is neither true nor false");
          },
          [](bool on) { return std::string(on ? "true" : "false"); }};
}

Form<std::string> text(std::string allowed, TextRule rule) {
  return {"text", std::move(allowed),
          [rule](const Value& value) -> std::optional<std::string> {
            auto read = value.text();
            if (!read) return std::nullopt;
            if (const auto complaint = rule(*read)) return value.fail(value.quoted() + " " + *complaint);
            return read;
          },
          [](const std::string& written) { return yaml_text(written); }};
}

Form<double> number(double low, double high, Ends ends) {
  const bool open_low = ends != Ends::kClosed;
  const bool open_high = ends == Ends::kOpen;
  auto allowed = fmt::format("above {} and below {}", format_number(low), format_number(high));
  if (!open_high) {
    allowed =
        fmt::format("{} {} to {}", open_low ? "above" : "from", format_number(low), format_number(high));
  }
  if (high == std::numeric_limits<double>::max()) allowed = "any number";
  return {"number", allowed,
          [=](const Value& value) {
            return read_scalar<double>(value, parse_number, [=](double x) {
              return (open_low ? x > low : x >= low) && (open_high ? x < high : x <= high);
            });
          },
          format_number};
}

Form<std::uint64_t> whole(std::uint64_t low, std::uint64_t high) {
  return {
      "whole number", fmt::format("{} to {}", low, high),
      [=](const Value& value) { return read_scalar<std::uint64_t>(value, parse_whole, between(low, high)); },
      [](std::uint64_t value) { return fmt::format("{}", value); }};
}

Form<std::chrono::milliseconds> duration(std::chrono::milliseconds low, std::chrono::milliseconds high) {
  return {"duration",
          fmt::format("{} to {} (units: {})", format_duration(low), format_duration(high), kDurationUnits),
          [=](const Value& value) {
            return read_scalar<std::chrono::milliseconds>(value, parse_duration, between(low, high));
          },
          format_duration};
}

Form<std::uint64_t> size(std::uint64_t low, std::uint64_t high) {
  return {
      "size", fmt::format("{} to {} (units: {})", format_size(low), format_size(high), kSizeUnits),
      [=](const Value& value) { return read_scalar<std::uint64_t>(value, parse_size, between(low, high)); },
      format_size};
}

Form<std::vector<std::string>> names(std::string kind, std::string allowed, TextRule rule, std::size_t most) {
  const auto each = text(allowed, std::move(rule));
  return {std::move(kind), std::move(allowed),
          [each, most](const Value& value) -> std::optional<std::vector<std::string>> {
            const auto items = value.items();
            if (!items) return std::nullopt;
            if (items->empty()) return value.fail("is an empty list");
            if (items->size() > most) return value.fail(fmt::format("has more than {} items", most));
            std::vector<std::string> out;
            std::set<std::string> seen;
            bool good = true;
            for (const auto& item : *items) {
              auto name = each.read(item);
              good = good && name;
              if (name && !seen.insert(*name).second) {
                item.fail(item.quoted() + " is there twice");
                good = false;
              }
              if (name) out.push_back(std::move(*name));
            }
            return good ? std::optional(std::move(out)) : std::nullopt;
          },
          [](const std::vector<std::string>& items) { return flow_list(items); }};
}

Form<std::vector<double>> rising(const Form<double>& each, std::size_t most) {
  return {"list of numbers", fmt::format("1 to {} rising numbers, each {}", most, each.allowed),
          [each, most](const Value& value) -> std::optional<std::vector<double>> {
            const auto items = value.items();
            if (!items) return std::nullopt;
            if (items->empty()) return value.fail("is an empty list");
            if (items->size() > most) return value.fail(fmt::format("has more than {} items", most));
            std::vector<double> out;
            for (const auto& item : *items) {
              const auto number = each.read(item);
              if (!number) continue;
              if (!out.empty() && *number <= out.back()) {
                return item.fail(
                    fmt::format("{} is {}", item.quoted(),
                                *number == out.back() ? "there twice" : "not above the one before it"));
              }
              out.push_back(*number);
            }
            return out.size() == items->size() ? std::optional(std::move(out)) : std::nullopt;
          },
          [](const std::vector<double>& items) { return fmt::format("[{}]", fmt::join(items, ", ")); }};
}

std::optional<std::size_t> read_word(const Value& value, const std::vector<std::string>& words) {
  const auto text = value.text();
  if (!text) return std::nullopt;
  const auto found = std::find(words.begin(), words.end(), *text);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  const auto near = nearest(*text, words);
  return value.fail(fmt::format("{} is not known{}", value.quoted(),
                                near ? fmt::format(" (did you mean {}?)", *near) : ""));
}

std::string flow_list(const std::vector<std::string>& items) {
  std::vector<std::string> written;
  for (const auto& item : items) written.push_back(yaml_text(item));
  return "[" + joined(written) + "]";
}

std::string flow_map(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::vector<std::string> written;
  for (const auto& [key, value] : entries) written.push_back(yaml_text(key) + ": " + value);
  return "{" + joined(written) + "}";
}

Complaint not_empty(const std::string& text) {
  return text.empty() ? Complaint("is empty") : std::nullopt;
}

Complaint fits_a_url(const std::string& text) {
  if (text.empty()) return "is empty";
  if (text.size() > 100) return "is longer than 100 characters";
  if (text == "." || text == "..") return "is not a name";
  if (text.find_first_not_of(kWordCharacters) != std::string::npos) {
    return "has a character that does not fit a URL and a label";
  }
  return std::nullopt;
}

Complaint fits_a_topic(const std::string& text) {
  if (text.empty()) return "is empty";
  if (text[0] == '^') return "is a pattern, not a topic";
  const bool fits = text.find_first_not_of(kWordCharacters) == std::string::npos;
  if (!fits || text.size() > 249 || text == "." || text == "..") return "cannot be the name of a Kafka topic";
  return std::nullopt;
}

Complaint host_and_port(const std::string& text) {
  const auto colon = text.rfind(':');
  if (colon == std::string::npos) return "has no port";
  const auto host = text.substr(0, colon);
  const auto port = parse_whole(std::string_view(text).substr(colon + 1));
  if (!port || *port > 65'535) return "has no port from 0 to 65535 after its last colon";
  if (host.empty()) return "has no host before its port";
  const bool bracketed = host.front() == '[' && host.back() == ']';
  if (host.find(':') != std::string::npos && !bracketed) return "has an IPv6 address without [ ]";
  if (host.find_first_of(" /") != std::string::npos) return "is not host:port";
  return std::nullopt;
}

Complaint broker_list(const std::string& text) {
  if (text.empty()) return "is empty";
  for (std::size_t at = 0; at <= text.size();) {
    const auto comma = std::min(text.find(',', at), text.size());
    const auto broker = text.substr(at, comma - at);
    if (broker.find_first_not_of(' ') == std::string::npos) return "has an empty broker";
    at = comma + 1;
  }
  return std::nullopt;
}

Complaint fits_a_header(const std::string& text) {
  if (text.empty()) return "is empty";
  const bool fits = std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
  return fits ? std::nullopt : Complaint("has a space or a character outside ASCII");
}

Complaint fits_a_webhook(const std::string& text) {
  if (const auto complaint = fits_a_header(text)) return complaint;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!text.starts_with(scheme)) continue;
    const auto host = text.substr(scheme.size(), text.find_first_of("/?#", scheme.size()) - scheme.size());
    if (host.find('@') != std::string::npos) return "holds a user or password before its host";
    return host.empty() || host.starts_with(':') ? Complaint("names no host") : std::nullopt;
  }
  return "begins with neither http:// nor https://";
}

}  // namespace gapwatch::config
