#include "config/read_mapping.h"

#include <boost/regex.hpp>
#include <fmt/format.h>

#include <functional>
#include <limits>
#include <set>

#include "base/log.h"
#include "config/form.h"
#include "config/text.h"
#include "config/units.h"

namespace gapwatch::config {
namespace {

constexpr std::size_t kMostItems = 1'000;
constexpr std::uint64_t kMostBytes = 4'096;
constexpr std::size_t kLargestSchema = 1 << 20;

using Entries = std::vector<std::pair<std::string, Value>>;
using Handler = std::function<bool(const Value&)>;

// Gives each entry of a section to the handler of its name.
bool read_section(const Value& section, const std::vector<std::pair<std::string, Handler>>& handlers) {
  const auto entries = section.entries();
  if (!entries) return false;
  bool good = true;
  for (const auto& [name, value] : *entries) {
    const auto found = std::find_if(handlers.begin(), handlers.end(), [&name = name](const auto& one) { return one.first == name; });
    if (found != handlers.end()) {
      good &= found->second(value);
      continue;
    }
    std::vector<std::string> known;
    for (const auto& [key, handler] : handlers) known.push_back(key);
    const auto near = nearest(name, known);
    value.reader->fault_at(value.key, "is not known", near ? fmt::format("did you mean {}?", *near) : "known here: " + joined(known));
    good = false;
  }
  return good;
}

// One value or a list of them.
bool each_item(const Value& value, const Handler& handler) {
  if (!value.node.IsSequence()) return handler(value);
  const auto items = value.items();
  if (!items) return false;
  if (items->empty() || items->size() > kMostItems) {
    value.fail(items->empty() ? "is an empty list" : fmt::format("has more than {} items", kMostItems));
    return false;
  }
  return std::all_of(items->begin(), items->end(), handler);
}

bool read_flag(const Value& value, bool& out) {
  const auto read = flag().read(value);
  if (read) out = *read;
  return read.has_value();
}

bool read_text(const Value& value, std::string& out) {
  auto read = value.text();
  if (read) out = std::move(*read);
  return read.has_value();
}

bool read_template(const Value& value, std::vector<MappedPart>& out) {
  const auto text = value.text();
  if (!text) return false;
  auto parts = parse_template(*text);
  if (parts) out = std::move(*parts);
  if (!parts) value.fail(fmt::format("{} {}", value.quoted(), parts.error().message));
  return parts.ok();
}

bool read_path(const Value& value, MappedPath& out) {
  const auto text = value.text();
  if (!text) return false;
  auto path = parse_path(*text);
  if (path) out = std::move(*path);
  if (!path) value.fail(fmt::format("{} {}", value.quoted(), path.error().message));
  return path.ok();
}

bool read_match(const Value& value, std::string& out) {
  if (!read_text(value, out)) return false;
  try {
    const boost::regex compiled(out);
    if (compiled.mark_count() == 1) return true;
    value.fail(fmt::format("{} has {} groups, not one", value.quoted(), compiled.mark_count()));
  } catch (const boost::regex_error& error) {
    value.fail(fmt::format("{} is no regular expression: {}", value.quoted(), log::printable(error.what(), 120)));
  }
  return false;
}

bool read_way(const Value& value, MappedWay& way) {
  if (!value.node.IsMap()) return read_template(value, way.parts);
  const auto unit = choice<TimeUnit>({{"s", TimeUnit::kSeconds},
                                      {"ms", TimeUnit::kMilliseconds},
                                      {"us", TimeUnit::kMicroseconds},
                                      {"ns", TimeUnit::kNanoseconds}});
  const bool good = read_section(
      value, {{"from", [&](const Value& v) { return read_template(v, way.parts); }},
              {"match", [&](const Value& v) { return read_match(v, way.match); }},
              {"first", [&](const Value& v) {
                 const auto read = whole(1, kMostBytes).read(v);
                 if (read) way.first = static_cast<std::uint32_t>(*read);
                 return read.has_value();
               }},
              {"coerce", [&](const Value& v) { return read_flag(v, way.coerce); }},
              {"unit", [&](const Value& v) {
                 const auto read = unit.read(v);
                 if (read) way.unit = *read;
                 return read.has_value();
               }}});
  if (good && way.parts.empty()) value.fail("has no from");
  return good && !way.parts.empty();
}

bool read_ways(const Value& value, MappedWays& ways) {
  ways.clear();
  return each_item(value, [&](const Value& one) { return read_way(one, ways.emplace_back()); });
}

bool fits_a_reason(const std::string& word) {
  return !word.empty() && word.size() <= 40 &&
         word.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
}

bool read_condition(const Value& value, MappedCondition& condition) {
  using Test = MappedCondition::Test;
  std::optional<Test> test;
  const auto set_test = [&](const Value& v, Test wanted) {
    if (test) v.fail("is a second test");
    return !std::exchange(test, wanted).has_value();
  };
  const auto texts = [&](const Value& v, Test wanted) {
    return set_test(v, wanted) &&
           each_item(v, [&](const Value& one) { return read_text(one, condition.texts.emplace_back()); });
  };
  const bool good = read_section(
      value, {{"value", [&](const Value& v) { return read_ways(v, condition.value); }},
              {"is", [&](const Value& v) { return texts(v, Test::kIs); }},
              {"is_not", [&](const Value& v) { return texts(v, Test::kIsNot); }},
              {"present", [&](const Value& v) {
                 bool present = false;
                 return read_flag(v, present) && set_test(v, present ? Test::kPresent : Test::kAbsent);
               }},
              {"reason", [&](const Value& v) {
                 if (!read_text(v, condition.reason)) return false;
                 if (!fits_a_reason(condition.reason)) v.fail("is no word of a-z, 0-9 and _ (at most 40)");
                 return fits_a_reason(condition.reason);
               }}});
  if (good && (condition.value.empty() || !test)) value.fail("needs a value and one of is, is_not, present");
  if (test) condition.test = *test;
  return good && test && !condition.value.empty();
}

bool read_conditions(const Value& value, std::vector<MappedCondition>& out) {
  out.clear();
  return each_item(value, [&](const Value& one) { return read_condition(one, out.emplace_back()); });
}

bool read_loop(const Value& value, MappedLoop& loop) {
  const bool good = read_section(
      value, {{"in", [&](const Value& v) {
                 return each_item(v, [&](const Value& one) { return read_path(one, loop.in.emplace_back()); });
               }},
              {"as", [&](const Value& v) { return read_text(v, loop.as); }},
              {"optional", [&](const Value& v) { return read_flag(v, loop.optional); }}});
  if (good && (loop.in.empty() || loop.as.empty())) value.fail("needs in and as");
  return good && !loop.in.empty() && !loop.as.empty();
}

bool read_labels(const Value& value, Mapping& mapping) {
  const auto entries = value.entries();
  if (!entries) return false;
  bool good = true;
  const auto score = number(std::numeric_limits<double>::lowest(), std::numeric_limits<double>::max());
  for (auto [label, entry] : *entries) {
    entry.allowed = "a score, or null where the label says that nothing was judged";
    std::optional<double> read;
    if (!entry.node.IsNull()) {
      read = score.read(entry);
      good &= read.has_value();
    }
    mapping.labels[label] = read;
  }
  return good;
}

bool read_fields(const Value& value, Mapping& mapping) {
  std::vector<std::pair<std::string, Handler>> handlers;
  for (const auto name : mapped_fields()) {
    handlers.emplace_back(std::string(name), [&mapping, name](const Value& v) {
      return read_ways(v, mapping.fields[std::string(name)]);
    });
  }
  return read_section(value, handlers);
}

// id: file
bool read_schemas(const Value& value, Mapping& mapping) {
  const auto entries = value.entries();
  if (!entries) return false;
  bool good = true;
  for (const auto& [name, entry] : *entries) {
    const auto id = parse_whole(name);
    const auto path = entry.text();
    if (!id || *id > std::numeric_limits<std::uint32_t>::max()) entry.fail("is not under the number of a schema");
    if (!id || *id > std::numeric_limits<std::uint32_t>::max() || !path) {
      good = false;
      continue;
    }
    auto text = read_text_file(value.reader->resolved(*path), kLargestSchema);
    if (!text) entry.fail(fmt::format("cannot read {}: {}", entry.quoted(), text.error().message));
    good &= text.ok();
    if (text) mapping.schemas[static_cast<std::uint32_t>(*id)] = std::move(*text);
  }
  return good;
}

bool read_let(const Value& value, Mapping& mapping) {
  const auto entries = value.entries();
  if (!entries) return false;
  bool good = true;
  for (const auto& [name, entry] : *entries) {
    const auto known = std::find_if(mapping.let.begin(), mapping.let.end(), [&name = name](const auto& one) { return one.name == name; });
    auto& let = known == mapping.let.end() ? mapping.let.emplace_back() : *known;
    let.name = name;
    good &= read_ways(entry, let.ways);
  }
  return good;
}

bool read_with(const Value& value, Mapping& mapping) {
  const auto entries = value.entries();
  if (!entries) return false;
  mapping.with.clear();
  bool good = true;
  for (const auto& [name, entry] : *entries) {
    auto& paths = mapping.with.emplace_back(name, std::vector<MappedPath>()).second;
    good &= each_item(entry, [&](const Value& one) { return read_path(one, paths.emplace_back()); });
  }
  return good;
}

// Whether every name that is used was given before.
class NameCheck {
 public:
  NameCheck(const Mapping& mapping, const Value& at) : mapping_(mapping), at_(at) {}

