#include "ingest/avro_tree.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/log.h"
#include "ingest/json_token.h"

namespace gapwatch::ingest {
namespace {

constexpr std::size_t kMostValues = 1'000'000;

enum class AvroType { kNull, kBoolean, kInteger, kFloat, kDouble, kBytes, kString, kRecord, kEnum, kArray, kMap, kUnion, kFixed };

constexpr std::pair<std::string_view, AvroType> kPrimitives[] = {
    {"null", AvroType::kNull},       {"boolean", AvroType::kBoolean}, {"int", AvroType::kInteger},
    {"long", AvroType::kInteger},    {"float", AvroType::kFloat},     {"double", AvroType::kDouble},
    {"bytes", AvroType::kBytes},     {"string", AvroType::kString}};

struct AvroNode {
  AvroType type = AvroType::kNull;
  std::vector<std::pair<std::string, std::size_t>> fields;  // of a record
  std::vector<std::string> symbols;                         // of an enum
  std::vector<std::size_t> branches;                        // of a union; the one of an array or map
  std::size_t size = 0;                                     // of a fixed
};

}  // namespace

struct AvroReader::Schema {
  std::vector<AvroNode> nodes;  // the first is the record's
  std::string fault;            // what is wrong with it
};

namespace {

// A schema's JSON into nodes. Names are known from where they are declared on.
class SchemaParser {
 public:
  SchemaParser(const JsonTree& tree, std::vector<AvroNode>& nodes, std::string& fault)
      : tree_(tree), nodes_(nodes), fault_(fault) {}

  std::size_t parse(JsonTree::Id id, int depth, const std::string& space) {
    const auto& raw = tree_.at(id).raw;
    if (depth > kMaxJsonDepth) return fail("nested too deep");
    if (raw.kind == Kind::kString) return named(std::string(raw.text), space);
    if (raw.kind == Kind::kArray) return many(AvroType::kUnion, id, depth, space);
    if (raw.kind != Kind::kObject) return fail("a type is neither a name nor a declaration");
    const auto type = text(id, "type");
    if (!type) {
      const auto inner = member(id, "type");
      return inner == JsonTree::kNone ? fail("a declaration has no type") : parse(inner, depth + 1, space);
    }
    return declared(id, *type, depth, space);
  }

 private:
  std::size_t fail(std::string why) {
    if (fault_.empty()) fault_ = std::move(why);
    return 0;
  }
  JsonTree::Id member(JsonTree::Id object, std::string_view name) const {
    auto at = tree_.at(object).first;
    while (at != JsonTree::kNone && tree_.at(at).key != name) at = tree_.at(at).next;
    return at;
  }
  std::optional<std::string> text(JsonTree::Id object, std::string_view name) const {
    const auto at = member(object, name);
    if (at == JsonTree::kNone || tree_.at(at).raw.kind != Kind::kString) return std::nullopt;
    return std::string(tree_.at(at).raw.text);
  }

  std::size_t add(AvroType type) {
    nodes_.emplace_back().type = type;
    return nodes_.size() - 1;
  }

  std::size_t named(const std::string& name, const std::string& space) {
    for (const auto& [word, type] : kPrimitives) {
      if (name == word) return add(type);
    }
    for (const auto& full : {name, space + "." + name}) {
      if (const auto at = names_.find(full); at != names_.end()) return at->second;
    }
    return fail("the type " + log::printable(name, 60) + " is not declared");
  }

  std::size_t declared(JsonTree::Id id, const std::string& type, int depth, const std::string& space) {
    if (type == "array") return one(AvroType::kArray, id, "items", depth, space);
    if (type == "map") return one(AvroType::kMap, id, "values", depth, space);
    if (type != "record" && type != "enum" && type != "fixed") return named(type, space);
    const auto name = text(id, "name");
    if (!name) return fail("a " + type + " has no name");
    auto own_space = text(id, "namespace").value_or(space);
    const auto dot = name->rfind('.');
    if (dot != std::string::npos) own_space = name->substr(0, dot);
    const auto full = dot != std::string::npos || own_space.empty() ? *name : own_space + "." + *name;
    const auto node = add(type == "record" ? AvroType::kRecord : type == "enum" ? AvroType::kEnum : AvroType::kFixed);
    names_[full] = node;
    if (type == "record") fill_record(node, id, depth, own_space);
    if (type == "enum") fill_enum(node, id);
    if (type == "fixed") fill_fixed(node, id);
    return node;
  }

  void fill_record(std::size_t node, JsonTree::Id id, int depth, const std::string& space) {
    const auto list = member(id, "fields");
    if (list == JsonTree::kNone || tree_.at(list).raw.kind != Kind::kArray) return void(fail("a record has no fields"));
    for (auto at = tree_.at(list).first; at != JsonTree::kNone; at = tree_.at(at).next) {
      const bool object = tree_.at(at).raw.kind == Kind::kObject;
      const auto name = object ? text(at, "name") : std::nullopt;
      const auto type = object ? member(at, "type") : JsonTree::kNone;
      if (!name || type == JsonTree::kNone) return void(fail("a field has no name or no type"));
      const auto parsed = parse(type, depth + 1, space);
      nodes_[node].fields.emplace_back(*name, parsed);
    }
  }

