// What producers write, read as the samples' own table says: every record of samples/expected.jsonl by
// `gapwatch decode`, and the counts of the same files by `gapwatch report`.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "tests/support/process.h"
#include "tests/support/temp_dir.h"

namespace gapwatch {
namespace {

namespace fs = std::filesystem;
using simdjson::dom::element;
using testing::run_to_end;

const fs::path kSamples = fs::path(GAPWATCH_SHARED_DIR) / "samples";

std::string format_of(const std::string& file) {
  if (file.starts_with("lm_eval/")) return "lm-eval";
  if (file.starts_with("inspect_ai/")) return "inspect";
  if (file.starts_with("otel/")) return "otel";
  if (file.starts_with("llmrouterbench/")) return "llmrouterbench";
  if (file.starts_with("extras/langfuse")) return "langfuse";
  return "cloudevents";  // the hostile records are of the same producer
}

// What the expected reading says of an event, as text; `ours` names the native field.
std::string shown(element event, bool ours) {
  std::ostringstream out;
  const auto field = [&](const char* theirs, const char* native) {
    element value;
    if (!event[ours ? native : theirs].get(value)) out << theirs << "=" << value << " ";
  };
  for (const auto& [theirs, native] : {std::pair("prompt", "prompt"), {"policy", "policy"}, {"draw", "draw"},
                                       {"scorer", "scorer"}, {"ts_ms", "ts"}, {"event_id", "id"}}) {
    field(theirs, native);
  }
  double score = 0;
  if (!event["score"].get(score)) out << "score=" << score << " ";
  element success;
  std::string said = "null";
  if (ours && !event["correct"].get(success)) said = success.get_bool().value() ? "1" : "0";
  if (!ours && !event["success"].get(success) && !success.is_null()) said = std::to_string(success.get_int64().value());
  out << "success=" << said;
  return out.str();
}

class DecodeSamples : public ::testing::Test {
 protected:
  // Rows of lm-eval do not name their model; the harness puts them into a folder that does.
  std::string path_of(const std::string& file) {
    if (!file.starts_with("lm_eval/samples_")) return kSamples / file;
    const auto folder = scratch_.path() / "acme__tern-7b-instruct";
    fs::create_directories(folder);
    const auto copy = folder / fs::path(file).filename();
    fs::copy_file(kSamples / file, copy, fs::copy_options::overwrite_existing);
    return copy;
  }

  // The Avro records' own mapping.
  std::string avro_mapping() const {
    const auto path = scratch_.path() / "avro.yaml";
    testing::write_file(path, "encoding: avro\nschemas: {1337: " + (kSamples / "extras" / "confluent_avro.avsc").string() +
                                  "}\nfields: {prompt: '{/prompt_id}', policy: '{/policy_id}', draw: '{/draw}', correct: "
                                  "'{/correct}', scorer: '{/scorer}', ts: '{/ts}'}\n");
    return path;
  }

  std::vector<std::string> decode(const std::string& file) {
    const auto format = file.ends_with(".hex") ? avro_mapping() : format_of(file);
    const auto ran = run_to_end({GAPWATCH_BINARY, "decode", path_of(file), "--input-format", format}, scratch_.path());
    EXPECT_EQ(ran.status, 0) << ran.err;
    std::vector<std::string> lines;
    std::istringstream in(ran.out);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }

