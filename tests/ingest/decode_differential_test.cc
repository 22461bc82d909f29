// The decoder against the plain reference on good events, damaged ones and noise, and its two
// readers against each other.

#include <gtest/gtest.h>

#include <random>

#include "base/log.h"
#include "ingest/decoder.h"
#include "ingest/flat_reader.h"
#include "ingest/json_reader.h"
#include "reference_decoder.h"

namespace gapwatch::ingest {
namespace {

using gapwatch::testing::Reference;
using gapwatch::testing::reference_decode;
using gapwatch::testing::ReferenceEvent;

std::map<std::string, double> as_map(std::span<const state::RouteWeight> weights) {
  std::map<std::string, double> out;
  for (const auto& entry : weights) out.emplace(entry.policy, entry.weight);
  return out;
}

ReferenceEvent as_reference(const state::Event& e) {
  constexpr const char* kKinds[] = {"draw", "retract", "counts", "route"};
  constexpr const char* kOutcomes[] = {"failure", "success", "unscored"};
  ReferenceEvent out;
  out.kind = kKinds[static_cast<int>(e.kind)];
  if (e.kind == state::EventKind::kDraw) out.outcome = kOutcomes[static_cast<int>(e.outcome)];
  out.eval = e.eval, out.scorer = e.scorer, out.prompt = e.prompt, out.policy = e.policy, out.version = e.version;
  out.slice = e.slice, out.answer = e.answer, out.id = e.id, out.router = e.router;
  out.draw = e.draw, out.successes = e.successes, out.trials = e.trials, out.time = e.time;
  out.propensity = e.propensity, out.sequence = e.sequence;
  out.weights = as_map(e.weights), out.propensities = as_map(e.propensities);
  return out;
}

class Maker {
 public:
  explicit Maker(std::uint64_t seed) : random_(seed) {}

  std::size_t below(std::size_t bound) { return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random_); }

  template <std::size_t n>
  const char* any(const char* const (&choices)[n]) {
    return choices[below(n)];
  }

  // An event, most often good, with any of the fields in any order and spacing.
  std::string event() {
    static const char* const kFields[] = {
        R"("prompt":"p1")", R"("prompt":"math500-0058")", R"("policy":"a")", R"("policy":"qwen2.5-32b")",
        R"("correct":true)", R"("correct":0)", R"("correct":1)", R"("correct":null)", R"("score":0.5)",
        R"("score":1.0)", R"("score":NaN)", R"("score":-Infinity)", R"("score":12e-1)", R"("draw":17)", R"("draw":0)",
        R"("draw":18446744073709551615)", R"("unscored":true)", R"("unscored":false)", R"("eval":"math500")",
        R"("scorer":"lexical")", R"("slice":"h\u00e9\"\n")", R"("answer":"x\\y")", R"("id":"ev-1")",
        R"("ts":1764000000007)", R"("ts":"2024-02-29T23:59:59Z")", R"("version":"v2")", R"("propensity":0.25)",
        R"("propensity":{"a":0.5,"b":0.5,"qwen2.5-32b":1})", R"("retract":true)", R"("successes":3)", R"("trials":10)",
        R"("type":"route")", R"("router":"knn")", R"("weights":{"phi-4":0.7,"gemma":0.3})", R"("sequence":41)", R"("sequence":9223372036854775808)", R"("response":"free text")",
        R"("meta":{"a":[1,2,{"b":null}],"c":NaN})", R"("n":-1.5e10)", "\"\xe4\xb8\xad\":\"\xf0\x9f\x98\x80\""};
    std::string text = "{";
    const std::size_t count = 1 + below(9);
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) text += any({",", ",", ",", ", ", " ,\n"});
      // The first three make most of the events good ones.
      text += i == 0 ? kFields[below(2)] : i == 1 ? kFields[2 + below(2)] : i == 2 ? kFields[4 + below(4)] : any(kFields);
    }
    return text + any({"}", "}", "}\n", " }", "}\r\n"});
  }

  std::string damaged(std::string text) {
    static const char* const kPieces[] = {"\"", "\\", "{", "}", "[", "]", ":", ",", "0", "-", "e", ".", "1", "null", "true",
                                          "NaN", "\\u0041", "\\ud800", "\xff", "\xc3\xa9", "\xc3", " ", "\n", "\t", "9999999999",
                                          "\"x\":1,", "\"draw\":2,", "\x01"};
    for (std::size_t edits = 1 + below(3); edits > 0; --edits) {
      const std::size_t at = below(text.size() + 1);
      switch (below(6)) {
        case 0: text.insert(at, any(kPieces)); break;
        case 1: text.erase(at, 1 + below(3)); break;
        case 2: text.insert(at, 1, static_cast<char>(below(256))); break;
        case 3: text.resize(at); break;
        case 4:
          if (at < text.size()) text[at] = static_cast<char>(below(256));
          break;
        default: text.insert(at, text.substr(below(text.size() + 1), below(12)));
      }
    }
    return text;
  }

 private:
  std::mt19937_64 random_;
};

