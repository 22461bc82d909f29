#include "ingest/dead_letters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/log.h"
#include "ingest/memory_source.h"
#include "ingest/pipeline.h"
#include "state/ledger.h"
#include "tests/ingest/recording_handler.h"
#include "tests/support/temp_dir.h"

namespace gapwatch::ingest {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const PartitionName kScores{"scores", 2};

class FileLetters : public ::testing::Test {
 protected:
  FileLetters() {
    settings_.dead_letters.file = dir_.path() / "dead.kcat.jsonl";
    letters_ = make_dead_letters(settings_).value();
  }
  std::string bytes() const {
    std::ifstream in(settings_.dead_letters.file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  testing::TempDir dir_;
  config::Settings settings_;
  std::unique_ptr<DeadLetters> letters_;
};

TEST_F(FileLetters, ALetterIsTheRecordItsPlaceAndTheReason) {
  Record record;
  record.offset = 17;
  record.time = 1'790'000'000'000;
  record.key = "k\"";
  record.value = "{\"a\":\n";
  letters_->put(kScores, record, "not_json", "it\nends " + std::string(1'000, 'x'));
  EXPECT_EQ(bytes(), "") << "nothing before a flush";
  ASSERT_TRUE(letters_->flush());
  EXPECT_THAT(bytes(), HasSubstr(R"({"topic":"scores","partition":2,"offset":17,"ts":1790000000000,"headers":[],"key":"k\"",)"
                                 R"("payload":"{\"a\":\u000a","reason":"not_json","detail":"it)"));
  EXPECT_LT(bytes().size(), 600u);
  EXPECT_EQ(letters_->written(), 1u);
  ASSERT_TRUE(letters_->flush());
  EXPECT_EQ(letters_->written(), 1u);
}

TEST_F(FileLetters, TheFileIsReadBackAsRecords) {
  Record record;
  record.value = "rubbish";
  letters_->put(kScores, record, "not_json", "");
  const std::string binary("\xff\x00\x01", 3);
  record.value = binary;
  record.offset = 1;
  letters_->put(kScores, record, "not_utf8", "");
  ASSERT_TRUE(letters_->flush());
  testing::RecordingHandler handler;
  const auto source = make_file_source({settings_.dead_letters.file}).value();
  EXPECT_FALSE(testing::poll_to_end(*source, handler));
  EXPECT_THAT(handler.values(), ElementsAre("rubbish", binary));
}

TEST_F(FileLetters, ADocumentIsNotCopied) {
  Record record;
  record.document = true;
  record.value = "{...}";
  letters_->put({"runs/a.json", 0}, record, "missing_field", "row 7");
  ASSERT_TRUE(letters_->flush());
  EXPECT_THAT(bytes(), HasSubstr(R"("topic":"runs/a.json")"));
  EXPECT_THAT(bytes(), HasSubstr(R"("payload":null)"));
}

TEST_F(FileLetters, AFullDeviceIsSaidAndTriedAgain) {
  settings_.dead_letters.file = "/dev/full";
  const auto full = make_dead_letters(settings_).value();
  full->put(kScores, {}, "empty", "");
  const auto status = full->flush();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().action, Action::kRetry);
  EXPECT_THAT(status.error().message, HasSubstr("/dev/full cannot be written"));
  EXPECT_EQ(full->written(), 0u);
  EXPECT_FALSE(full->flush()) << "the letter is still there";
}

TEST(MakeDeadLetters, OpensOrRefuses) {
  config::Settings settings;
  EXPECT_EQ(make_dead_letters(settings).value(), nullptr);
  settings.dead_letters.file = "/nowhere/at/all";
  EXPECT_THAT(make_dead_letters(settings).error().message, HasSubstr("/nowhere/at/all cannot be written"));
  settings.dead_letters = {"letters", ""};
  EXPECT_THAT(make_dead_letters(settings).error().message, HasSubstr("needs a source.kafka"));
}

// Keeps letters, or fails to.
class FakeLetters final : public DeadLetters {
 public:
  bool broken = false;
  std::vector<std::string> kept;

 private:
  Wrote write(std::span<const Letter> letters) override {
    if (broken) return {0, retry("no room for letters")};
    for (const auto& letter : letters) kept.push_back(letter.reason + "@" + std::to_string(letter.offset));
    return {letters.size(), {}};
  }
};

TEST(DeadLettersAndPositions, APositionWaitsForTheLettersBelowIt) {
  log::set_level(log::Level::kOff);
  const auto topic = std::make_shared<MemoryTopic>();
  topic->append(kScores, R"({"prompt":"p","policy":"m","draw":0,"correct":1})");
  topic->append(kScores, "rubbish");
  topic->append(kScores, R"({"prompt":"p","policy":"m","draw":1,"correct":2})");
  const config::Settings settings;
  state::MemoryStore store;
  ManualClock clock(0);
  MemorySource source(topic);
  const auto decoder = make_decoder("native", {}).value();
  state::Ledger ledger(settings, &store);
  ASSERT_TRUE(ledger.open());
  FakeLetters letters;
  Pipeline pipeline(source, *decoder, ledger, clock, milliseconds(1'000), &letters);
  source.assign(kScores);
  letters.broken = true;
  ASSERT_TRUE(pipeline.step(milliseconds(0)));
  clock.advance(milliseconds(1'500));
  ASSERT_TRUE(pipeline.step(milliseconds(0)));
  EXPECT_TRUE(source.paused());
  EXPECT_EQ(pipeline.trouble(), "no room for letters");
  EXPECT_THAT(topic->committed, IsEmpty());
  EXPECT_EQ(store.entries().size(), 1u) << "only the format's mark";
  letters.broken = false;
  clock.advance(milliseconds(1'500));
  ASSERT_TRUE(pipeline.step(milliseconds(0)));
  EXPECT_FALSE(source.paused());
  EXPECT_EQ(pipeline.trouble(), "");
  EXPECT_THAT(letters.kept, ElementsAre("not_json@1", "out_of_range@2"));
  EXPECT_EQ(topic->committed.at(kScores), 3);
  EXPECT_EQ(pipeline.counters().dead_letters, 2u);
  log::set_level(log::Level::kInfo);
}

}  // namespace
}  // namespace gapwatch::ingest
