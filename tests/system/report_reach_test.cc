// Every statistic that docs/STATISTICS.md lists is in the report, where the list says.
#include <simdjson.h>

#include <sstream>

#include "base/random.h"
#include "tests/support/process.h"
#include "tests/support/temp_dir.h"

namespace gapwatch {
namespace {

using testing::run_to_end;
using testing::TempDir;
using testing::write_file;

struct Place {
  std::string statistic, pointer, text;
  bool of_report = false;
};

// The rows of the table under "Where each is in a report".
std::vector<Place> places() {
  const auto document = testing::read_file(GAPWATCH_SOURCE_DIR "/docs/STATISTICS.md");
  const auto at = document.find("## Where each is in a report");
  std::istringstream lines(at == std::string::npos ? std::string() : document.substr(at));
  std::vector<Place> out;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| ") || line.find("`/") == std::string::npos) continue;
    const auto first = line.find(" | "), second = line.find(" | ", first + 3);
    Place place{line.substr(2, first - 2), line.substr(first + 3, second - first - 3), line.substr(second + 3), false};
    place.pointer = place.pointer.substr(1, place.pointer.size() - 2);
    place.text = place.text.substr(0, place.text.size() - 2);
    place.of_report = place.statistic.find("(report)") != std::string::npos;
    out.push_back(place);
  }
  return out;
}

// Four policies, 40 prompts in two slices, 8 draws, two scorers (the second is the stricter), one router.
std::string events() {
  std::string out;
  CounterRandom random(7);
  for (int i = 0; i < 40; ++i) {
    const auto prompt = "p" + std::to_string(100 + i);
    const std::string slice = i % 2 == 0 ? "even" : "odd";
    const double difficulty = uniform(random);
    for (int m = 0; m < 4; ++m) {
      const double rate = i % 9 == m ? 0.8 : difficulty * 0.7;
      for (int j = 0; j < 8; ++j) {
        const bool correct = uniform(random) < rate, strict = correct && uniform(random) < 0.8;
        for (const auto& [scorer, judged] : {std::pair{"loose", correct}, std::pair{"strict", strict}}) {
          out += R"({"eval":"e","scorer":")" + std::string(scorer) + R"(","slice":")" + slice + R"(","prompt":")" + prompt +
                 R"(","policy":"m)" + std::to_string(m) + R"(","draw":)" + std::to_string(j) + R"(,"correct":)" +
                 (judged ? "1" : "0") + R"(,"answer":")" + (correct ? "right" : "wrong" + std::to_string(j % 3)) + "\"}\n";
        }
      }
    }
    out += R"({"type":"route","eval":"e","router":"knn","prompt":")" + prompt + R"(","policy":"m)" +
           std::to_string(i % 4) + "\"}\n";
  }
  return out;
}

constexpr const char* kConfig = R"(
monitors:
  - {name: loose, eval: e, scorer: loose, thresholds: [0.2, 0.5], rates: posterior,
     pool: {policies: [m0, m1, m2, m3], groups: {m0: A, m1: A}}}
  - {name: strict, eval: e, scorer: strict, thresholds: [0.2, 0.5],
     pool: {policies: [m0, m1, m2, m3]}}
)";

class Reports : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    dir_ = std::make_unique<TempDir>();
    write_file(dir_->path() / "events.jsonl", events());
    write_file(dir_->path() / "gapwatch.yaml", kConfig);
  }
  static void TearDownTestSuite() { dir_.reset(); }
  static std::string report(std::vector<std::string> more) {
    std::vector<std::string> arguments{GAPWATCH_BINARY, "report", (dir_->path() / "events.jsonl").string(), "--config",
                                       (dir_->path() / "gapwatch.yaml").string(), "--replicates", "99"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto ran = run_to_end(arguments, dir_->path());
    EXPECT_EQ(ran.status, 0) << ran.err;
    return ran.out;
  }
  static std::unique_ptr<TempDir> dir_;
};
std::unique_ptr<TempDir> Reports::dir_;

TEST_F(Reports, TheJsonHasEveryStatistic) {
  simdjson::dom::parser parser;
  const simdjson::padded_string json(report({"--format", "json"}));
  const auto root = parser.parse(json).value();
  const auto monitor = root.at_pointer("/monitors/0").value();
  ASSERT_EQ(monitor["name"].get_string().value(), "loose");
  const auto listed = places();
  EXPECT_GE(listed.size(), 60u);
  for (const auto& place : listed) {
    auto found = place.of_report ? root.at_pointer(place.pointer) : monitor.at_pointer(place.pointer);
    ASSERT_FALSE(found.error()) << place.statistic << ": " << place.pointer;
    EXPECT_FALSE(found.value().is_null()) << place.statistic << ": " << place.pointer;
  }
}

TEST_F(Reports, TextAndMarkdownHaveEveryStatistic) {
  for (const char* format : {"text", "markdown"}) {
    const auto text = report({"--format", format, "--detail"});
    for (const auto& place : places()) {
      EXPECT_NE(text.find(place.text), std::string::npos) << place.statistic << ": " << place.text << " in " << format;
    }
  }
}

TEST_F(Reports, TheShortTextStaysShort) {
  const auto text = report({}), whole = report({"--detail"});
  EXPECT_LT(text.size() * 2, whole.size());
  EXPECT_EQ(text.find("All subpools"), std::string::npos);
}

TEST_F(Reports, ComparatorsAreChosenOnOtherSlices) {
  simdjson::dom::parser parser;
  const simdjson::padded_string json(report({"--format", "json", "--by", "slice"}));
  const auto root = parser.parse(json).value();
  bool elsewhere = false;
  const simdjson::dom::array monitors = root["monitors"].get_array().value();
  for (const auto monitor : monitors) {
    if (monitor["name"].get_string().value() != "loose/even") continue;
    const simdjson::dom::array comparators = monitor["comparators"].get_array().value();
    for (const auto one : comparators) {
      if (one["chosen_on"].get_string().value() != "loose/odd") continue;
      elsewhere = true;
      EXPECT_FALSE(one["same_data"].get_bool().value());
      const double total = one["total"].get_double().value();
      EXPECT_NEAR(total, one["recoverable"].get_double().value() + one["noise"].get_double().value(), 1e-12);
    }
  }
  EXPECT_TRUE(elsewhere);
}

TEST_F(Reports, ScorersStandSideBySide) {
  simdjson::dom::parser parser;
  const simdjson::padded_string json(report({"--format", "json"}));
  const auto scorers = parser.parse(json).value().at_pointer("/scorers/0").value();
  EXPECT_EQ(scorers["span_is"].get_string().value(), "sensitivity, not error");
  EXPECT_EQ(scorers.at_pointer("/scorers/0").get_string().value(), "loose");
  const auto span = scorers.at_pointer("/spans/0").value();
  EXPECT_EQ(span["statistic"].get_string().value(), "pass_at_1_best");
  const double loose = span.at_pointer("/values/0").get_double().value();
  const double strict = span.at_pointer("/values/1").get_double().value();
  EXPECT_GT(loose, strict);
  EXPECT_NEAR(span["span"].get_double().value(), loose - strict, 1e-12);
}

}  // namespace
}  // namespace gapwatch
