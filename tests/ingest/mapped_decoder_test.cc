// What a mapping makes of records, by small mappings of the tests' own and by the presets.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/mapping.h"
#include "ingest/decoder.h"
#include "ingest/draw_id.h"

namespace gapwatch::ingest {
namespace {

using Action = Decoded::Action;
using state::Outcome;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Headers final : public HeaderReader {
 public:
  explicit Headers(std::vector<Header> all) : all_(std::move(all)) {}
  std::span<const Header> headers_of(const Record&) const override { return all_; }

 private:
  std::vector<Header> all_;
};

class MappedDecoderTest : public ::testing::Test {
 protected:
  void use(const std::string& yaml) {
    const auto mapping = config::parse_mapping(yaml, "test.yaml");
    ASSERT_TRUE(mapping) << mapping.error().message;
    decoder_ = make_mapped_decoder(*mapping, defaults_);
  }
  void preset(const std::string& name) { decoder_ = make_decoder(name, defaults_).value(); }

  const Decoded& read(std::string value) {
    text_ = std::move(value);
    record_.value = text_;
    record_.context = &context_;
    return decoder_->decode(record_, "the-eval");
  }
  // The only event of an accepted record.
  state::Event event(std::string value) {
    const auto& decoded = read(std::move(value));
    EXPECT_EQ(decoded.action, Action::kAccept) << decoded.reason << ": " << decoded.detail;
    EXPECT_EQ(decoded.events.size(), 1u);
    return decoded.events.empty() ? state::Event() : decoded.events[0];
  }
  std::string refusal(std::string value) {
    const auto& decoded = read(std::move(value));
    return decoded.action == Action::kReject ? std::string(decoded.reason) : "not refused";
  }