  testing::TempDir scratch_;
};

// Only the fields that the expected reading gives are held against ours, which has more.
void expect_reading(element expected, element ours, const std::string& line) {
  EXPECT_EQ(expected["action"].get_string().value(), ours["action"].get_string().value()) << line;
  std::vector<std::string> theirs, mine;
  for (auto event : expected["events"].get_array()) theirs.push_back(shown(event, false));
  std::size_t i = 0;
  for (auto event : ours["events"].get_array()) {
    auto text = shown(event, true);
    if (i < theirs.size()) {
      for (const char* field : {"ts_ms=", "event_id="}) {  // said by us alone
        const auto at = text.find(field);
        if (at != std::string::npos && theirs[i].find(field) == std::string::npos) text.erase(at, text.find(' ', at) + 1 - at);
      }
    }
    mine.push_back(text);
    ++i;
  }
  EXPECT_EQ(mine, theirs) << line;
}

TEST_F(DecodeSamples, EveryRecordIsReadAsExpected) {
  std::map<std::string, std::vector<std::string>> by_file;
  std::ifstream expected(kSamples / "expected.jsonl");
  simdjson::dom::parser parser, other;
  std::size_t records = 0;
  for (std::string line; std::getline(expected, line);) {
    by_file[std::string(parser.parse(line)["file"].get_string().value())].push_back(line);
  }
  for (const auto& [file, lines] : by_file) {
    const auto readings = decode(file);
    ASSERT_EQ(readings.size(), lines.size()) << file;
    for (std::size_t i = 0; i < lines.size(); ++i, ++records) {
      const auto wanted = parser.parse(lines[i]).value();
      const auto ours = other.parse(readings[i]).value();
      EXPECT_EQ(ours["record"].get_uint64().value(), wanted["record"].get_uint64().value()) << readings[i];
      expect_reading(wanted, ours, readings[i]);
    }
  }
  EXPECT_EQ(records, 43u);
}

TEST_F(DecodeSamples, ReasonsAreThoseOfTheSamples) {
  simdjson::dom::parser parser;
  const auto reason = [&](const std::string& file, std::size_t record) {
    return std::string(parser.parse(decode(file).at(record))["reason"].get_string().value());
  };
  EXPECT_EQ(reason("otel/kafka_values.otlp_json.jsonl", 1), "missing_field");
  EXPECT_EQ(reason("otel/kafka_values.otlp_json.jsonl", 2), "error");
  EXPECT_EQ(reason("cloudevents/records.kcat.jsonl", 3), "tombstone");
  EXPECT_EQ(reason("llmrouterbench/aime_mini-test-Qwen3-8B-20260818_101500.json", 2), "unscored");
  EXPECT_EQ(reason("llmrouterbench/aime_mini-test-Qwen3-8B-20260819_090000.json", 0), "demo");
  EXPECT_EQ(reason("inspect_ai/2026-08-21T08-59-58-00-00_compass_B7wPz2xCr5LhEd8nSm3FgT.json", 3), "error");
  EXPECT_EQ(reason("extras/confluent_avro.hex", 2), "unknown_magic");
  const char* bad[] = {"not_json", "empty", "wrong_type", "out_of_range", "unscored", "unscored"};
  for (std::size_t i = 0; i < std::size(bad); ++i) EXPECT_EQ(reason("bad/records.kcat.jsonl", i), bad[i]) << i;
}

// The counts of a file: langfuse's second score replaces the first, so one trial stays, and it failed.
TEST_F(DecodeSamples, ReportCountsWhatDecodeShows) {
  const auto count = [&](const std::string& file) {
    const auto ran = run_to_end({GAPWATCH_BINARY, "report", path_of(file), "--input-format", format_of(file), "--format", "json",
                                 "--replicates", "20"},
                                scratch_.path());
    EXPECT_EQ(ran.status, 0) << ran.err;
    return ran.out;
  };
  simdjson::dom::parser parser;
  const auto langfuse = count("extras/langfuse_score_create.json");
  auto input = parser.parse(langfuse)["input"].value();
  EXPECT_EQ(input["applied"].get_uint64().value(), 1u);
  EXPECT_EQ(input["corrections"].get_uint64().value(), 1u);
  EXPECT_EQ(input["rejected"]["missing_field"].get_uint64().value(), 1u);
  const auto cloud = count("cloudevents/records.kcat.jsonl");
  input = parser.parse(cloud)["input"].value();
  EXPECT_EQ(input["applied"].get_uint64().value(), 2u);
  EXPECT_EQ(input["duplicates"].get_uint64().value(), 1u);
}

}  // namespace
}  // namespace gapwatch