  void fill_enum(std::size_t node, JsonTree::Id id) {
    const auto list = member(id, "symbols");
    if (list == JsonTree::kNone) return void(fail("an enum has no symbols"));
    for (auto at = tree_.at(list).first; at != JsonTree::kNone; at = tree_.at(at).next) {
      nodes_[node].symbols.emplace_back(tree_.at(at).raw.text);
    }
  }

  void fill_fixed(std::size_t node, JsonTree::Id id) {
    const auto at = member(id, "size");
    if (at == JsonTree::kNone || tree_.at(at).raw.kind != Kind::kInteger) return void(fail("a fixed has no size"));
    nodes_[node].size = tree_.at(at).raw.value;
  }

  std::size_t one(AvroType type, JsonTree::Id id, std::string_view of, int depth, const std::string& space) {
    const auto inner = member(id, of);
    if (inner == JsonTree::kNone) return fail("an array or map does not say of what");
    const auto node = add(type);
    const auto parsed = parse(inner, depth + 1, space);
    nodes_[node].branches.push_back(parsed);
    return node;
  }

  std::size_t many(AvroType type, JsonTree::Id id, int depth, const std::string& space) {
    const auto node = add(type);
    for (auto at = tree_.at(id).first; at != JsonTree::kNone; at = tree_.at(at).next) {
      const auto parsed = parse(at, depth + 1, space);
      nodes_[node].branches.push_back(parsed);
    }
    return node;
  }

  const JsonTree& tree_;
  std::vector<AvroNode>& nodes_;
  std::string& fault_;
  std::map<std::string, std::size_t> names_;
};

// One value's bytes into a tree. The first thing wrong ends it.
class BinaryWalk {
 public:
  BinaryWalk(std::string_view bytes, const std::vector<AvroNode>& nodes, JsonTree& tree, std::deque<std::string>& texts)
      : left_(bytes), nodes_(nodes), tree_(tree), texts_(texts) {}

  std::optional<Fault> run() {
    tree_.begin(Kind::kObject);
    fill_record(0, JsonTree::kRoot, 0);
    if (!fault_ && !left_.empty()) fail("something follows the record");
    return fault_;
  }

 private:
  using Id = JsonTree::Id;

  bool fail(std::string_view why) {
    if (!fault_) fault_ = Fault{Reason::kNotAvro, std::string(why)};
    return false;
  }

  bool read_long(std::int64_t& out) {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (left_.empty()) return fail("it ends early");
      const auto byte = static_cast<unsigned char>(left_.front());
      left_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if ((byte & 0x80) != 0) continue;
      out = static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
      return true;
    }
    return fail("a number is longer than 64 bits");
  }

  bool read_bytes(std::uint64_t size, std::string_view& out) {
    if (size > left_.size()) return fail("it ends early");
    out = left_.substr(0, size);
    left_.remove_prefix(size);
    return true;
  }
  bool read_sized(std::string_view& out) {
    std::int64_t size = 0;
    if (!read_long(size)) return false;
    return size < 0 ? fail("a length is negative") : read_bytes(static_cast<std::uint64_t>(size), out);
  }

  bool read_text(std::string_view& out) {
    if (!read_sized(out)) return false;
    return simdjson::validate_utf8(out.data(), out.size()) || fail("a string is not valid UTF-8");
  }

  // A value of this type below `parent`, behind `last`.
  bool add(std::size_t type, Id parent, Id& last, std::string_view key, int depth) {
    if (depth > kMaxJsonDepth || ++values_ > kMostValues) {
      fault_ = fault_ ? fault_ : Fault{Reason::kTooDeep, "nested too deep, or more than a million values"};
      return false;
    }
    const auto& node = nodes_[type];
    switch (node.type) {
      case AvroType::kUnion: {
        std::int64_t branch = 0;
        if (!read_long(branch)) return false;
        if (branch < 0 || static_cast<std::uint64_t>(branch) >= node.branches.size()) return fail("a union has no such branch");
        return add(node.branches[static_cast<std::size_t>(branch)], parent, last, key, depth + 1);
      }
      case AvroType::kRecord: last = tree_.add(parent, last, key, {Kind::kObject, {}, 0}); return fill_record(type, last, depth);
      case AvroType::kArray: last = tree_.add(parent, last, key, {Kind::kArray, {}, 0}); return fill_blocks(node, last, depth);
      case AvroType::kMap: last = tree_.add(parent, last, key, {Kind::kObject, {}, 0}); return fill_blocks(node, last, depth);
      default: break;
    }
    Raw raw;
    if (!scalar_of(node, raw)) return false;
    last = tree_.add(parent, last, key, raw);
    return true;
  }

  bool fill_record(std::size_t type, Id id, int depth) {
    Id last = JsonTree::kNone;
    for (const auto& [name, field] : nodes_[type].fields) {
      if (!add(field, id, last, name, depth + 1)) return false;
    }
    return true;
  }

