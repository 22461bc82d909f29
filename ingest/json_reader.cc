#include "ingest/json_reader.h"

#include <simdjson.h>

#include <fmt/format.h>

#include "base/log.h"
#include "ingest/json_scratch.h"
#include "ingest/json_token.h"

namespace gapwatch::ingest {
namespace {

namespace ondemand = simdjson::ondemand;

std::string_view says(simdjson::error_code code) { return simdjson::error_message(code); }

Fault not_json(std::string_view why) { return {Reason::kNotJson, std::string(why)}; }

// Walks one document; the first thing wrong ends the walk.
class DocumentWalk {
 public:
  explicit DocumentWalk(Fields& fields) : fields_(fields) {}

  std::optional<Fault> run(ondemand::document& document) {
    ondemand::object root;
    if (const auto code = document.get_object().get(root)) return no_object(document, code);
    for (auto field : root) {
      std::string_view key;
      ondemand::value value;
      if (!take(field, key, value)) return fault_;
      const Field name = field_of(key);
      const auto raw = read_value(value, '}', 1, entries_of(name));
      if (!raw) return fault_;
      if (name != Field::kUnknown && !fields_.put(name, *raw)) duplicate(key);
    }
    if (!document.current_location().error()) return not_json("something follows the object");
    return fault_;
  }

 private:
  static Fault no_object(ondemand::document& document, simdjson::error_code code) {
    std::string_view token;
    if (code != simdjson::INCORRECT_TYPE || document.raw_json_token().get(token)) return not_json(says(code));
    token = trimmed(token);
    const bool value = token.starts_with('[') || token.starts_with('"') || scalar(token);
    return value ? Fault{Reason::kNotObject, "the value is not an object"} : not_json("the value is no JSON");
  }

  std::vector<Entry>* entries_of(Field field) {
    if (field == Field::kPropensity) return &fields_.propensity;
    return field == Field::kWeights ? &fields_.weights : nullptr;
  }

  bool take(simdjson::simdjson_result<ondemand::field>& field, std::string_view& key, ondemand::value& value) {
    auto code = field.error();
    if (!code) code = field.unescaped_key().get(key);
    if (!code) code = field.value().get(value);
    if (code) fault_ = not_json(says(code));
    return !code;
  }

  void duplicate(std::string_view key) {
    if (!fault_) fault_ = Fault{Reason::kDuplicateKey, fmt::format("{} stands twice", log::printable(key, 64))};
  }

  std::nullopt_t fail(Fault fault) {
    fault_ = std::move(fault);
    return std::nullopt;
  }

  // Reads and checks a value with all that is in it; an object's entries go to `entries` if given.
  // `close` ends what the value stands in.
  std::optional<Raw> read_value(ondemand::value& value, char close, int depth, std::vector<Entry>* entries) {
    const std::string_view rest = value.raw_json_token();  // up to the next token
    const std::string_view token = trimmed(rest);
    if (token.empty()) return fail(not_json("a value is missing"));
    if (token.front() == '{' || token.front() == '[') {
      if (depth == kMaxJsonDepth) return fail({Reason::kTooDeep, "nested deeper than 64 levels"});
      return token.front() == '{' ? read_object(value, depth, entries) : read_array(value, depth);
    }
    // The parser is never asked to step over a scalar, so it does not look at what follows.
    const char next = *(rest.data() + rest.size());
    if (next != ',' && next != close) return fail(not_json("a comma or a closing bracket is missing"));
    if (token.front() == '"') return read_string(value, token);
    const auto raw = scalar(token);
    if (!raw) return fail(not_json(fmt::format("{} is no JSON value", log::printable(token, 32))));
    return raw;
  }

  std::optional<Raw> read_string(ondemand::value& value, std::string_view token) {
    if (token.size() >= 2 && token.back() == '"' && token.find('\\') == token.npos) {
      return Raw{Kind::kString, token.substr(1, token.size() - 2), 0};
    }
    std::string_view text;
    if (const auto code = value.get_string().get(text)) return fail(not_json(says(code)));
    return Raw{Kind::kString, text, 0};
  }

  std::optional<Raw> read_object(ondemand::value& value, int depth, std::vector<Entry>* entries) {
    ondemand::object object;
    if (const auto code = value.get_object().get(object)) return fail(not_json(says(code)));
    for (auto field : object) {
      std::string_view key;
      ondemand::value inner;
      if (!take(field, key, inner)) return std::nullopt;
      const auto raw = read_value(inner, '}', depth + 1, nullptr);
      if (!raw) return std::nullopt;
      if (entries != nullptr) entries->push_back({key, *raw});
    }
    return Raw{Kind::kObject, {}, 0};
  }

  std::optional<Raw> read_array(ondemand::value& value, int depth) {
    ondemand::array array;
    if (const auto code = value.get_array().get(array)) return fail(not_json(says(code)));
    for (auto element : array) {
      ondemand::value inner;
      if (const auto code = element.get(inner)) return fail(not_json(says(code)));
      if (!read_value(inner, ']', depth + 1, nullptr)) return std::nullopt;
    }
    return Raw{Kind::kArray, {}, 0};
  }

  Fields& fields_;
  std::optional<Fault> fault_;
};

}  // namespace

struct JsonReader::Impl {
  ondemand::parser parser;
  JsonScratch scratch;
};

JsonReader::JsonReader() : impl_(std::make_unique<Impl>()) {}
JsonReader::~JsonReader() = default;

std::optional<Fault> JsonReader::read(std::string_view text, Fields& fields) {
  fields.clear();
  if (trimmed(text).empty()) return Fault{Reason::kEmpty, "the value is empty"};
  ondemand::document document;
  const auto code = impl_->parser.iterate(impl_->scratch.copy(text)).get(document);
  if (code == simdjson::UTF8_ERROR) return Fault{Reason::kNotUtf8, "the value is not valid UTF-8"};
  if (code) return not_json(says(code));
  return DocumentWalk(fields).run(document);
}

}  // namespace gapwatch::ingest