  bool run() {
    known_.insert("");
    if (mapping_.records) loop(*mapping_.records, "records");
    for (const auto& [name, paths] : mapping_.with) {
      for (const auto& one : paths) path(one, "with." + name);
      add(name, "with." + name);
    }
    for (const auto& one : mapping_.each) loop(one, "each");
    for (const auto& let : mapping_.let) {
      ways(let.ways, "let." + let.name);
      add(let.name, "let." + let.name);
    }
    for (const auto& [field, one] : mapping_.fields) ways(one, "fields." + field);
    for (const auto& [list, name] : {std::pair(&mapping_.skip_when, "skip_when"), {&mapping_.drop_when, "drop_when"},
                                     {&mapping_.error_when, "error_when"}, {&mapping_.unscored_when, "unscored_when"}}) {
      for (const auto& condition : *list) ways(condition.value, name);
    }
    return good_;
  }

 private:
  void fault(const std::string& where, std::string problem) {
    at_.reader->fault_at(at_.key.empty() ? where : at_.key + "." + where, std::move(problem), "names of records, with, each and let");
    good_ = false;
  }
  void add(const std::string& name, const std::string& where) {
    const auto parts = parse_template("{" + name + "}");
    const bool plain = parts && parts->size() == 1 && parts->front().kind == MappedPart::Kind::kPath &&
                       parts->front().path.variable == name && !name.empty();
    if (!plain) return fault(where, fmt::format("\"{}\" is no name for a variable", log::printable(name, 40)));
    if (!known_.insert(name).second) fault(where, fmt::format("the name {} is there already", name));
  }
  void use(const std::string& name, const std::string& where) {
    if (!known_.contains(name)) fault(where, fmt::format("there is no variable {}", log::printable(name, 40)));
  }
  void path(const MappedPath& one, const std::string& where) {
    use(one.variable, where);
    for (const auto& step : one.steps) {
      if (step.kind == MappedPath::Step::Kind::kVariable) use(step.name, where);
    }
  }
  void loop(const MappedLoop& one, const std::string& where) {
    for (const auto& in : one.in) path(in, where);
    add(one.as, where);
  }
  void ways(const MappedWays& all, const std::string& where) {
    for (const auto& way : all) {
      for (const auto& part : way.parts) path(part.path, where);
    }
  }