  // Blocks of elements, each with its count; a negative one has the block's size behind it. A count of 0 ends them.
  bool fill_blocks(const AvroNode& node, Id id, int depth) {
    Id last = JsonTree::kNone;
    for (;;) {
      std::int64_t count = 0, size = 0;
      if (!read_long(count) || (count < 0 && !read_long(size))) return false;
      if (count == 0) return true;
      for (auto left = count < 0 ? -static_cast<std::uint64_t>(count) : static_cast<std::uint64_t>(count); left > 0; --left) {
        std::string_view key;
        if (node.type == AvroType::kMap && !read_text(key)) return false;
        if (!add(node.branches[0], id, last, key, depth + 1)) return false;
      }
    }
  }

  bool scalar_of(const AvroNode& node, Raw& raw) {
    std::string_view bytes;
    std::int64_t number = 0;
    switch (node.type) {
      case AvroType::kNull: raw = {Kind::kNull, {}, 0}; return true;
      case AvroType::kBoolean:
        if (!read_bytes(1, bytes)) return false;
        raw = {bytes[0] != 0 ? Kind::kTrue : Kind::kFalse, {}, 0};
        return true;
      case AvroType::kInteger:
        if (!read_long(number)) return false;
        raw = {Kind::kInteger, texts_.emplace_back(std::to_string(number)), number > 0 ? static_cast<std::uint64_t>(number) : 0};
        return true;
      case AvroType::kFloat: return read_bytes(4, bytes) && real(read_real<float>(bytes), raw);
      case AvroType::kDouble: return read_bytes(8, bytes) && real(read_real<double>(bytes), raw);
      case AvroType::kEnum:
        if (!read_long(number)) return false;
        if (number < 0 || static_cast<std::uint64_t>(number) >= node.symbols.size()) return fail("an enum has no such symbol");
        raw = {Kind::kString, node.symbols[static_cast<std::size_t>(number)], 0};
        return true;
      case AvroType::kString:
        if (!read_text(bytes)) return false;
        raw = {Kind::kString, bytes, 0};
        return true;
      default: {
        if (!(node.type == AvroType::kFixed ? read_bytes(node.size, bytes) : read_sized(bytes))) return false;
        const bool text = simdjson::validate_utf8(bytes.data(), bytes.size());
        raw = {text ? Kind::kString : Kind::kNull, text ? bytes : std::string_view(), 0};
        return true;
      }
    }
  }

  template <typename T>
  static double read_real(std::string_view bytes) {
    static_assert(std::endian::native == std::endian::little, "Avro writes the low byte first");
    T value;
    std::memcpy(&value, bytes.data(), sizeof value);
    return static_cast<double>(value);
  }

  bool real(double value, Raw& raw) {
    raw = std::isfinite(value) ? Raw{Kind::kNumber, texts_.emplace_back(fmt::format("{}", value)), 0} : Raw{Kind::kNotFinite, {}, 0};
    return true;
  }

  std::string_view left_;
  const std::vector<AvroNode>& nodes_;
  JsonTree& tree_;
  std::deque<std::string>& texts_;
  std::size_t values_ = 0;
  std::optional<Fault> fault_;
};

}  // namespace

AvroReader::AvroReader(const std::map<std::uint32_t, std::string>& schemas) {
  for (const auto& [id, text] : schemas) {
    auto& schema = *(schemas_[id] = std::make_unique<Schema>());
    JsonTree tree;
    if (const auto fault = tree.parse(text)) {
      schema.fault = fault->detail;
      continue;
    }
    SchemaParser(tree, schema.nodes, schema.fault).parse(JsonTree::kRoot, 0, "");
    const bool record = !schema.nodes.empty() && schema.nodes[0].type == AvroType::kRecord;
    if (schema.fault.empty() && !record) schema.fault = "it declares no record";
  }
}

AvroReader::~AvroReader() = default;

std::optional<Fault> AvroReader::read(std::string_view value, JsonTree& tree, std::deque<std::string>& texts) {
  if (value.empty()) return Fault{Reason::kEmpty, "the value is empty"};
  if (value[0] != '\0') {
    return Fault{Reason::kUnknownMagic, fmt::format("the first byte is 0x{:02x}, not 0x00", static_cast<unsigned char>(value[0]))};
  }
  if (value.size() < 5) return Fault{Reason::kNotAvro, "it ends within the schema's id"};
  std::uint32_t id = 0;
  for (std::size_t i = 1; i < 5; ++i) id = id << 8 | static_cast<unsigned char>(value[i]);
  const auto schema = schemas_.find(id);
  if (schema == schemas_.end()) return Fault{Reason::kUnknownSchema, fmt::format("the mapping has no schema of id {}", id)};
  const auto& [nodes, fault] = *schema->second;
  if (!fault.empty()) return Fault{Reason::kUnknownSchema, fmt::format("the schema of id {} cannot be used: {}", id, fault)};
  return BinaryWalk(value.substr(5), nodes, tree, texts).run();
}

}  // namespace gapwatch::ingest