  config::EventDefaults defaults_;
  RecordContext context_;
  Record record_;
  std::string text_;
  std::unique_ptr<Decoder> decoder_;
};

constexpr const char* kPlain = R"(
fields: {prompt: "{/p}", policy: "{/m}", draw: "{/d}", draw_id: "{/run}", value: "{/v}", ts: "{/t}", scorer: "{/s}"}
labels: {good: 1, bad: 0, half: 0.5, refused: null}
)";

// What a parser keeps of the text before must not be taken for the rest of one that breaks off.
TEST_F(MappedDecoderTest, ATextThatBreaksOffIsRefusedWhateverWasReadBefore) {
  const auto expect_refused = [&](const std::string& text) {
    EXPECT_THAT(refusal(text), ::testing::AnyOf("not_json", "empty")) << text;
  };
  const auto break_off = [&](const std::string& whole) {
    for (const char before : {':', ',', '"', '}', ']', '1', ' '}) {
      for (std::size_t size = 0; size < whole.size(); ++size) {
        read(std::string(200, before));
        expect_refused(whole.substr(0, size));
        read("[" + std::string(200, before) + "]");
        expect_refused(whole.substr(0, size));
      }
    }
    EXPECT_EQ(event(whole).prompt, "a");
  };
  use(kPlain);
  break_off(R"({"p":"a","m":"x","list":[{"k":true},{"v":[1,null]}],"v":true})");
  preset("native");
  break_off(R"({"prompt":"a","policy":"x","meta":[{"k":true},{"v":[1,null]}],"draw":1,"correct":true})");
}

TEST_F(MappedDecoderTest, OutcomesByTheKindOfTheValue) {
  use(kPlain);
  const auto outcome = [&](const std::string& v) { return event(R"({"p":"a","m":"x","v":)" + v + "}").outcome; };
  EXPECT_EQ(outcome("true"), Outcome::kSuccess);
  EXPECT_EQ(outcome("false"), Outcome::kFailure);
  EXPECT_EQ(outcome("1"), Outcome::kSuccess);
  EXPECT_EQ(outcome("0.0"), Outcome::kFailure);
  EXPECT_EQ(outcome("null"), Outcome::kUnscored);
  EXPECT_EQ(outcome("NaN"), Outcome::kUnscored);
  EXPECT_EQ(outcome("-Infinity"), Outcome::kUnscored);
  EXPECT_EQ(outcome("\"good\""), Outcome::kSuccess);
  EXPECT_EQ(outcome("\"bad\""), Outcome::kFailure);
  EXPECT_EQ(outcome("\"refused\""), Outcome::kUnscored);
  EXPECT_EQ(refusal(R"({"p":"a","m":"x","v":"fair"})"), "unknown_label");
  EXPECT_EQ(refusal(R"({"p":"a","m":"x","v":[1]})"), "wrong_type");
  EXPECT_EQ(refusal(R"({"p":"a","m":"x"})"), "missing_field");
  EXPECT_EQ(refusal(R"({"m":"x","v":1})"), "missing_field");
  EXPECT_EQ(refusal(R"({"p":"a","m":"x","v":1e999})"), "out_of_range");
}

TEST_F(MappedDecoderTest, AGradedScoreWaitsForAThreshold) {
  const auto* half = R"({"p":"a","m":"x","v":"half","s":"judge"})";
  use(kPlain);
  EXPECT_EQ(event(half).outcome, Outcome::kUnscored);
  EXPECT_EQ(read(half).shown[0].score, 0.5);
  defaults_.success_at_by_scorer = {{"judge", 0.5}};
  use(kPlain);
  EXPECT_EQ(event(half).outcome, Outcome::kSuccess);
  EXPECT_EQ(read(half).shown[0].score, std::nullopt);
  defaults_.success_at_by_scorer = {{"another", 0.1}};
  defaults_.success_at_by_eval = {{"the-eval", 0.6}};
  use(kPlain);
  EXPECT_EQ(event(half).outcome, Outcome::kFailure);
  defaults_.success_at_by_eval = {};
  defaults_.success_at = 0.2;
  use(kPlain);
  EXPECT_EQ(event(half).outcome, Outcome::kSuccess);
}

TEST_F(MappedDecoderTest, AThresholdGoesBeforeALabelAndALabelBeforeAGrade) {
  const auto* yaml = "fields: {prompt: a, policy: b, score: '{/v}', label: '{/l}'}\nlabels: {pass: 1, fail: 0}\n";
  use(yaml);
  EXPECT_EQ(event(R"({"v":0.4,"l":"pass"})").outcome, Outcome::kSuccess);
  EXPECT_EQ(event(R"({"v":4,"l":"relevant"})").outcome, Outcome::kUnscored);
  EXPECT_EQ(event(R"({"l":"fail"})").outcome, Outcome::kFailure);
  EXPECT_EQ(refusal(R"({"l":"relevant"})"), "unknown_label");
  EXPECT_EQ(refusal(R"({"v":"0.4"})"), "wrong_type");
  defaults_.success_at = 0.5;
  use(yaml);
  EXPECT_EQ(event(R"({"v":0.4,"l":"pass"})").outcome, Outcome::kFailure);
}

TEST_F(MappedDecoderTest, AnErrorCountsAsTheConfigSays) {
  const auto* yaml = R"(
each: {in: /scores, as: s}
fields: {prompt: p, policy: m, scorer: "{s@key}", value: "{s}"}
error_when: {value: "{/error}", present: true}
)";
  const auto* record = R"({"scores":{"a":null,"b":null},"error":{"message":"429"}})";
  use(yaml);
  EXPECT_EQ(read(record).events.size(), 2u);
  EXPECT_EQ(read(record).events[0].outcome, Outcome::kUnscored);
  EXPECT_EQ(read(record).reason, "error");
  defaults_.errors = config::ErrorOutcome::kSkip;
  defaults_.errors_by_scorer = {{"b", config::ErrorOutcome::kFailure}};
  use(yaml);
  ASSERT_EQ(read(record).events.size(), 1u);
  EXPECT_EQ(read(record).events[0].scorer, "b");
  EXPECT_EQ(read(record).events[0].outcome, Outcome::kFailure);
  const auto& without = read(R"({"scores":null,"error":1})");
  EXPECT_EQ(without.action, Action::kSkip);
  EXPECT_EQ(without.reason, "error");
  EXPECT_EQ(refusal(R"({"scores":null})"), "missing_field");
}

TEST_F(MappedDecoderTest, OneRecordHasManyEventsAndOneThatIsBadLeavesTheOthers) {
  use("each: [{in: /g, as: g}, {in: g/rows, as: r}]\nfields: {prompt: '{r/p}', policy: '{g/m}', correct: '{r/c}', draw: '{r@index}'}\n");
  const auto& decoded = read(R"({"g":[{"m":"x","rows":[{"p":"a","c":1},{"p":"b"}]},{"m":"y","rows":[{"p":"a","c":false}]}]})");
  EXPECT_EQ(decoded.action, Action::kAccept);
  ASSERT_EQ(decoded.events.size(), 2u);
  EXPECT_EQ(decoded.events[0].policy, "x");
  EXPECT_EQ(decoded.events[1].policy, "y");
  EXPECT_EQ(decoded.events[1].draw, 0u);
  ASSERT_EQ(decoded.faults.size(), 1u);
  EXPECT_EQ(decoded.faults[0].reason, Reason::kMissingField);
  EXPECT_FALSE(decoded.more);
}

