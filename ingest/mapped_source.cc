#include "ingest/mapped_source.h"

#include <fmt/format.h>

#include <charconv>

#include "base/log.h"

namespace gapwatch::ingest {
namespace {

using config::MappedPart;
using config::MappedPath;
using config::MappedWay;
using Id = JsonTree::Id;

constexpr std::size_t kMostMatched = 4'096;  // bytes that a regular expression is asked about

std::size_t cut_at(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text.size();
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;  // not within a character
  return most;
}

bool only_text(const MappedWay& way) {
  return std::all_of(way.parts.begin(), way.parts.end(), [](const auto& part) { return part.kind == MappedPart::Kind::kText; });
}

}  // namespace

MappedSource::MappedSource(const config::Mapping& mapping) : mapping_(mapping) {
  const auto add = [&](const config::MappedWays& ways) {
    for (const auto& way : ways) {
      if (!way.match.empty()) expressions_.try_emplace(way.match, way.match);
    }
  };
  for (const auto& let : mapping.let) {
    add(let.ways);
    lets_[let.name] = &let.ways;
  }
  for (const auto& [name, ways] : mapping.fields) add(ways);
  for (const auto* list : {&mapping.skip_when, &mapping.drop_when, &mapping.error_when, &mapping.unscored_when}) {
    for (const auto& condition : *list) add(condition.value);
  }
  places_[""];
  if (mapping.records) places_[mapping.records->as];
  for (const auto& [name, paths] : mapping.with) places_[name];
  for (const auto& loop : mapping.each) places_[loop.as];
}

void MappedSource::begin(const Record& record, Id root) {
  record_ = &record;
  for (auto& [name, place] : places_) place = {};
  places_[""].node = root;
}

void MappedSource::set(const std::string& variable, Id node, std::size_t index) { places_.at(variable) = {node, index}; }

std::optional<std::string_view> MappedSource::text_of(const Raw& raw) {
  switch (raw.kind) {
    case Kind::kTrue: return "true";
    case Kind::kFalse: return "false";
    case Kind::kString:
    case Kind::kInteger:
    case Kind::kNumber: return raw.text;
    default: return std::nullopt;
  }
}

Id MappedSource::member(Id object, std::string_view name) {
  Id found = JsonTree::kNone;
  for (Id at = tree_.at(object).first; at != JsonTree::kNone; at = tree_.at(at).next) {
    if (tree_.at(at).key != name) continue;
    if (found != JsonTree::kNone && !fault_) {
      fault_ = Fault{Reason::kDuplicateKey, fmt::format("{} stands twice", log::printable(name, 64))};
    }
    found = at;
  }
  return found;
}

Id MappedSource::where(Id array, const MappedPath::Step& step) {
  for (Id at = tree_.at(array).first; at != JsonTree::kNone; at = tree_.at(at).next) {
    if (tree_.at(at).raw.kind != Kind::kObject) continue;
    const Id key = member(at, step.name);
    if (key != JsonTree::kNone && text_of(tree_.at(key).raw) == std::string_view(step.text)) return at;
  }
  return JsonTree::kNone;
}

Id MappedSource::step(Id from, const MappedPath::Step& step) {
  using StepKind = MappedPath::Step::Kind;
  const auto& node = tree_.at(from);
  const bool array = node.raw.kind == Kind::kArray;
  if (!array && node.raw.kind != Kind::kObject) return JsonTree::kNone;
  switch (step.kind) {
    case StepKind::kSole:
      return node.first != JsonTree::kNone && tree_.at(node.first).next == JsonTree::kNone ? node.first : JsonTree::kNone;
    case StepKind::kWhere: return array ? where(from, step) : JsonTree::kNone;
    case StepKind::kVariable: {
      const auto name = part({MappedPart::Kind::kPath, {}, {step.name, {}}});
      const auto text = name.there ? text_of(name.raw) : std::nullopt;
      return text && !array ? member(from, *text) : JsonTree::kNone;
    }
    case StepKind::kMember: break;
  }
  if (!array) return member(from, step.name);
  std::size_t index = 0;
  const auto [end, code] = std::from_chars(step.name.data(), step.name.data() + step.name.size(), index);
  if (code != std::errc() || end != step.name.data() + step.name.size()) return JsonTree::kNone;
  Id at = node.first;
  for (; at != JsonTree::kNone && index > 0; --index) at = tree_.at(at).next;
  return at;
}

Id MappedSource::find(const MappedPath& path) {
  const auto place = places_.find(path.variable);
  Id at = place == places_.end() ? JsonTree::kNone : place->second.node;
  for (const auto& one : path.steps) {
    if (at == JsonTree::kNone) break;
    at = step(at, one);
  }
  return at;
}

Got MappedSource::of_node(Id id) const {
  if (id == JsonTree::kNone) return {};
  return {true, tree_.at(id).raw, id, {}};
}

Got MappedSource::path(const MappedPath& path) {
  if (path.steps.empty()) {
    if (const auto let = lets_.find(path.variable); let != lets_.end()) return get(*let->second);
  }
  return of_node(find(path));
}

Got MappedSource::text(std::string_view text) { return {true, {Kind::kString, text, 0}, JsonTree::kNone, {}}; }

Got MappedSource::number(std::int64_t value) {
  const auto& text = texts_.emplace_back(std::to_string(value));
  return {true, {Kind::kInteger, text, value > 0 ? static_cast<std::uint64_t>(value) : 0}, JsonTree::kNone, {}};
}

Got MappedSource::header(const std::string& name) {
  for (const auto& header : record_->headers()) {
    if (header.name == name) return text(texts_.emplace_back(header.value));
  }
  return {};
}

Got MappedSource::part(const MappedPart& part) {
  using PartKind = MappedPart::Kind;
  const auto unless_empty = [&](std::string_view said) { return said.empty() ? Got() : text(said); };
  switch (part.kind) {
    case PartKind::kText: return text(part.text);
    case PartKind::kPath: return path(part.path);
    case PartKind::kKeyOf: {
      const Id node = places_.at(part.path.variable).node;
      return node == JsonTree::kNone ? Got() : unless_empty(tree_.at(node).key);
    }
    case PartKind::kIndexOf: {
      const auto& place = places_.at(part.path.variable);
      return place.node == JsonTree::kNone ? Got() : number(static_cast<std::int64_t>(place.index));
    }
    case PartKind::kHeader: return header(part.text);
    case PartKind::kKey: return unless_empty(record_->key);
    case PartKind::kTopic: return unless_empty(record_->topic());
    case PartKind::kFile: return unless_empty(record_->file());
    case PartKind::kTime: return record_->time > 0 ? number(record_->time) : Got();
    case PartKind::kOffset: return number(record_->offset);
  }
  return {};
}

// Several parts make a text; where one says nothing, so does the whole.
Got MappedSource::joined(const MappedWay& way) {
  if (way.parts.size() == 1) return part(way.parts.front());
  std::string whole;
  for (const auto& one : way.parts) {
    const auto got = part(one);
    const auto said = got.there ? text_of(got.raw) : std::nullopt;
    if (!said) return {};
    whole += *said;
  }
  return text(texts_.emplace_back(std::move(whole)));
}

Got MappedSource::coerced(Got got) const {
  if (!got.there || got.raw.kind != Kind::kString) return got;
  const auto said = got.raw.text;
  if (said == "true" || said == "True" || said == "TRUE") got.raw = {Kind::kTrue, said, 0};
  if (said == "false" || said == "False" || said == "FALSE") got.raw = {Kind::kFalse, said, 0};
  if (said == "NaN" || said == "nan" || said == "Infinity" || said == "-Infinity" || said == "inf" || said == "-inf") {
    got.raw = {Kind::kNotFinite, said, 0};
  }
  const char* const end = said.data() + said.size();
  if (Raw read; scan_number(said.data(), end, read) == end && !said.empty()) got.raw = read;
  return got;
}

Got MappedSource::way(const MappedWay& way) {
  auto got = joined(way);
  got.unit = way.unit;
  if (!way.match.empty() || way.first > 0) {
    const auto said = got.there ? text_of(got.raw) : std::nullopt;
    if (!said) return {};
    auto kept = *said;
    if (!way.match.empty()) {
      if (kept.size() > kMostMatched) return {};
      boost::cmatch found;
      try {
        const auto& expression = expressions_.find(way.match)->second;
        if (!boost::regex_search(kept.data(), kept.data() + kept.size(), found, expression) || !found[1].matched) return {};
      } catch (const std::runtime_error&) {  // more steps than a search may take
        return {};
      }
      kept = {found[1].first, static_cast<std::size_t>(found[1].length())};
    }
    if (way.first > 0) kept = kept.substr(0, cut_at(kept, way.first));
    got.raw = {Kind::kString, kept, 0};
  }
  return way.coerce || mapping_.coerce || only_text(way) ? coerced(got) : got;
}

Got MappedSource::get(const config::MappedWays& ways) {
  Got null;
  for (const auto& one : ways) {
    const auto got = way(one);
    if (got.says()) return got;
    if (got.there) null = got;
  }
  return null;
}

bool MappedSource::holds(const config::MappedCondition& condition) {
  using Test = config::MappedCondition::Test;
  const auto got = get(condition.value);
  if (condition.test == Test::kPresent) return got.says();
  if (condition.test == Test::kAbsent) return !got.says();
  const auto said = got.says() ? text_of(got.raw) : std::nullopt;
  if (!said) return false;
  const bool among = std::find(condition.texts.begin(), condition.texts.end(), *said) != condition.texts.end();
  return among == (condition.test == Test::kIs);
}

const config::MappedCondition* MappedSource::first_of(const std::vector<config::MappedCondition>& conditions) {
  const auto found = std::find_if(conditions.begin(), conditions.end(), [&](const auto& one) { return holds(one); });
  return found == conditions.end() ? nullptr : &*found;
}

}  // namespace gapwatch::ingest
