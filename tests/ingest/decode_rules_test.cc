// Every rule of a native event, one by one.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "ingest/decoder.h"
#include "ingest/draw_id.h"
#include "ingest/fields.h"
#include "ingest/reasons.h"

namespace gapwatch::ingest {
namespace {

using state::Event;
using state::EventKind;
using state::Outcome;
using testing::HasSubstr;

class DecodeRules : public testing::Test {
 protected:
  void use(const config::EventDefaults& defaults) { decoder_ = make_decoder("native", defaults).value(); }

  const Decoded& decode(std::string_view text) {
    Record record;
    text_ = text;
    record.value = text_;
    return decoder_->decode(record, "topic-a");
  }
  // The event of a text that must be accepted.
  const Event& event(std::string_view text) {
    const auto& decoded = decode(text);
    EXPECT_EQ(decoded.action, Decoded::Action::kAccept) << text << ": " << decoded.reason << ": " << decoded.detail;
    static const Event kNone;
    return decoded.events.size() == 1 ? decoded.events[0] : kNone;
  }
  // "reason: detail" of a text that must be rejected.
  std::string fault(std::string_view text) {
    const auto& decoded = decode(text);
    EXPECT_EQ(decoded.action, Decoded::Action::kReject) << text;
    EXPECT_TRUE(decoded.events.empty()) << text;
    return std::string(decoded.reason) + ": " + decoded.detail;
  }
  // An event that is good but for what `more` adds.
  static std::string with(std::string_view more) {
    return R"({"prompt":"p1","policy":"a","correct":true,)" + std::string(more) + "}";
  }
  static std::string judged(std::string_view how) {
    return R"({"prompt":"p1","policy":"a",)" + std::string(how) + "}";
  }