TEST_F(MappedDecoderTest, ADocumentIsReadPartByPart) {
  use("records: {in: /rows, as: r}\nskip_when: {value: '{r/cached}', is: true, reason: cached}\n"
      "fields: {prompt: '{r/p}', policy: '{/m}', correct: '{r/c}'}\n");
  std::vector<std::string> seen;
  const auto* decoded = &read(R"({"m":"x","rows":[{"p":"a","c":1},{"p":"b","c":1,"cached":true},{"p":3,"c":0},{"p":"d"}]})");
  for (;; decoded = &decoder_->next()) {
    seen.push_back(decoded->action == Action::kAccept ? std::string(decoded->events[0].prompt) : std::string(decoded->reason));
    if (!decoded->more) break;
  }
  EXPECT_THAT(seen, ElementsAre("a", "cached", "3", "missing_field"));
  EXPECT_EQ(refusal(R"({"m":"x"})"), "missing_field");
  EXPECT_EQ(read(R"({"rows":[]})").reason, "no_events");
}

TEST_F(MappedDecoderTest, DropsAndEmptyRecordsAreSkipsWithAReason) {
  use("each: {in: /e, as: e}\ndrop_when: {value: '{e/type}', is_not: [score, grade], reason: other_event}\n"
      "fields: {prompt: '{e/p}', policy: x, correct: '{e/c}'}\n");
  EXPECT_EQ(read(R"({"e":[{"type":"trace"}]})").reason, "other_event");
  EXPECT_EQ(event(R"({"e":[{"type":"trace"},{"type":"grade","p":"a","c":1}]})").prompt, "a");
  EXPECT_EQ(event(R"({"e":[{"p":"a","c":1}]})").prompt, "a") << "nothing is neither is nor is_not";
  EXPECT_EQ(read(R"({"e":[]})").reason, "no_events");
  EXPECT_EQ(read(R"({"e":[]})").action, Action::kSkip);
}

TEST_F(MappedDecoderTest, AnOpaqueDrawIsHashedTheSameForEver) {
  use(kPlain);
  const auto draw = event(R"({"p":"a","m":"x","v":1,"run":"20260818_101500"})").draw;
  EXPECT_EQ(draw, draw_of("20260818_101500"));
  EXPECT_EQ(read(text_).shown[0].draw_id, "20260818_101500");
  // FNV-1a 64 of these bytes is 0x0e5040dac06dea00 before the finalizer; worked out in Python.
  EXPECT_EQ(draw_of("tr-9001"), 0xa55a98a4ccf1fe28u);
  EXPECT_EQ(draw_of("") >> 63, 1u);
  EXPECT_EQ(event(R"({"p":"a","m":"x","v":1,"d":7,"run":"r"})").draw, 7u) << "an index goes before an id";
  EXPECT_EQ(refusal(R"({"p":"a","m":"x","v":1,"d":"7"})"), "wrong_type");
  EXPECT_EQ(refusal(R"({"p":"a","m":"x","v":1,"d":-1})"), "out_of_range");
}

TEST_F(MappedDecoderTest, TimesInTheirUnits) {
  const auto time = [&](const std::string& unit, const std::string& t) {
    use("fields: {prompt: p, policy: m, correct: true, ts: {from: '{/t}', unit: " + unit + "}}\n");
    return event("{\"t\":" + t + "}").time;
  };
  EXPECT_EQ(time("s", "1787385600.25"), 1787385600250);
  EXPECT_EQ(time("ms", "1787385600250"), 1787385600250);
  EXPECT_EQ(time("us", "1787385600250999"), 1787385600250);
  EXPECT_EQ(time("ns", "\"1787385600250999999\""), 1787385600250);
  EXPECT_EQ(time("ns", "\"2026-08-22T08:00:00.25Z\""), 1787385600250);
  EXPECT_EQ(time("ns", "\"0\""), std::nullopt);
  EXPECT_EQ(refusal(R"({"t":"yesterday"})"), "bad_time");
  EXPECT_EQ(refusal(R"({"t":-5})"), "bad_time");
}

TEST_F(MappedDecoderTest, SourcesOutsideTheValue) {
  use("fields: {eval: {from: '{topic}', match: '^evals\\.(.+)$'}, prompt: '{key}', policy: '{header:model}', correct: '{/c}', "
      "draw: '{offset}', ts: '{time}', slice: {from: '{header:tag}', first: 3}}\n");
  const Headers headers({{"model", "phi"}, {"tag", "h\xc3\xa4\xc3\xa4"}});
  context_.topic = "evals.math";
  record_.key = "p1";
  record_.offset = 12;
  record_.time = 1787385600250;
  context_.headers = &headers;
  const auto made = event(R"({"c":1})");
  EXPECT_EQ(made.eval, "math");
  EXPECT_EQ(made.prompt, "p1");
  EXPECT_EQ(made.policy, "phi");
  EXPECT_EQ(made.draw, 12u);
  EXPECT_EQ(made.time, 1787385600250);
  EXPECT_EQ(made.slice, "h\xc3\xa4") << "cut between characters";
  context_.topic = "other";
  EXPECT_EQ(event(R"({"c":1})").eval, "the-eval");
  context_.headers = nullptr;
  EXPECT_EQ(refusal(R"({"c":1})"), "missing_field");
}

