// Mapping: how the records of some producer are read as events, as plain data.
//
// A mapping is written in YAML: as `format:` in a config, as a file of its own, or as one of the
// presets (config/presets/*.yaml, which are part of the program). docs/MAPPING.md is its manual.
// What it does with a record is ingest/mapped_decoder.h's.
//
// A field is got in one of several ways, tried in order; the first that says something wins. A way
// is a template: text with {sources} in it. A template that is one source keeps the source's type.
// Threads: plain values; the functions may be called from any. Errors: every fault with its place.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gapwatch::config {

// A place in a record: the variable (empty: the whole value) and the way down from it.
struct MappedPath {
  struct Step {
    enum class Kind {
      kMember,    // an object's member, an array's element by its index
      kVariable,  // <name>: the member that the variable's text names
      kSole,      // *: the only member, whatever its name
      kWhere,     // [name=text]: the array's first element whose member has this text
    };
    Kind kind = Kind::kMember;
    std::string name, text;
  };
  std::string variable;
  std::vector<Step> steps;
};

struct MappedPart {
  enum class Kind {
    kText, kPath, kKeyOf, kIndexOf,  // of a loop's variable
    kHeader, kKey, kTopic, kFile, kTime, kOffset,
  };
  Kind kind = Kind::kText;
  std::string text;  // of kText; the name of a header
  MappedPath path;   // of kPath; its variable for kKeyOf and kIndexOf
};

enum class TimeUnit { kSeconds, kMilliseconds, kMicroseconds, kNanoseconds };

struct MappedWay {
  std::vector<MappedPart> parts;
  std::string match;        // a regular expression with one group; empty: the whole text
  std::uint32_t first = 0;  // only so many bytes; 0: all
  bool coerce = false;      // text that reads as a number or a boolean is one, a number is a name
  TimeUnit unit = TimeUnit::kMilliseconds;  // of a number as a time
};
using MappedWays = std::vector<MappedWay>;

struct MappedCondition {
  enum class Test { kPresent, kAbsent, kIs, kIsNot };
  MappedWays value;
  Test test = Test::kPresent;      // null is absent
  std::vector<std::string> texts;  // of kIs and kIsNot: any of them
  std::string reason;              // a word for the counters; empty: the list's own
};

struct MappedLoop {
  std::vector<MappedPath> in;  // the first that is there and not null
  std::string as;
  bool optional = false;  // none there: no events, and no fault
};

struct MappedNames {
  std::string name;
  MappedWays ways;
};

struct Mapping {
  enum class Encoding { kJson, kCsv, kAvro };

  std::string name;  // the preset's or the file's; "custom" where the config spells it out
  Encoding encoding = Encoding::kJson;
  std::map<std::uint32_t, std::string> schemas;  // of kAvro: what each id stands for, as the schema's own JSON
  bool coerce = false;                // of every way
  std::optional<MappedLoop> records;  // a document is cut into these; an object is one
  std::vector<std::pair<std::string, std::vector<MappedPath>>> with;  // further names of places
  std::vector<MappedLoop> each;       // nested; elements of arrays, members of objects
  std::vector<MappedNames> let;       // texts by name, each may use the ones before it
  std::map<std::string, MappedWays> fields;
  std::map<std::string, std::optional<double>> labels;  // label -> score; nothing: unscored
  std::vector<MappedCondition> skip_when, drop_when, error_when, unscored_when;
};

// What may stand under `fields`.
std::span<const std::string_view> mapped_fields();

// A template. An error's message is the problem alone.
Result<std::vector<MappedPart>> parse_template(std::string_view text);
Result<MappedPath> parse_path(std::string_view text);

// ---- Presets ----

struct Preset {
  std::string_view name, text;  // text: the YAML file, to the byte
};
// By name; native, which is no mapping, is not among them.
std::span<const Preset> presets();
// "native", then the presets' names.
std::vector<std::string> format_names();
// Of a preset. Nothing for an unknown name.
std::optional<Mapping> preset_mapping(std::string_view name);

// A mapping file's text, or every fault of it in one message, a line each.
Result<Mapping> parse_mapping(std::string_view text, const std::string& file_name);

}  // namespace gapwatch::config
