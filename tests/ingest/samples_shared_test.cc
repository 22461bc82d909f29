// The hostile samples, their values read as native events (their own field names replaced by the
// native ones), against the expected action of each.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include <fstream>

#include "ingest/decoder.h"

namespace gapwatch::ingest {
namespace {

std::string with_native_names(std::string text) {
  const std::pair<std::string, std::string> names[] = {
      {"\"suite\"", "\"eval\""}, {"\"prompt_id\"", "\"prompt\""}, {"\"policy_id\"", "\"policy\""}};
  for (const auto& [from, to] : names) {
    for (auto at = text.find(from); at != std::string::npos; at = text.find(from)) text.replace(at, from.size(), to);
  }
  return text;
}

std::vector<std::string> bad_payloads() {
  std::ifstream file(GAPWATCH_SHARED_DIR "/samples/bad/records.kcat.jsonl");
  std::vector<std::string> payloads;
  simdjson::dom::parser parser;
  for (std::string line; std::getline(file, line);) {
    payloads.push_back(with_native_names(std::string(parser.parse(line)["payload"].get_string().value())));
  }
  return payloads;
}

TEST(Samples, BadRecordsAreReadAsExpected) {
  const auto payloads = bad_payloads();
  ASSERT_EQ(payloads.size(), 7u);
  const auto decoder = make_decoder("native", {}).value();
  // From samples/expected.jsonl: reject, reject, reject, reject, skip (unscored), skip (unscored), accept.
  const char* reasons[] = {"not_json", "empty", "wrong_type", "out_of_range"};
  for (std::size_t i = 0; i < 7; ++i) {
    Record record;
    record.value = payloads[i];
    const auto& decoded = decoder->decode(record, "evals.scored");
    if (i < 4) {
      EXPECT_EQ(decoded.action, Decoded::Action::kReject) << i;
      EXPECT_EQ(decoded.reason, reasons[i]) << i;
      continue;
    }
    ASSERT_EQ(decoded.action, Decoded::Action::kAccept) << payloads[i] << decoded.detail;
    const auto& event = decoded.events[0];
    EXPECT_EQ(event.outcome, i < 6 ? state::Outcome::kUnscored : state::Outcome::kSuccess);
    EXPECT_EQ(event.prompt, "geo-9");
    EXPECT_EQ(event.draw, 0u);
    if (i == 6) {
      EXPECT_EQ(event.policy, "seed-1\"} 1\nevil_metric 9");
    }
  }
}

}  // namespace
}  // namespace gapwatch::ingest