  std::unique_ptr<Decoder> decoder_ = make_decoder("native", {}).value();
  std::string text_;
};

TEST_F(DecodeRules, ReadsAllFieldsOfADraw) {
  const auto& e = event(
      R"({"eval":"math","scorer":"exact","prompt":"p1","policy":"a","version":"v2","slice":"hard","draw":7,)"
      R"("correct":true,"answer":"42","id":"ev-1","ts":1764000000007,"propensity":0.25})");
  EXPECT_EQ(e.kind, EventKind::kDraw);
  EXPECT_EQ(e.outcome, Outcome::kSuccess);
  EXPECT_EQ(e.eval, "math");
  EXPECT_EQ(e.scorer, "exact");
  EXPECT_EQ(e.prompt, "p1");
  EXPECT_EQ(e.policy, "a");
  EXPECT_EQ(e.version, "v2");
  EXPECT_EQ(e.slice, "hard");
  EXPECT_EQ(e.draw, 7u);
  EXPECT_EQ(e.answer, "42");
  EXPECT_EQ(e.id, "ev-1");
  EXPECT_EQ(e.time, 1764000000007);
  EXPECT_EQ(e.propensity, 0.25);
  EXPECT_TRUE(e.propensities.empty());
}

TEST_F(DecodeRules, FillsInDefaults) {
  const auto& e = event(R"({"prompt":"p1","policy":"a","correct":1})");
  EXPECT_EQ(e.eval, "topic-a");
  EXPECT_EQ(e.scorer, "default");
  EXPECT_FALSE(e.draw);
  EXPECT_FALSE(e.time);
  EXPECT_FALSE(e.propensity);
  EXPECT_EQ(event(with(R"("eval":"","scorer":null)")).eval, "topic-a");

  config::EventDefaults defaults;
  defaults.eval = "from-config";
  defaults.scorer = "judge";
  use(defaults);
  EXPECT_EQ(event(judged(R"("correct":0)")).eval, "from-config");
  EXPECT_EQ(event(judged(R"("correct":0)")).scorer, "judge");
  EXPECT_EQ(event(judged(R"("correct":0,"eval":"own")")).eval, "own");
}

TEST_F(DecodeRules, NothingOfOneEventReachesTheNext) {
  event(R"({"prompt":"p","policy":"a","correct":true,"draw":5,"ts":9,"slice":"s","version":"v","propensity":{"a":1}})");
  const auto& e = event(R"({"prompt":"q","policy":"b","correct":false})");
  EXPECT_FALSE(e.draw);
  EXPECT_FALSE(e.time);
  EXPECT_EQ(e.slice, "");
  EXPECT_EQ(e.version, "");
  EXPECT_FALSE(e.propensity);
  EXPECT_TRUE(e.propensities.empty());
}

TEST_F(DecodeRules, CorrectIsABooleanZeroOrOne) {
  EXPECT_EQ(event(judged(R"("correct":true)")).outcome, Outcome::kSuccess);
  EXPECT_EQ(event(judged(R"("correct":1)")).outcome, Outcome::kSuccess);
  EXPECT_EQ(event(judged(R"("correct":false)")).outcome, Outcome::kFailure);
  EXPECT_EQ(event(judged(R"("correct":0)")).outcome, Outcome::kFailure);
  EXPECT_EQ(event(judged(R"("correct":null)")).outcome, Outcome::kUnscored);
  EXPECT_EQ(fault(judged(R"("correct":2)")), "out_of_range: correct must be true, false, 0, 1 or null, not 2");
  EXPECT_THAT(fault(judged(R"("correct":0.5)")), HasSubstr("out_of_range"));
  EXPECT_THAT(fault(judged(R"("correct":1.0)")), HasSubstr("out_of_range"));
  EXPECT_THAT(fault(judged(R"("correct":-1)")), HasSubstr("out_of_range"));
  EXPECT_EQ(fault(judged(R"("correct":"true")")),
            "wrong_type: correct must be true, false, 0, 1 or null, not \"true\"");
  EXPECT_THAT(fault(judged(R"("correct":[1])")), HasSubstr("wrong_type"));
  EXPECT_THAT(fault(judged(R"("correct":{})")), HasSubstr("wrong_type"));
  EXPECT_THAT(fault(judged(R"("correct":NaN)")), HasSubstr("wrong_type"));
}

TEST_F(DecodeRules, ScoreIsASuccessFromTheEvalsBoundOn) {
  EXPECT_EQ(event(judged(R"("score":1)")).outcome, Outcome::kSuccess);
  EXPECT_EQ(event(judged(R"("score":0.999)")).outcome, Outcome::kFailure);
  EXPECT_EQ(event(judged(R"("score":-3e2)")).outcome, Outcome::kFailure);
  EXPECT_EQ(event(judged(R"("score":1e-400)")).outcome, Outcome::kFailure);
  EXPECT_EQ(event(judged(R"("score":12345678901234567890123)")).outcome, Outcome::kSuccess);
  EXPECT_THAT(fault(judged(R"("score":1e400)")), HasSubstr("out_of_range"));
  EXPECT_THAT(fault(judged(R"("score":"1")")), HasSubstr("wrong_type"));
  EXPECT_THAT(fault(judged(R"("score":true)")), HasSubstr("wrong_type"));

  config::EventDefaults defaults;
  defaults.success_at = 4;
  defaults.success_at_by_eval = {{"easy", 0.5}};
  use(defaults);
  EXPECT_EQ(event(judged(R"("score":4)")).outcome, Outcome::kSuccess);
  EXPECT_EQ(event(judged(R"("score":3.9)")).outcome, Outcome::kFailure);
  EXPECT_EQ(event(judged(R"("score":0.5,"eval":"easy")")).outcome, Outcome::kSuccess);
  EXPECT_EQ(event(judged(R"("score":0.4,"eval":"easy")")).outcome, Outcome::kFailure);
}

TEST_F(DecodeRules, AResponseThatWasNotJudgedIsUnscored) {
  EXPECT_EQ(event(judged(R"("unscored":true)")).outcome, Outcome::kUnscored);
  EXPECT_EQ(event(judged(R"("unscored":true,"correct":true)")).outcome, Outcome::kUnscored);
  EXPECT_EQ(event(judged(R"("unscored":false,"correct":true)")).outcome, Outcome::kSuccess);
  EXPECT_EQ(event(judged(R"("score":NaN)")).outcome, Outcome::kUnscored);
  EXPECT_EQ(event(judged(R"("score":Infinity)")).outcome, Outcome::kUnscored);
  EXPECT_EQ(event(judged(R"("score":-Infinity)")).outcome, Outcome::kUnscored);
  EXPECT_EQ(event(judged(R"("score":null)")).outcome, Outcome::kUnscored);
  EXPECT_EQ(event(judged(R"("score":null,"correct":true)")).outcome, Outcome::kSuccess);
  EXPECT_EQ(event(judged(R"("score":1,"correct":false)")).outcome, Outcome::kFailure);
  EXPECT_THAT(fault(judged(R"("unscored":1)")), HasSubstr("wrong_type"));
  EXPECT_THAT(fault(judged(R"("unscored":"true")")), HasSubstr("wrong_type"));
  EXPECT_THAT(fault(judged(R"("score":nan)")), HasSubstr("not_json"));
}

TEST_F(DecodeRules, PromptPolicyAndAnOutcomeAreRequired) {
  EXPECT_EQ(fault(R"({"policy":"a","correct":1})"), "missing_field: prompt is missing or empty");
  EXPECT_EQ(fault(R"({"prompt":"p","correct":1})"), "missing_field: policy is missing or empty");
  EXPECT_THAT(fault(R"({"prompt":"","policy":"a","correct":1})"), HasSubstr("missing_field"));
  EXPECT_THAT(fault(R"({"prompt":null,"policy":"a","correct":1})"), HasSubstr("missing_field"));
  EXPECT_THAT(fault(R"({"prompt":"p","policy":"a"})"), HasSubstr("missing_field"));
  EXPECT_THAT(fault(R"({"prompt":"p","policy":"a","unscored":false})"), HasSubstr("missing_field"));
  EXPECT_THAT(fault("{}"), HasSubstr("missing_field"));
}

TEST_F(DecodeRules, NamesAreStrings) {
  for (const char* name : {"prompt", "policy", "eval", "scorer", "slice", "answer", "id", "version"}) {
    const std::string key = name;
    std::string text = R"({"correct":1)";
    for (const char* required : {"prompt", "policy"}) {
      if (key != required) text += ",\"" + std::string(required) + "\":\"x\"";
    }
    for (const char* wrong : {"1", "true", "[]", R"({"a":"b"})", "1.5", "NaN"}) {
      const auto why = fault(text + ",\"" + key + "\":" + wrong + "}");
      EXPECT_THAT(why, HasSubstr("wrong_type: " + key + " must be a string")) << wrong;
    }
  }
}

TEST_F(DecodeRules, DrawIsAWholeNumberFromZero) {
  EXPECT_EQ(event(with(R"("draw":0)")).draw, 0u);
  EXPECT_EQ(event(with(R"("draw":-0)")).draw, 0u);
  EXPECT_EQ(event(with(R"("draw":999999999999999999)")).draw, 999999999999999999u);
  EXPECT_EQ(event(with(R"("draw":18446744073709551615)")).draw, 18446744073709551615u);
  EXPECT_FALSE(event(with(R"("draw":null)")).draw);
  EXPECT_THAT(fault(with(R"("draw":18446744073709551616)")), HasSubstr("out_of_range: draw"));
  EXPECT_THAT(fault(with(R"("draw":100000000000000000000000)")), HasSubstr("out_of_range"));
  EXPECT_THAT(fault(with(R"("draw":-1)")), HasSubstr("out_of_range"));
  EXPECT_THAT(fault(with(R"("draw":1.0)")), HasSubstr("wrong_type: draw must be a whole number, not 1.0"));
  EXPECT_THAT(fault(with(R"("draw":1e3)")), HasSubstr("wrong_type"));
  EXPECT_THAT(fault(with(R"("draw":"3")")), HasSubstr("wrong_type"));
  EXPECT_THAT(fault(with(R"("draw":true)")), HasSubstr("wrong_type"));
}

TEST_F(DecodeRules, TimeIsRfc3339OrEpochMilliseconds) {
  EXPECT_EQ(event(with(R"("ts":"2026-11-29T23:53:13.25Z")")).time, 1795996393250);
  EXPECT_EQ(event(with(R"("ts":0)")).time, 0);
  EXPECT_EQ(event(with(R"("ts":253402300799999)")).time, 253402300799999);
  EXPECT_FALSE(event(with(R"("ts":null)")).time);
  EXPECT_THAT(fault(with(R"("ts":253402300800000)")), HasSubstr("out_of_range"));
  EXPECT_THAT(fault(with(R"("ts":-1)")), HasSubstr("out_of_range"));
  EXPECT_THAT(fault(with(R"("ts":1.5)")), HasSubstr("wrong_type"));
  EXPECT_THAT(fault(with(R"("ts":true)")), HasSubstr("wrong_type"));
  EXPECT_THAT(fault(with(R"("ts":"yesterday")")), HasSubstr("bad_time: ts is \"yesterday\""));
  EXPECT_THAT(fault(with(R"("ts":"2026-02-30T00:00:00Z")")), HasSubstr("bad_time"));
}

TEST_F(DecodeRules, ARetractionNamesItsDraw) {
  const auto& e = event(R"({"prompt":"p","policy":"a","draw":3,"retract":true})");
  EXPECT_EQ(e.kind, EventKind::kRetract);
  EXPECT_EQ(e.draw, 3u);
  EXPECT_EQ(event(R"({"prompt":"p","policy":"a","id":"x","retract":true})").kind, EventKind::kRetract);
  EXPECT_EQ(event(R"({"prompt":"p","policy":"a","id":"x","retract":true})").draw, draw_of("x"));
  EXPECT_EQ(event(with(R"("id":"x")")).draw, draw_of("x"));
  EXPECT_EQ(event(with(R"("id":"x","draw":3)")).draw, 3u);
  EXPECT_EQ(event(with(R"("draw":3,"retract":true)")).kind, EventKind::kRetract);
  EXPECT_EQ(event(with(R"("retract":false)")).kind, EventKind::kDraw);
  EXPECT_THAT(fault(R"({"prompt":"p","policy":"a","retract":true})"), HasSubstr("missing_field"));
  EXPECT_THAT(fault(with(R"("draw":3,"retract":1)")), HasSubstr("wrong_type"));
  EXPECT_THAT(fault(R"({"prompt":"p","policy":"a","draw":3,"retract":true,"correct":7})"), HasSubstr("out_of_range"));
}

TEST_F(DecodeRules, APreCountedCellHasSuccessesAndTrials) {
  const auto& e = event(judged(R"("successes":3,"trials":10)"));
  EXPECT_EQ(e.kind, EventKind::kCounts);
  EXPECT_EQ(e.successes, 3u);
  EXPECT_EQ(e.trials, 10u);
  EXPECT_EQ(event(judged(R"("successes":0,"trials":0)")).trials, 0u);
  EXPECT_EQ(event(judged(R"("successes":4294967295,"trials":4294967295)")).trials, 4294967295u);
  EXPECT_THAT(fault(judged(R"("successes":3,"trials":2)")), HasSubstr("out_of_range: successes must be at most trials = 2"));
  EXPECT_THAT(fault(judged(R"("successes":3)")), HasSubstr("missing_field: successes without trials"));
  EXPECT_THAT(fault(judged(R"("trials":3)")), HasSubstr("missing_field: trials without successes"));
  EXPECT_THAT(fault(judged(R"("successes":-1,"trials":3)")), HasSubstr("out_of_range"));
  EXPECT_THAT(fault(judged(R"("successes":1,"trials":4294967296)")), HasSubstr("out_of_range"));
  EXPECT_THAT(fault(judged(R"("successes":1,"trials":"3")")), HasSubstr("wrong_type"));
  EXPECT_THAT(fault(judged(R"("successes":1,"trials":3,"correct":true)")), HasSubstr("conflicting_fields"));
  EXPECT_THAT(fault(judged(R"("successes":1,"trials":3,"draw":0)")), HasSubstr("conflicting_fields"));
  EXPECT_THAT(fault(judged(R"("successes":1,"trials":3,"retract":true)")), HasSubstr("conflicting_fields"));
}

TEST_F(DecodeRules, SequenceIsAPlaceInOrderOfRequest) {
  EXPECT_EQ(event(with(R"("sequence":41)")).sequence, 41u);
  EXPECT_EQ(event(with(R"("sequence":9223372036854775807)")).sequence, 9223372036854775807u);
  EXPECT_FALSE(event(with(R"("sequence":null)")).sequence);
  EXPECT_FALSE(event(with(R"("draw":3)")).sequence);
  for (const char* bad : {"-1", "9223372036854775808", "1e99"}) {
    EXPECT_THAT(fault(with(R"("sequence":)" + std::string(bad))), ::testing::AnyOf(HasSubstr("out_of_range"), HasSubstr("wrong_type"))) << bad;
  }
  EXPECT_THAT(fault(with(R"("sequence":"41")")), HasSubstr("wrong_type: sequence must be a whole number"));
}

TEST_F(DecodeRules, PropensityIsAProbabilityOrOneForEachPolicy) {
  EXPECT_EQ(event(with(R"("propensity":1)")).propensity, 1.0);
  EXPECT_EQ(event(with(R"("propensity":1e-3)")).propensity, 1e-3);
  EXPECT_FALSE(event(with(R"("propensity":null)")).propensity);
  const auto& e = event(with(R"("propensity":{"b":0.75,"a":0.25,"c":0})"));
  EXPECT_EQ(e.propensity, 0.25);
  ASSERT_EQ(e.propensities.size(), 3u);
  EXPECT_EQ(e.propensities[0].policy, "a");
  EXPECT_EQ(e.propensities[1].policy, "b");
  EXPECT_EQ(e.propensities[1].weight, 0.75);
  EXPECT_EQ(e.propensities[2].weight, 0.0);
  for (const char* bad : {"0", "-0.5", "1.5", "1e400", R"({"a":1.5})", R"({"a":-1})", R"({"b":0.5})", R"({"a":0})", "{}"}) {
    EXPECT_THAT(fault(with(R"("propensity":)" + std::string(bad))), HasSubstr("out_of_range")) << bad;
  }
  for (const char* bad : {R"("0.5")", "true", "[0.5]", "NaN", R"({"a":"1"})", R"({"a":{}})", R"({"a":NaN})"}) {
    EXPECT_THAT(fault(with(R"("propensity":)" + std::string(bad))), HasSubstr("wrong_type")) << bad;
  }
  EXPECT_THAT(fault(with(R"("propensity":{"a":0.5,"a":0.25})")), HasSubstr("duplicate_key"));
  EXPECT_THAT(fault(with(R"("propensity":{"a":0.5,"":0.25})")), HasSubstr("missing_field"));
}

TEST_F(DecodeRules, ARoutingDecisionNamesAPolicyOrWeights) {
  const auto& one = event(R"({"type":"route","router":"knn","prompt":"p17","policy":"phi-4"})");
  EXPECT_EQ(one.kind, EventKind::kRoute);
  EXPECT_EQ(one.router, "knn");
  EXPECT_EQ(one.prompt, "p17");
  EXPECT_EQ(one.eval, "topic-a");
  ASSERT_EQ(one.weights.size(), 1u);
  EXPECT_EQ(one.weights[0].policy, "phi-4");
  EXPECT_EQ(one.weights[0].weight, 1.0);

  const auto& two = event(
      R"({"type":"route","router":"knn","eval":"e","prompt":"p","weights":{"phi-4":0.7,"gemma-2-9b":0.3,"x":0},"ts":5})");
  ASSERT_EQ(two.weights.size(), 2u);
  EXPECT_EQ(two.weights[0].policy, "gemma-2-9b");
  EXPECT_EQ(two.weights[0].weight, 0.3);
  EXPECT_EQ(two.weights[1].weight, 0.7);
  EXPECT_EQ(two.time, 5);
  const auto& rounded = event(R"({"type":"route","router":"r","prompt":"p","weights":{"a":0.33,"b":0.33,"c":0.33}})");
  ASSERT_EQ(rounded.weights.size(), 3u);
  EXPECT_DOUBLE_EQ(rounded.weights[0].weight, 1.0 / 3);
}

TEST_F(DecodeRules, ARoutingDecisionThatDecidesNothingIsRejected) {
  const auto route = [](std::string_view rest) { return R"({"type":"route","prompt":"p",)" + std::string(rest) + "}"; };
  EXPECT_THAT(fault(route(R"("policy":"a")")), HasSubstr("missing_field: router"));
  EXPECT_THAT(fault(route(R"("router":"r")")), HasSubstr("missing_field"));
  EXPECT_THAT(fault(route(R"("router":"r","policy":"a","weights":{"a":1})")), HasSubstr("conflicting_fields"));
  EXPECT_THAT(fault(route(R"("router":"r","policy":"a","retract":true)")), HasSubstr("conflicting_fields"));
  EXPECT_THAT(fault(route(R"("router":"r","weights":{})")), HasSubstr("out_of_range: weights must sum to 1"));
  EXPECT_THAT(fault(route(R"("router":"r","weights":{"a":0.5})")), HasSubstr("out_of_range"));
  EXPECT_THAT(fault(route(R"("router":"r","weights":{"a":0.7,"b":0.7})")), HasSubstr("out_of_range"));
  EXPECT_THAT(fault(route(R"("router":"r","weights":{"a":-0.5,"b":1.5})")), HasSubstr("out_of_range"));
  EXPECT_THAT(fault(route(R"("router":"r","weights":[1])")), HasSubstr("wrong_type"));
  EXPECT_THAT(fault(route(R"("router":"r","weights":{"a":"1"})")), HasSubstr("wrong_type"));
  EXPECT_THAT(fault(route(R"("router":7,"policy":"a")")), HasSubstr("wrong_type"));
  EXPECT_THAT(fault(R"({"type":"route","router":"r","policy":"a"})"), HasSubstr("missing_field: prompt"));
  EXPECT_THAT(fault(with(R"("type":"rout")")), HasSubstr("unknown_type"));
  EXPECT_THAT(fault(with(R"("type":1)")), HasSubstr("wrong_type"));
}

TEST_F(DecodeRules, UnknownFieldsAreIgnoredButMustBeJson) {
  EXPECT_EQ(event(with(R"("response":"a \"long\" text\n","tokens":[1,2,{"x":null}],"usage":{"n":1e999},"nan":NaN)")).prompt,
            "p1");
  EXPECT_EQ(event(with(R"("x":1,"x":2)")).prompt, "p1");
  EXPECT_EQ(event(with(R"("Prompt":"other","propensit":7,"propensityy":7,"":0,"successe":"s")")).prompt, "p1");
  for (const char* bad : {"tru", "01", "1.", ".5", "+1", "0x10", "1e", "--1", "'a'", R"("\q")", R"("\ud800")", "[1,]",
                          "[1 2]", R"({"a"})", R"({"a":})", R"({"a":1,})", R"({a:1})", "{1:2}", "[}", "", "nan", "inf"}) {
    EXPECT_THAT(fault(with(R"("x":)" + std::string(bad))), HasSubstr("not_json")) << bad;
  }
}

TEST_F(DecodeRules, AFieldTwiceIsRejected) {
  EXPECT_EQ(fault(with(R"("correct":false)")), "duplicate_key: correct stands twice");
  EXPECT_THAT(fault(with(R"("correct":true)")), HasSubstr("duplicate_key"));
  EXPECT_THAT(fault(with(R"("prompt":null)")), HasSubstr("duplicate_key"));
  EXPECT_THAT(fault(with(R"("prom\u0070t":"p2")")), HasSubstr("duplicate_key"));
}

TEST_F(DecodeRules, OnlyOneWholeObjectIsAnEvent) {
  EXPECT_THAT(fault(""), HasSubstr("empty"));
  EXPECT_THAT(fault(" \n\t"), HasSubstr("empty"));
  for (const char* other : {"[]", "1", "\"text\"", "null", "true", R"([{"prompt":"p"}])"}) {
    EXPECT_THAT(fault(other), HasSubstr("not_object")) << other;
  }
  const std::string good = R"({"prompt":"p1","policy":"a","correct":true})";
  EXPECT_EQ(event("  " + good + "\r\n").prompt, "p1");
  EXPECT_EQ(event("\t\n" + good + " \t").prompt, "p1");
  EXPECT_EQ(event("{ \"prompt\" : \"p1\" ,\n\t\"policy\":\"a\" , \"correct\" : true }").prompt, "p1");
  for (std::size_t cut = 1; cut < good.size(); ++cut) {
    EXPECT_THAT(fault(good.substr(0, cut)), HasSubstr("not_json")) << cut;
  }
  for (const char* tail : {"}", "{}", ",", "x", "1", "]", "\"", "\\", "null"}) {
    EXPECT_THAT(fault(good + tail), HasSubstr("not_json")) << tail;
  }
  EXPECT_EQ(event("\xef\xbb\xbf" + good).prompt, "p1") << "a byte order mark is passed over";
  EXPECT_THAT(fault(good + std::string(1, '\0')), HasSubstr("not_json"));
}

TEST_F(DecodeRules, EscapesAndUtf8AreUnderstood) {
  EXPECT_EQ(event(R"({"prompt":"p\u00e9\n\"\/","policy":"\ud83d\ude00","correct":1})").prompt, "p\xc3\xa9\n\"/");
  EXPECT_EQ(event(R"({"prompt":"p","policy":"\ud83d\ude00","correct":1})").policy, "\xf0\x9f\x98\x80");
  EXPECT_EQ(event("{\"prompt\":\"\xe4\xb8\xad\xe6\x96\x87\",\"policy\":\"a\",\"correct\":1}").prompt,
            "\xe4\xb8\xad\xe6\x96\x87");
  EXPECT_EQ(event(R"({"prompt":"a\u0000b","policy":"a","correct":1})").prompt, std::string_view("a\0b", 3));
  EXPECT_EQ(event(R"({"prom\u0070t":"p","policy":"a","correct":1})").prompt, "p");
  for (const char* bad : {"\xff", "\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf5\x80\x80\x80"}) {
    EXPECT_THAT(fault("{\"prompt\":\"p" + std::string(bad) + "\",\"policy\":\"a\",\"correct\":1}"), HasSubstr("not_utf8"));
    EXPECT_THAT(fault(with("\"x\":\"" + std::string(bad) + "\"")), HasSubstr("not_utf8"));
  }
  EXPECT_THAT(fault("{\"prompt\":\"p\n\",\"policy\":\"a\",\"correct\":1}"), HasSubstr("not_json"));
  EXPECT_THAT(fault(std::string("{\"prompt\":\"p\0\",\"policy\":\"a\",\"correct\":1}", 40)), HasSubstr("not_json"));
}

TEST_F(DecodeRules, NestingIsBounded) {
  const auto nested = [&](std::size_t depth) {
    return with("\"x\":" + std::string(depth, '[') + std::string(depth, ']'));
  };
  EXPECT_EQ(event(nested(63)).prompt, "p1");
  EXPECT_THAT(fault(nested(64)), HasSubstr("too_deep"));
  EXPECT_THAT(fault(nested(100'000)), HasSubstr("too_deep"));
  EXPECT_THAT(fault(with("\"x\":" + std::string(500'000, '['))), HasSubstr(":"));
}

TEST_F(DecodeRules, LengthsAreBounded) {
  config::EventDefaults defaults;
  defaults.max_event_bytes = 200;
  defaults.max_name_bytes = 10;
  use(defaults);
  const auto named = [](std::size_t size) {
    return R"({"policy":"a","correct":1,"prompt":")" + std::string(size, 'x') + "\"}";
  };
  EXPECT_EQ(event(named(10)).prompt.size(), 10u);
  EXPECT_EQ(fault(named(11)), "name_too_long: prompt has 11 bytes; events.max_name is 10");
  EXPECT_EQ(event(R"({"policy":"a","correct":1,"prompt":"\u0061\u0061\u0061\u0061"})").prompt, "aaaa");
  EXPECT_THAT(fault(with(R"("slice":"xxxxxxxxxxx")")), HasSubstr("name_too_long"));
  EXPECT_THAT(fault(with(R"("propensity":{"a":1,"xxxxxxxxxxx":0})")), HasSubstr("name_too_long"));
  EXPECT_THAT(fault(named(200)), HasSubstr("event_too_long: the event has"));
}

TEST_F(DecodeRules, TombstonesAreSkippedAndTruncatedLinesRejected) {
  Record record;
  record.tombstone = true;
  const auto& skipped = decoder_->decode(record, "t");
  EXPECT_EQ(skipped.action, Decoded::Action::kSkip);
  EXPECT_EQ(skipped.reason, "tombstone");
  record.tombstone = false;
  record.truncated = true;
  record.value = R"({"prompt":"p","policy":"a","correct":1})";
  const auto& rejected = decoder_->decode(record, "t");
  EXPECT_EQ(rejected.action, Decoded::Action::kReject);
  EXPECT_EQ(rejected.reason, "event_too_long");
}

TEST_F(DecodeRules, DetailsAreFitForALogLine) {
  const auto why = fault(with("\"ts\":\"line\\nbreak " + std::string(300, 'x') + "\""));
  EXPECT_EQ(why.find('\n'), std::string::npos);
  EXPECT_LT(why.size(), 200u);
}

TEST(Reasons, AreUniqueSnakeCaseInOrderAndExplained) {
  std::set<std::string_view> words;
  for (std::size_t i = 0; i < kReasons.size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(kReasons[i].reason), i);
    EXPECT_TRUE(words.insert(kReasons[i].word).second);
    EXPECT_EQ(kReasons[i].word.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), std::string_view::npos);
    EXPECT_TRUE(kReasons[i].sentence.ends_with('.'));
  }
}

TEST(Fields, EveryNameFindsItsFieldAndNothingElseDoes) {
  for (std::size_t i = 0; i < kFieldCount; ++i) {
    const std::string name(kFieldNames[i]);
    EXPECT_EQ(field_of(name), static_cast<Field>(i)) << name;
    EXPECT_EQ(field_of(name + "x"), Field::kUnknown);
    EXPECT_EQ(field_of(name + std::string(1, '\0')), Field::kUnknown);
    EXPECT_EQ(field_of(name.substr(1)), Field::kUnknown);
    if (name != "scorer") {
      EXPECT_EQ(field_of(name.substr(0, name.size() - 1)), Field::kUnknown);
    }
  }
  EXPECT_EQ(field_of(""), Field::kUnknown);
}

TEST(MakeDecoder, NamesTheFormatsItKnows) {
  const auto made = make_decoder("natve", {});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().action, Action::kRefuse);
  EXPECT_THAT(made.error().message, HasSubstr("\"natve\" is not known; known formats: native"));
}

}  // namespace
}  // namespace gapwatch::ingest