  const Mapping& mapping_;
  const Value& at_;
  std::set<std::string> known_;
  bool good_ = true;
};

bool read_preset(const Value& value, Mapping& mapping) {
  const auto name = value.text();
  if (!name) return false;
  auto found = preset_mapping(*name);
  if (found) {
    mapping = std::move(*found);
    return true;
  }
  std::vector<std::string> known;
  for (const auto& preset : presets()) known.emplace_back(preset.name);
  const auto near = nearest(*name, known);
  auto at = value;
  at.allowed = near ? fmt::format("did you mean {}?", *near) : "one of " + joined(known);
  at.fail(fmt::format("{} is no preset", value.quoted()));
  return false;
}

}  // namespace

std::optional<Mapping> read_mapping(const Value& value, std::string name) {
  auto section = value;
  section.allowed = "preset, encoding, schemas, coerce, records, with, each, let, fields, labels and conditions";
  Mapping mapping;
  bool good = true;
  // The preset comes first wherever it stands.
  if (section.node.IsMap() && section.node["preset"]) {
    const auto key = section.key.empty() ? "preset" : section.key + ".preset";
    good = read_preset({section.node["preset"], key, section.allowed, section.reader, section.secret}, mapping);
  }
  const auto encoding = choice<Mapping::Encoding>(
      {{"json", Mapping::Encoding::kJson}, {"csv", Mapping::Encoding::kCsv}, {"avro", Mapping::Encoding::kAvro}});
  good &= read_section(
      section,
      {{"preset", [](const Value&) { return true; }},
       {"encoding", [&](const Value& v) {
          const auto read = encoding.read(v);
          if (read) mapping.encoding = *read;
          return read.has_value();
        }},
       {"schemas", [&](const Value& v) { return read_schemas(v, mapping); }},
       {"coerce", [&](const Value& v) { return read_flag(v, mapping.coerce); }},
       {"records", [&](const Value& v) { return read_loop(v, mapping.records.emplace()); }},
       {"with", [&](const Value& v) { return read_with(v, mapping); }},
       {"each", [&](const Value& v) {
          mapping.each.clear();
          return each_item(v, [&](const Value& one) { return read_loop(one, mapping.each.emplace_back()); });
        }},
       {"let", [&](const Value& v) { return read_let(v, mapping); }},
       {"fields", [&](const Value& v) { return read_fields(v, mapping); }},
       {"labels", [&](const Value& v) { return read_labels(v, mapping); }},
       {"skip_when", [&](const Value& v) { return read_conditions(v, mapping.skip_when); }},
       {"drop_when", [&](const Value& v) { return read_conditions(v, mapping.drop_when); }},
       {"error_when", [&](const Value& v) { return read_conditions(v, mapping.error_when); }},
       {"unscored_when", [&](const Value& v) { return read_conditions(v, mapping.unscored_when); }}});
  if (!good || !NameCheck(mapping, section).run()) return std::nullopt;
  mapping.name = std::move(name);
  return mapping;
}

std::string flow_text(const YAML::Node& node) {
  if (node.IsMap()) {
    std::vector<std::pair<std::string, std::string>> entries;
    for (const auto& entry : node) entries.emplace_back(entry.first.Scalar(), flow_text(entry.second));
    return flow_map(entries);
  }
  if (node.IsSequence()) {
    std::vector<std::string> items;
    for (const auto& item : node) items.push_back(flow_text(item));
    return "[" + joined(items) + "]";
  }
  return node.IsNull() ? "null" : yaml_text(node.Scalar());
}

}  // namespace gapwatch::config
