// Form<T>: how one kind of value is written, what is allowed, and both ways between text and T.
//
// A form is made once, in the table of settings (schema.cc), and serves the parser, the faults'
// wording, config_reference() and describe().
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/value.h"

namespace gapwatch::config {

template <typename T>
struct Form {
  std::string kind;                                    // "duration", "list of numbers"
  std::string allowed;                                 // "100ms to 1d (ms, s, m, h, d)"
  std::function<std::optional<T>(const Value&)> read;  // notes a fault where it returns nothing
  std::function<std::string(const T&)> write;          // YAML
};

// The problem with a text ("is empty"), or nothing where it is fine.
using Complaint = std::optional<std::string>;
using TextRule = std::function<Complaint(const std::string&)>;

enum class Ends { kClosed, kOpen, kOpenLow };  // whether the ends of a range belong to it

Form<bool> flag();
Form<std::string> text(std::string allowed, TextRule rule);
Form<double> number(double low, double high, Ends ends = Ends::kClosed);
Form<std::uint64_t> whole(std::uint64_t low, std::uint64_t high);
Form<std::chrono::milliseconds> duration(std::chrono::milliseconds low, std::chrono::milliseconds high);
Form<std::uint64_t> size(std::uint64_t low, std::uint64_t high);

// A list of one or more different names.
Form<std::vector<std::string>> names(std::string kind, std::string allowed, TextRule rule, std::size_t most);
// One to `most` numbers, each as `each` has it, rising.
Form<std::vector<double>> rising(const Form<double>& each, std::size_t most);

// One of a few words; an unknown one names the nearest.
std::optional<std::size_t> read_word(const Value& value, const std::vector<std::string>& words);

template <typename T>
Form<T> choice(std::vector<std::pair<std::string, T>> options) {
  std::vector<std::string> words;
  for (const auto& option : options) words.push_back(option.first);
  std::string allowed;
  for (const auto& word : words) allowed += (allowed.empty() ? "" : " or ") + word;
  return {"word", allowed,
          [options, words](const Value& value) -> std::optional<T> {
            const auto index = read_word(value, words);
            return index ? std::optional<T>(options[*index].second) : std::nullopt;
          },
          [options](const T& wanted) {
            for (const auto& [word, option] : options) {
              if (option == wanted) return word;
            }
            return std::string();
          }};
}

// "[a, b]" and "{a: 1, b: 2}"
std::string flow_list(const std::vector<std::string>& items);
std::string flow_map(const std::vector<std::pair<std::string, std::string>>& entries);

// Rules.
Complaint not_empty(const std::string& text);
Complaint fits_a_url(const std::string& text);  // [A-Za-z0-9_.-], at most 100, not "." or ".."
Complaint fits_a_topic(const std::string& text);
Complaint host_and_port(const std::string& text);
Complaint broker_list(const std::string& text);
Complaint fits_a_webhook(const std::string& text);  // http:// or https://, a host, printable ASCII without spaces
Complaint fits_a_header(const std::string& text);  // a bearer token: printable ASCII without spaces

}  // namespace gapwatch::config
