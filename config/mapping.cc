// Templates and paths of a mapping.
#include "config/mapping.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/log.h"
#include "config/text.h"

namespace gapwatch::config {
namespace {

using Kind = MappedPart::Kind;

constexpr std::string_view kFields[] = {"eval", "prompt", "policy", "version", "scorer", "slice", "answer",
                                        "id", "draw", "draw_id", "correct", "score", "label", "value",
                                        "ts", "retract", "propensity", "sequence"};

constexpr std::pair<std::string_view, Kind> kOfTheRecord[] = {
    {"key", Kind::kKey},   {"topic", Kind::kTopic},   {"file", Kind::kFile},
    {"time", Kind::kTime}, {"offset", Kind::kOffset}};

bool is_word(std::string_view text) {
  const auto fits = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  return !text.empty() && std::all_of(text.begin(), text.end(), fits);
}

Error bad(std::string problem) { return refuse(std::move(problem)); }

// JSON Pointer's own escapes (RFC 6901).
std::optional<std::string> unescaped(std::string_view token) {
  std::string out;
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (token[i] != '~') {
      out += token[i];
    } else if (++i < token.size() && (token[i] == '0' || token[i] == '1')) {
      out += token[i] == '0' ? '~' : '/';
    } else {
      return std::nullopt;
    }
  }
  return out;
}

Result<MappedPath::Step> parse_step(std::string_view token) {
  using Step = MappedPath::Step;
  auto text = unescaped(token);
  if (!text) return bad(fmt::format("has a ~ in \"{}\" that is neither ~0 nor ~1", log::printable(token, 60)));
  if (*text == "*") return Step{Step::Kind::kSole, {}, {}};
  if (text->starts_with('<') && text->ends_with('>')) {
    auto name = text->substr(1, text->size() - 2);
    if (!is_word(name)) return bad(fmt::format("names no variable in \"{}\"", log::printable(token, 60)));
    return Step{Step::Kind::kVariable, std::move(name), {}};
  }
  const auto equals = text->find('=');
  if (text->starts_with('[') && text->ends_with(']') && equals != std::string::npos) {
    return Step{Step::Kind::kWhere, text->substr(1, equals - 1), text->substr(equals + 1, text->size() - equals - 2)};
  }
  return Step{Step::Kind::kMember, std::move(*text), {}};
}

Result<MappedPart> parse_source(std::string_view text) {
  for (const auto& [word, kind] : kOfTheRecord) {
    if (text == word) return MappedPart{kind, {}, {}};
  }
  if (text.starts_with("header:")) {
    if (text.size() == 7) return bad("has a header: without a name");
    return MappedPart{Kind::kHeader, std::string(text.substr(7)), {}};
  }
  for (const auto& [suffix, kind] : {std::pair<std::string_view, Kind>{"@key", Kind::kKeyOf}, {"@index", Kind::kIndexOf}}) {
    if (!text.ends_with(suffix)) continue;
    const auto name = text.substr(0, text.size() - suffix.size());
    if (!is_word(name)) return bad(fmt::format("has {} without a loop's name before it", suffix));
    return MappedPart{kind, {}, {std::string(name), {}}};
  }
  auto path = parse_path(text);
  if (!path) return path.error();
  return MappedPart{Kind::kPath, {}, std::move(*path)};
}

}  // namespace

std::span<const std::string_view> mapped_fields() { return kFields; }

Result<MappedPath> parse_path(std::string_view text) {
  MappedPath path;
  const auto slash = std::min(text.find('/'), text.size());
  path.variable = std::string(text.substr(0, slash));
  if (!path.variable.empty() && !is_word(path.variable)) {
    return bad(fmt::format("has \"{}\", which is neither a JSON Pointer (/a/b), nor NAME/a/b, nor key, topic, file, time, "
                           "offset or header:NAME",
                           log::printable(text, 60)));
  }
  for (auto rest = text.substr(slash); !rest.empty();) {
    rest.remove_prefix(1);
    const auto end = std::min(rest.find('/'), rest.size());
    auto step = parse_step(rest.substr(0, end));
    if (!step) return step.error();
    path.steps.push_back(std::move(*step));
    rest.remove_prefix(end);
  }
  return path;
}

Result<std::vector<MappedPart>> parse_template(std::string_view text) {
  std::vector<MappedPart> parts;
  std::string literal;
  const auto flush = [&] {
    if (!literal.empty()) parts.push_back({Kind::kText, std::exchange(literal, {}), {}});
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const bool doubled = at + 1 < text.size() && text[at + 1] == c;
    if ((c == '{' || c == '}') && doubled) {
      literal += c;
      ++at;
    } else if (c == '}') {
      return bad("has a } without its { (write }} for a literal one)");
    } else if (c != '{') {
      literal += c;
    } else {
      const auto end = text.find('}', at);
      if (end == text.npos) return bad("has a { without its } (write {{ for a literal one)");
      flush();
      auto part = parse_source(text.substr(at + 1, end - at - 1));
      if (!part) return part.error();
      parts.push_back(std::move(*part));
      at = end;
    }
  }
  flush();
  if (parts.empty()) parts.push_back({});
  return parts;
}

}  // namespace gapwatch::config