TEST_F(MappedDecoderTest, HostileValues) {
  use(kPlain);
  EXPECT_EQ(refusal(""), "empty");
  EXPECT_EQ(refusal(" \n"), "empty");
  EXPECT_EQ(refusal("{\"p\":"), "not_json");
  EXPECT_EQ(refusal("{\"p\":\"a\"} x"), "not_json");
  EXPECT_EQ(refusal("3"), "not_object");
  EXPECT_EQ(refusal("\"x\""), "not_object");
  EXPECT_EQ(refusal("[1]"), "not_object");
  EXPECT_EQ(refusal("{\"p\":\"\xff\"}"), "not_utf8");
  EXPECT_EQ(refusal(std::string(100, '[') + std::string(100, ']')), "too_deep");
  EXPECT_EQ(refusal(R"({"p":"a","p":"b","m":"x","v":1})"), "duplicate_key");
  EXPECT_EQ(refusal(R"({"p":")" + std::string(600, 'a') + R"(","m":"x","v":1})"), "name_too_long");
  EXPECT_EQ(event(R"({"p":"a","m":"x","v":1,"big":123456789012345678901234567890,"q":[NaN]})").prompt, "a");
  record_.tombstone = true;
  EXPECT_EQ(read("").reason, "tombstone");
  record_.tombstone = false;
  defaults_.max_event_bytes = 1024;
  use(kPlain);
  EXPECT_EQ(refusal(R"({"p":"a","m":"x","v":1,"z":")" + std::string(2000, 'z') + "\"}"), "event_too_long");
}

TEST_F(MappedDecoderTest, AnArrayIsItsElements) {
  use(kPlain);
  const auto& first = read(R"([{"p":"a","m":"x","v":1},{"p":"b","m":"x","v":0}])");
  EXPECT_TRUE(first.more);
  EXPECT_EQ(first.events[0].prompt, "a");
  EXPECT_EQ(decoder_->next().events[0].prompt, "b");
}

TEST_F(MappedDecoderTest, CsvRows) {
  preset("csv");
  const auto made = event("prompt,policy,draw,correct,score\r\n\"a, \"\"b\"\"\",7b,3,true,\r\n");
  EXPECT_EQ(made.prompt, "a, \"b\"");
  EXPECT_EQ(made.policy, "7b");
  EXPECT_EQ(made.draw, 3u);
  EXPECT_EQ(made.outcome, Outcome::kSuccess);
  const std::string names = "prompt,policy,correct,unscored";
  context_.names = names;
  EXPECT_EQ(event("12,true,0,").prompt, "12");
  EXPECT_EQ(event("12,true,0,").policy, "true");
  EXPECT_EQ(event("p,m,,").outcome, Outcome::kUnscored);
  EXPECT_EQ(event("p,m,1,true").outcome, Outcome::kUnscored);
  EXPECT_EQ(refusal("p,m,1"), "not_csv");
  EXPECT_EQ(refusal("p,\"m,1,"), "not_csv");
  EXPECT_EQ(refusal("p,m,yes,"), "wrong_type");
  EXPECT_EQ(refusal(",m,1,"), "missing_field");
}

TEST_F(MappedDecoderTest, AnAnswerThatIsALongTextIsLeftOut) {
  use("fields: {prompt: p, policy: m, correct: true, answer: '{/a}'}\n");
  EXPECT_EQ(event(R"({"a":"42"})").answer, "42");
  EXPECT_EQ(event("{\"a\":\"" + std::string(5000, 'x') + "\"}").answer, "");
}

TEST_F(MappedDecoderTest, PropensitiesOfEveryEventStay) {
  use("each: {in: /e, as: e}\nfields: {prompt: p, policy: '{e/m}', correct: 1, propensity: '{e/w}'}\n");
  const auto& decoded = read(R"({"e":[{"m":"a","w":{"a":0.25,"b":0.75}},{"m":"b","w":{"b":0.5,"c":0.5}},{"m":"c","w":0.1}]})");
  ASSERT_EQ(decoded.events.size(), 3u);
  EXPECT_EQ(decoded.events[0].propensity, 0.25);
  EXPECT_EQ(decoded.events[0].propensities[1].policy, "b");
  EXPECT_EQ(decoded.events[0].propensities[1].weight, 0.75);
  EXPECT_EQ(decoded.events[1].propensities[1].policy, "c");
  EXPECT_EQ(decoded.events[2].propensity, 0.1);
}

}  // namespace
}  // namespace gapwatch::ingest
