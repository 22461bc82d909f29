#include "ingest/json_tree.h"

#include <simdjson.h>

#include <fmt/format.h>

#include "base/log.h"
#include "ingest/json_scratch.h"
#include "ingest/json_token.h"

namespace gapwatch::ingest {

namespace ondemand = simdjson::ondemand;

// Walks one document into the tree; the first thing wrong ends the walk.
class TreeWalk {
 public:
  explicit TreeWalk(JsonTree& tree) : tree_(tree) {}

  std::optional<Fault> run(ondemand::document& document, std::string_view text) {
    const char first = trimmed(text).front();
    if (first != '{' && first != '[') return root_fault(trimmed(text));
    ondemand::value root;
    if (const auto code = document.get_value().get(root)) return not_json(simdjson::error_message(code));
    tree_.begin(first == '{' ? Kind::kObject : Kind::kArray);
    fill(root, JsonTree::kRoot, 0);
    if (!fault_ && !document.current_location().error()) fail(not_json("something follows the document"));
    return fault_;
  }

 private:
  using Id = JsonTree::Id;

  static Fault not_json(std::string_view why) { return {Reason::kNotJson, std::string(why)}; }
  static Fault root_fault(std::string_view token) {
    const bool value = token.starts_with('"') || scalar(token);
    return value ? Fault{Reason::kNotObject, "the value is neither an object nor an array"} : not_json("the value is no JSON");
  }
  bool fail(Fault fault) {
    fault_ = std::move(fault);
    return false;
  }
  bool failed(simdjson::error_code code) { return code != simdjson::SUCCESS && !fail(not_json(simdjson::error_message(code))); }

  // What is in an object or array goes below `id`.
  bool fill(ondemand::value& value, Id id, int depth) {
    if (depth == kMaxJsonDepth) return fail({Reason::kTooDeep, "nested deeper than 64 levels"});
    return tree_.at(id).raw.kind == Kind::kObject ? fill_object(value, id, depth) : fill_array(value, id, depth);
  }

  bool fill_object(ondemand::value& value, Id id, int depth) {
    ondemand::object object;
    if (failed(value.get_object().get(object))) return false;
    Id last = JsonTree::kNone;
    for (auto field : object) {
      std::string_view key;
      ondemand::value inner;
      if (failed(field.error()) || failed(field.unescaped_key().get(key)) || failed(field.value().get(inner))) return false;
      if (!add(inner, id, last, key, '}', depth)) return false;
    }
    return true;
  }

  bool fill_array(ondemand::value& value, Id id, int depth) {
    ondemand::array array;
    if (failed(value.get_array().get(array))) return false;
    Id last = JsonTree::kNone;
    for (auto element : array) {
      ondemand::value inner;
      if (failed(element.get(inner)) || !add(inner, id, last, {}, ']', depth)) return false;
    }
    return true;
  }

  // `close` ends what the value stands in.
  bool add(ondemand::value& value, Id parent, Id& last, std::string_view key, char close, int depth) {
    const std::string_view rest = value.raw_json_token();  // up to the next token
    const std::string_view token = trimmed(rest);
    if (token.empty()) return fail(not_json("a value is missing"));
    if (token.front() == '{' || token.front() == '[') {
      last = tree_.add(parent, last, key, {token.front() == '{' ? Kind::kObject : Kind::kArray, {}, 0});
      return fill(value, last, depth + 1);
    }
    // The parser is never asked to step over a scalar, so it does not look at what follows.
    const char next = *(rest.data() + rest.size());
    if (next != ',' && next != close) return fail(not_json("a comma or a closing bracket is missing"));
    std::optional<Raw> raw;
    if (token.front() == '"') {
      raw = read_string(value, token);
    } else if (!(raw = scalar(token))) {
      fail(not_json(fmt::format("{} is no JSON value", log::printable(token, 32))));
    }
    if (raw) last = tree_.add(parent, last, key, *raw);
    return raw.has_value();
  }

  std::optional<Raw> read_string(ondemand::value& value, std::string_view token) {
    if (token.size() >= 2 && token.back() == '"' && token.find('\\') == token.npos) {
      return Raw{Kind::kString, token.substr(1, token.size() - 2), 0};
    }
    std::string_view text;
    if (failed(value.get_string().get(text))) return std::nullopt;
    return Raw{Kind::kString, text, 0};
  }

  JsonTree& tree_;
  std::optional<Fault> fault_;
};

struct JsonTree::Impl {
  ondemand::parser parser;
  JsonScratch scratch;
};

JsonTree::JsonTree() : impl_(std::make_unique<Impl>()) {}
JsonTree::~JsonTree() = default;

void JsonTree::begin(Kind root) {
  nodes_.clear();
  nodes_.emplace_back().raw.kind = root;
}

JsonTree::Id JsonTree::add(Id parent, Id last, std::string_view key, Raw raw) {
  const auto id = static_cast<Id>(nodes_.size());
  nodes_.push_back({raw, key, kNone, kNone});
  (last == kNone ? nodes_[parent].first : nodes_[last].next) = id;
  return id;
}

std::optional<Fault> JsonTree::parse(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // a byte order mark, as some editors write
  if (trimmed(text).empty()) return Fault{Reason::kEmpty, "the value is empty"};
  ondemand::document document;
  const auto code = impl_->parser.iterate(impl_->scratch.copy(text)).get(document);
  if (code == simdjson::UTF8_ERROR) return Fault{Reason::kNotUtf8, "the value is not valid UTF-8"};
  if (code) return Fault{Reason::kNotJson, std::string(simdjson::error_message(code))};
  return TreeWalk(*this).run(document, text);
}

}  // namespace gapwatch::ingest
