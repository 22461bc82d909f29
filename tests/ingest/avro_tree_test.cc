// Avro against bytes written by hand from the specification.

#include "ingest/avro_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace gapwatch::ingest {
namespace {

using ::testing::HasSubstr;

using Schemas = std::map<std::uint32_t, std::string>;

constexpr const char* kSchema = R"({"type":"record","name":"R","namespace":"n","fields":[
 {"name":"s","type":"string"},
 {"name":"i","type":"int"},
 {"name":"u","type":["null","boolean",{"type":"enum","name":"E","symbols":["A","B"]}]},
 {"name":"d","type":"double"},
 {"name":"f","type":"float"},
 {"name":"a","type":{"type":"array","items":{"type":"record","name":"In","fields":[{"name":"x","type":"long"}]}}},
 {"name":"m","type":{"type":"map","values":"n.In"}},
 {"name":"b","type":"bytes"},
 {"name":"z","type":{"type":"fixed","name":"F","size":2}},
 {"name":"t","type":{"type":"long","logicalType":"timestamp-millis"}}]})";

// s "hi", i -3, u enum B, d 0.5, f NaN, a [{x 1}, {x 64}] in a block with its size, m {"k": {x 2}}, b ff, z "ok", t 150.
const std::string kRecord("\x00\x00\x00\x00\x07" "\x04hi" "\x05" "\x04\x02" "\x00\x00\x00\x00\x00\x00\xe0\x3f"
                          "\x00\x00\xc0\x7f" "\x03\x06\x02\x80\x01\x00" "\x02\x02k\x04\x00" "\x02\xff" "ok" "\xac\x02",
                          40);

class Avro : public ::testing::Test {
 protected:
  std::string shown(JsonTree::Id id) const {
    const auto& node = tree_.at(id);
    std::string out = node.key.empty() ? "" : std::string(node.key) + ":";
    switch (node.raw.kind) {
      case Kind::kNull: return out + "null";
      case Kind::kTrue: return out + "true";
      case Kind::kFalse: return out + "false";
      case Kind::kNotFinite: return out + "NaN";
      case Kind::kObject:
      case Kind::kArray: break;
      default: return out + std::string(node.raw.text);
    }
    out += node.raw.kind == Kind::kObject ? "{" : "[";
    for (auto at = node.first; at != JsonTree::kNone; at = tree_.at(at).next) out += shown(at) + (tree_.at(at).next == JsonTree::kNone ? "" : " ");
    return out + (node.raw.kind == Kind::kObject ? "}" : "]");
  }
  std::string read(std::string_view value) {
    const auto fault = reader_.read(value, tree_, texts_);
    return fault ? std::string(word(fault->reason)) : shown(JsonTree::kRoot);
  }

  AvroReader reader_{Schemas{{7, kSchema},
                             {8, "{\"type\":\"string\"}"},
                             {9, "{"},
                             {10, R"({"type":"record","name":"R","fields":[{"name":"x","type":"Y"}]})"}}};
  JsonTree tree_;
  std::deque<std::string> texts_;
};

TEST_F(Avro, ReadsEveryType) {
  EXPECT_EQ(read(kRecord), "{s:hi i:-3 u:B d:0.5 f:NaN a:[{x:1} {x:64}] m:{k:{x:2}} b:null z:ok t:150}");
}

TEST_F(Avro, EveryBeginningOfARecordAndOneByteMoreIsRefused) {
  EXPECT_EQ(read(""), "empty");
  for (std::size_t size = 1; size < kRecord.size(); ++size) EXPECT_EQ(read(std::string_view(kRecord).substr(0, size)), "not_avro") << size;
  EXPECT_EQ(read(kRecord + "x"), "not_avro");
}

TEST_F(Avro, FramesAndSchemasThatAreNotKnown) {
  EXPECT_EQ(read(std::string("\x01\x00\x00\x00\x07", 5)), "unknown_magic");
  EXPECT_EQ(read("{\"prompt\":1}"), "unknown_magic");
  for (const char id : {'\x06', '\x08', '\x09', '\x0a'}) EXPECT_EQ(read(std::string("\x00\x00\x00\x00", 4) + id), "unknown_schema") << int{id};
  const auto fault = reader_.read(std::string_view("\x00\x00\x00\x00\x0a", 5), tree_, texts_);
  EXPECT_THAT(fault->detail, HasSubstr("the type Y is not declared"));
}

// Damaged records end in a reason, in bounded time and memory.
TEST_F(Avro, DamagedRecordsAreRefusedOrRead) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 20'000; ++i) {
    auto record = kRecord;
    for (auto hits = 1 + random() % 4; hits > 0; --hits) record[5 + random() % (record.size() - 5)] = static_cast<char>(random());
    EXPECT_FALSE(read(record).empty());
    texts_.clear();
  }
}

TEST_F(Avro, ATypeThatHoldsItselfIsBoundedByDepth) {
  AvroReader reader(Schemas{{1, R"({"type":"record","name":"R","fields":[{"name":"next","type":["null","R"]}]})"}});
  std::string deep("\x00\x00\x00\x00\x01", 5);
  deep += std::string(10'000, '\x02');
  EXPECT_EQ(reader.read(deep, tree_, texts_)->reason, Reason::kTooDeep);
  const std::string shallow("\x00\x00\x00\x00\x01\x02\x02\x00", 8);
  EXPECT_FALSE(reader.read(shallow, tree_, texts_));
  EXPECT_EQ(shown(JsonTree::kRoot), "{next:{next:{next:null}}}");
}

}  // namespace
}  // namespace gapwatch::ingest