class Differential : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  // False where the texts differ in what they are; the failure is reported.
  bool agree(const std::string& text) {
    // Memory of exactly this size: a read beyond it is a fault under AddressSanitizer.
    const std::vector<char> exact(text.begin(), text.end());
    Record record;
    record.value = {exact.data(), exact.size()};
    const auto& decoded = decoder_->decode(record, "topic");
    const Reference expected = reference_decode(text, "topic");
    const bool accepted = decoded.action == Decoded::Action::kAccept;
    EXPECT_EQ(accepted, expected.event.has_value()) << shown(text) << "\n" << decoded.reason << ": " << decoded.detail;
    if (accepted != expected.event.has_value()) return false;
    accepted_ += accepted ? 1 : 0;
    if (accepted) {
      const bool same = as_reference(decoded.events[0]) == *expected.event;
      EXPECT_TRUE(same) << shown(text);
      return same;
    }
    const bool json_reason = decoded.reason == "not_json" || decoded.reason == "not_utf8" || decoded.reason == "empty" ||
                             decoded.reason == "not_object" || decoded.reason == "too_deep" || decoded.reason == "duplicate_key";
    if (json_reason && expected.is_json && decoded.reason != "duplicate_key") {
      ADD_FAILURE() << shown(text) << " is JSON, but " << decoded.reason;
      return false;
    }
    EXPECT_TRUE(json_reason || expected.is_json) << shown(text) << "\n" << decoded.reason;
    return json_reason || expected.is_json;
  }
  // Where the quick reader reads a text, the general one reads the same.
  bool readers_agree(const std::string& text) {
    Fields quick, general;
    if (!read_flat(text, quick)) return true;
    ++quick_;
    const auto fault = reader_.read(text, general);
    EXPECT_FALSE(fault) << shown(text) << ": " << fault->detail;
    if (fault) return false;
    bool same = quick.present == general.present;
    for (std::size_t i = 0; i < kFieldCount && same; ++i) {
      const auto field = static_cast<Field>(i);
      if (!quick.has(field)) continue;
      same = quick[field].kind == general[field].kind && quick[field].value == general[field].value;
      const bool has_text = quick[field].kind == Kind::kString || quick[field].kind == Kind::kInteger || quick[field].kind == Kind::kNumber;
      same = same && (!has_text || quick[field].text == general[field].text);
    }
    EXPECT_TRUE(same) << shown(text);
    return same;
  }
  static std::string shown(const std::string& text) { return log::printable(text, 1000); }

  std::unique_ptr<Decoder> decoder_ = make_decoder("native", {}).value();
  JsonReader reader_;
  std::size_t accepted_ = 0, quick_ = 0;
};

TEST_P(Differential, GoodAndDamagedEvents) {
  Maker maker(GetParam());
  for (int i = 0; i < 20'000; ++i) {
    const std::string good = maker.event();
    const std::string bad = maker.damaged(good);
    ASSERT_TRUE(agree(good) && agree(bad) && readers_agree(good) && readers_agree(bad)) << "seed " << GetParam();
  }
  EXPECT_GT(accepted_, 5'000u);
  EXPECT_GT(quick_, 5'000u);
}

TEST_P(Differential, Noise) {
  Maker maker(GetParam() + 1000);
  static const char* const kPieces[] = {"{", "}", "[", "]", ":", ",", "\"", "\"prompt\"", "\"p\"", "1", "true", "null", "NaN", " ",
                                        "\\", "\n", "\xc3\xa9", "-", "e5", "."};
  for (int i = 0; i < 20'000; ++i) {
    std::string text = maker.below(2) == 0 ? "{" : "";
    for (std::size_t n = maker.below(20); n > 0; --n) text += maker.any(kPieces);
    ASSERT_TRUE(agree(text) && readers_agree(text)) << "seed " << GetParam();
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Differential, ::testing::Values(1, 2, 3));

}  // namespace
}  // namespace gapwatch::ingest
