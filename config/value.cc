#include "config/value.h"

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "base/log.h"
#include "config/text.h"
#include "config/units.h"

namespace gapwatch::config {
namespace {

constexpr std::size_t kMostFaults = 100;
constexpr std::size_t kMostValues = 200'000;
constexpr std::size_t kLargestSecret = 64 << 10;

bool is_name(std::string_view text) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0])) != 0) return false;
  return text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") ==
         std::string_view::npos;
}

std::string_view kind_of(const YAML::Node& node) {
  if (node.IsMap()) return "is a section";
  if (node.IsSequence()) return "is a list";
  return node.IsNull() ? "has no value" : "is a single value";
}

}  // namespace

std::string to_string(const Fault& fault, const std::string& file) {
  std::string out = log::printable(file, 4096);
  if (fault.line > 0) out += fmt::format(":{}:{}", fault.line, fault.column);
  if (!fault.key.empty()) out += ": " + fault.key;
  out += ": " + fault.problem;
  if (!fault.allowed.empty()) out += "; " + fault.allowed;
  return out;
}

void Reader::fault(const YAML::Mark& mark, std::string key, std::string problem, std::string allowed) {
  if (faults_.size() > kMostFaults) return;
  if (faults_.size() == kMostFaults) {
    faults_.push_back({SIZE_MAX, 0, "", "more faults than are shown", "mend these first"});
    return;
  }
  faults_.push_back({static_cast<std::size_t>(mark.line + 1), static_cast<std::size_t>(mark.column + 1),
                     log::printable(key, 120), std::move(problem), std::move(allowed)});
}

void Reader::fault_at(const std::string& key, std::string problem, std::string allowed) {
  auto at = key;
  while (!at.empty() && !places_.contains(at)) {
    const auto cut = at.find_last_of(".[");
    at.resize(cut == std::string::npos ? 0 : cut);
  }
  const auto found = places_.find(at);
  fault(found == places_.end() ? YAML::Mark{} : found->second, key, std::move(problem), std::move(allowed));
}

bool Reader::spend(const YAML::Mark& mark) {
  if (++looked_at_ == kMostValues) {
    fault(mark, "", fmt::format("the file expands to more than {} values", kMostValues),
          "look for aliases (*name) inside aliases");
  }
  return looked_at_ < kMostValues;
}

std::string Reader::resolved(const std::string& path) const {
  const std::filesystem::path given(path);
  if (path.empty() || folder_.empty() || given.is_absolute()) return path;
  return (std::filesystem::path(folder_) / given).lexically_normal().string();
}

std::vector<Fault> Reader::take_faults() {
  std::stable_sort(faults_.begin(), faults_.end(), [](const Fault& a, const Fault& b) {
    return std::pair(a.line, a.column) < std::pair(b.line, b.column);
  });
  for (auto& fault : faults_) {
    if (fault.line == SIZE_MAX) fault.line = 0;
  }
  return std::move(faults_);
}

std::nullopt_t Value::fail(std::string problem) const {
  reader->fault(node.Mark(), key, std::move(problem), allowed);
  return std::nullopt;
}

std::optional<std::string> Value::text(bool* from_environment) const {
  if (!node.IsScalar()) return fail(std::string(kind_of(node)));
  const auto& raw = node.Scalar();
  std::string out;
  for (std::size_t at = 0; at < raw.size();) {
    const auto dollar = raw.find('$', at);
    out.append(raw, at, dollar - at);
    if (dollar == std::string::npos) break;
    if (raw.compare(dollar, 3, "$${") == 0) {
      out += "${";
      at = dollar + 3;
      continue;
    }
    if (raw.compare(dollar, 2, "${") != 0) {
      out += '$';
      at = dollar + 1;
      continue;
    }
    const auto end = raw.find('}', dollar);
    const auto name = end == std::string::npos ? "" : raw.substr(dollar + 2, end - dollar - 2);
    if (!is_name(name)) return fail("has a ${ that does not begin a ${NAME} (write $${ for a literal ${)");
    const auto value = reader->variable(name);
    if (!value) return fail(fmt::format("the environment variable {} is not set", log::printable(name, 60)));
    if (first_bad_byte(*value)) {
      return fail(fmt::format("the environment variable {} is not UTF-8 text", log::printable(name, 60)));
    }
    if (from_environment != nullptr) *from_environment = true;
    out += *value;
    at = end + 1;
  }
  return out;
}

std::string Value::quoted() const {
  return secret ? "the value" : fmt::format("\"{}\"", log::printable(node.Scalar(), 60));
}

std::optional<std::vector<Value>> Value::items() const {
  if (!node.IsSequence()) return fail(fmt::format("{}, not a list", kind_of(node)));
  std::vector<Value> out;
  for (std::size_t i = 0; i < node.size(); ++i) {
    const auto item = node[i];
    if (!reader->spend(item.Mark())) return std::nullopt;
    out.push_back({item, fmt::format("{}[{}]", key, i), allowed, reader, secret});
    reader->place(out.back().key, item.Mark());
  }
  return out;
}

std::optional<std::vector<std::pair<std::string, Value>>> Value::entries() const {
  if (!node.IsMap()) return fail(fmt::format("{}, not a section of key: value", kind_of(node)));
  std::vector<std::pair<std::string, Value>> out;
  for (const auto& entry : node) {
    if (!reader->spend(entry.first.Mark())) return std::nullopt;
    const auto name = key_text(entry.first, key, *reader);
    if (!name) continue;
    const auto full = key.empty() ? *name : key + "." + *name;
    if (reader->seen(full)) {
      reader->fault(entry.first.Mark(), full, "is there twice", "keep one");
      continue;
    }
    reader->place(full, entry.first.Mark());
    out.emplace_back(*name, Value{entry.second, full, allowed, reader, secret});
  }
  return out;
}

std::optional<std::string> key_text(const YAML::Node& key, const std::string& section, Reader& reader) {
  if (key.IsScalar()) return key.Scalar();
  reader.fault(key.Mark(), section, "has a key that is not a word", "write key: value");
  return std::nullopt;
}

std::optional<std::string> read_secret_file(const Value& value) {
  const auto path = value.text();
  if (!path) return std::nullopt;
  const auto shown = fmt::format("\"{}\"", log::printable(value.node.Scalar(), 200));
  auto secret = read_text_file(value.reader->resolved(*path), kLargestSecret);
  if (!secret) return value.fail(fmt::format("cannot read {}: {}", shown, secret.error().message));
  const auto end = secret->find_last_not_of(" \t\r\n");
  secret->resize(end == std::string::npos ? 0 : end + 1);
  if (secret->empty()) return value.fail(fmt::format("{} is empty", shown));
  if (first_bad_byte(*secret)) return value.fail(fmt::format("{} is not UTF-8 text", shown));
  return std::move(secret).value();
}

Result<std::string> read_text_file(const std::string& path, std::size_t limit) {
  const auto trouble = [] { return refuse(std::generic_category().message(errno)); };
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return refuse("it is a directory");
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file) return trouble();
  std::string text(limit + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) return trouble();
  if (text.size() > limit) return refuse(fmt::format("it is larger than {}", format_size(limit)));
  return text;
}

}  // namespace gapwatch::config
