// `gapwatch decode` on the samples in tests/samples, against what stands beside each of them. The expected lines were
// read and agreed to one by one; a change of any is a change of what users see.
//
// To write them anew: cd tests/samples && gapwatch decode FILE --input-format F > NAME.expected.jsonl

#include <gtest/gtest.h>

#include "tests/support/process.h"
#include "tests/support/temp_dir.h"

namespace gapwatch {
namespace {

struct Sample {
  const char* format;
  const char* file;
  const char* expected;
};

const Sample kSamples[] = {
    {"lm-eval", "pine__fir-1b/samples_river_2026-09-01T08-00-00.000001.jsonl", "lm-eval.expected.jsonl"},
    {"inspect", "inspect.json", "inspect.expected.jsonl"},
    {"otel", "otel.jsonl", "otel.expected.jsonl"},
    {"cloudevents", "cloudevents.kcat.jsonl", "cloudevents.expected.jsonl"},
    {"langfuse", "langfuse.jsonl", "langfuse.expected.jsonl"},
    {"llmrouterbench", "tides-test-fir-20260901_080000.json", "llmrouterbench.expected.jsonl"},
    {"csv", "scores.csv", "csv.expected.jsonl"},
    {"native", "native.jsonl", "native.expected.jsonl"},
    {"own.yaml", "own.jsonl", "own.expected.jsonl"},
};

const std::filesystem::path kFolder = std::filesystem::path(GAPWATCH_SOURCE_DIR) / "tests" / "samples";

testing::Ran in_samples(const std::string& command) {
  const testing::TempDir scratch;
  return testing::run_to_end({"sh", "-c", "cd " + kFolder.string() + " && exec " GAPWATCH_BINARY " " + command}, scratch.path());
}

TEST(DecodeCommand, ReadsTheSamplesAsAgreed) {
  for (const auto& [format, file, expected] : kSamples) {
    const auto ran = in_samples("decode " + std::string(file) + " --input-format " + format);
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_EQ(ran.out, testing::read_file(kFolder / expected)) << file;
  }
}


TEST(DecodeCommand, SaysWhatIsWrongWithItsOptions) {
  const auto unknown = in_samples("decode own.jsonl --input-format own");
  EXPECT_EQ(unknown.status, 2);
  EXPECT_NE(unknown.err.find("format \"own\" is not known; known formats: native, cloudevents"), std::string::npos) << unknown.err;
  EXPECT_EQ(in_samples("decode own.jsonl --input-format nothing.yaml").status, 2);
  EXPECT_EQ(in_samples("decode nothing.jsonl").status, 1);
  const auto preset = in_samples("help otel");
  EXPECT_EQ(preset.status, 0);
  EXPECT_EQ(preset.out, testing::read_file(std::filesystem::path(GAPWATCH_SOURCE_DIR) / "config" / "presets" / "otel.yaml"));
}

// Each file holds one policy; a prompt is complete because they are counted together.
TEST(ReportCommand, CountsFilesOfOnePolicyEachTogether) {
  const testing::TempDir dir;
  testing::write_file(dir.path() / "a.jsonl", R"({"eval":"e","prompt":"p","policy":"a","draw":0,"correct":1})" "\n");
  testing::write_file(dir.path() / "b.jsonl", R"({"eval":"e","prompt":"p","policy":"b","draw":0,"correct":0})" "\n");
  const auto ran = testing::run_to_end({GAPWATCH_BINARY, "report", (dir.path() / "a.jsonl").string(),
                                        (dir.path() / "b.jsonl").string(), "--format", "json", "--replicates", "20"},
                                       dir.path());
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_NE(ran.out.find("\"prompts\":{\"total\":1,\"complete\":1"), std::string::npos) << ran.out.substr(0, 600);
}

}  // namespace
}  // namespace gapwatch
