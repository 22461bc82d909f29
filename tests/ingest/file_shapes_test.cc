// How files of other formats are cut into records: documents, comma-separated lines, kcat's envelopes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/ingest/recording_handler.h"
#include "tests/support/temp_dir.h"

namespace gapwatch::ingest {
namespace {

using testing::poll_to_end;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Keeps what views would lose.
class Keeper final : public testing::RecordingHandler {
 public:
  void on_records(std::span<const Record> records) override {
    RecordingHandler::on_records(records);
    for (const auto& r : records) {
      documents.push_back(r.document);
      topics.emplace_back(r.topic());
      files.emplace_back(r.file());
      names.emplace_back(r.names());
      std::string all;
      for (const auto& header : r.headers()) all += std::string(header.name) + "=" + std::string(header.value) + ";";
      headers.push_back(all);
    }
  }
  std::vector<bool> documents;
  std::vector<std::string> topics, files, names, headers;
};

class FileShapes : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& bytes) {
    const auto path = dir_.path() / name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  Keeper& read(const std::string& path, FileShape shape, std::size_t longest = 1 << 20) {
    keeper_.emplace();
    const auto source = make_file_source({path}, longest, shape).value();
    EXPECT_FALSE(poll_to_end(*source, *keeper_));
    return *keeper_;
  }

  testing::TempDir dir_;
  std::optional<Keeper> keeper_;
};

TEST_F(FileShapes, ADocumentIsAFileWhoseFirstLineIsNotWhole) {
  const std::string document = "{\n \"rows\": [\n  1\n ]\n}\n";
  EXPECT_THAT(read(write("a.json", document), FileShape::kDocuments).values(), ElementsAre(document));
  EXPECT_THAT(keeper_->documents, ElementsAre(true));
  EXPECT_THAT(keeper_->files, ElementsAre((dir_.path() / "a.json").string()));
  EXPECT_THAT(read(write("b.json", "[\n{}\n]"), FileShape::kDocuments).values(), ElementsAre("[\n{}\n]"));
  EXPECT_THAT(read(write("c.json", "{\"a\":\"{\"}\n\n{\"b\":1}"), FileShape::kDocuments).values(),
              ElementsAre("{\"a\":\"{\"}", "{\"b\":1}"));
  EXPECT_THAT(read(write("d.json", "{\"a\":\n{\"b\":1}\n"), FileShape::kDocuments).values(), ElementsAre("{\"a\":", "{\"b\":1}"))
      << "a damaged line does not make the rest a document";
  EXPECT_THAT(read(write("e.json", "\n \n"), FileShape::kDocuments).values(), IsEmpty());
  EXPECT_THAT(read(write("f.json", "{\"a\":1}"), FileShape::kDocuments).values(), ElementsAre("{\"a\":1}"));
}

TEST_F(FileShapes, ALongLineIsADocumentWhereThereIsNoOther) {
  const std::string line = "{\"a\":\"" + std::string(5000, 'x') + "\"}";
  EXPECT_THAT(read(write("a.json", line), FileShape::kDocuments, 1000).values(), ElementsAre(line));
  EXPECT_THAT(keeper_->documents, ElementsAre(true));
}

TEST_F(FileShapes, ADocumentThatWasCountedIsNotReadAgain) {
  const auto path = write("a.json", "{\n}\n");
  Keeper keeper;
  keeper.start[{path, 0}] = 1;
  const auto source = make_file_source({path}, 1 << 20, FileShape::kDocuments).value();
  EXPECT_FALSE(poll_to_end(*source, keeper));
  EXPECT_THAT(keeper.values(), IsEmpty());
}

TEST_F(FileShapes, CsvLinesEndOutsideQuotesAndKnowTheirNames) {
  const auto path = write("a.csv", "p,c\r\na,1\r\n\"b\n\"\"c\",0\n\nd,1");
  EXPECT_THAT(read(path, FileShape::kCsv).values(), ElementsAre("a,1", "\"b\n\"\"c\",0", "d,1"));
  EXPECT_THAT(keeper_->names, ElementsAre("p,c", "p,c", "p,c"));
  EXPECT_THAT(std::vector<Offset>({keeper_->seen[0].offset, keeper_->seen[1].offset, keeper_->seen[2].offset}), ElementsAre(1, 2, 4));
  Keeper later;
  later.start[{path, 0}] = 2;
  const auto source = make_file_source({path}, 1 << 20, FileShape::kCsv).value();
  EXPECT_FALSE(poll_to_end(*source, later));
  EXPECT_THAT(later.values(), ElementsAre("\"b\n\"\"c\",0", "d,1"));
  EXPECT_THAT(later.names, ElementsAre("p,c", "p,c")) << "the names come along where the file is gone on with";
}

TEST_F(FileShapes, AnEnvelopeIsOpened) {
  const auto path = write("a.kcat.jsonl", R"({"topic":"t","partition":0,"offset":5,"ts":17,"headers":["h","1","h","2"],"key":"k","payload":"{\"a\":1}"}
{"topic":"t","partition":0,"offset":6,"ts":18,"headers":[],"key":null,"payload":null}
{"topic":"t","payload":""}
{"prompt":"p"}
not json
)");
  EXPECT_THAT(read(path, FileShape::kLines).values(), ElementsAre("{\"a\":1}", "", "", "{\"prompt\":\"p\"}", "not json"));
  EXPECT_THAT(keeper_->topics, ElementsAre("t", "t", "t", "", ""));
  EXPECT_THAT(keeper_->headers, ElementsAre("h=1;h=2;", "", "", "", ""));
  EXPECT_EQ(keeper_->seen[0].key, "k");
  EXPECT_EQ(keeper_->seen[0].time, 17);
  EXPECT_TRUE(keeper_->seen[1].tombstone);
  EXPECT_FALSE(keeper_->seen[2].tombstone);
  EXPECT_EQ(keeper_->seen[0].offset, 0) << "the line, which is the place in the file";
}

}  // namespace
}  // namespace gapwatch::ingest
