#include "exporters/json_writer.h"

#include <simdjson.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <random>
#include <sstream>

#include "tests/exporters/odd_locale.h"

namespace gapwatch::exporters {
namespace {

std::string as_json(std::string_view text) { return JsonWriter().value(text).take(); }
std::string written(double number) { return JsonWriter().value(number).take(); }

TEST(JsonWriter, WritesNestingInOrder) {
  JsonWriter json;
  json.begin_object().member("b", 1).member("a", std::optional<double>()).key("list").begin_array();
  json.value(true).value("x").begin_array().end_array().begin_object().end_object().null().end_array().end_object();
  EXPECT_EQ(json.text(), R"({"b":1,"a":null,"list":[true,"x",[],{},null]})");
}

TEST(JsonWriter, NumbersReadBackAsTheSameBits) {
  std::mt19937_64 random(20260611);
  for (int i = 0; i < 20'000; ++i) {
    const double number = std::bit_cast<double>(random());
    if (!std::isfinite(number)) continue;
    const auto text = written(number);
    double back = 0;
    std::from_chars(text.data(), text.data() + text.size(), back);
    ASSERT_EQ(back, number) << text;
    if (std::abs(number) >= 0x1p63) continue;  // a whole number that long is JSON, but not to this parser
    simdjson::dom::parser parser;
    ASSERT_EQ(parser.parse(simdjson::padded_string(text)).get_double().value(), number) << text;
  }
}

TEST(JsonWriter, WhatJsonCannotSayIsNull) {
  EXPECT_EQ(written(std::nan("")), "null");
  EXPECT_EQ(written(std::numeric_limits<double>::infinity()), "null");
  EXPECT_EQ(written(-std::numeric_limits<double>::infinity()), "null");
  EXPECT_EQ(written(-0.0), "0");
  EXPECT_EQ(JsonWriter().value(std::numeric_limits<std::uint64_t>::max()).take(), "18446744073709551615");
  EXPECT_EQ(JsonWriter().value(std::numeric_limits<std::int64_t>::min()).take(), "-9223372036854775808");
}

TEST(JsonWriter, LooksAtNoLocale) {
  const OddLocale odd;
  std::ostringstream proof;
  proof << 1234.5;
  ASSERT_EQ(proof.str(), "1.234,5");
  EXPECT_EQ(written(1234.5), "1234.5");
  EXPECT_EQ(JsonWriter().value(1234567).take(), "1234567");
  EXPECT_EQ(shortest(0.1), "0.1");
}

TEST(JsonWriter, EscapesWhatWouldEndAStringOrATag) {
  EXPECT_EQ(as_json("a\"b\\c\n\r\t\x01\x7F"), R"("a\"b\\c\n\r\t\u0001\u007f")");
  EXPECT_EQ(as_json("</script>&"), R"("\u003c/script\u003e\u0026")");
  EXPECT_EQ(as_json("\xE2\x80\xA8\xE2\x80\xA9"), R"("\u2028\u2029")");
  EXPECT_EQ(as_json(std::string_view("a\0b", 3)), R"("a\u0000b")");
}

TEST(JsonWriter, KeepsUtf8AndReplacesWhatIsNot) {
  const std::string good = "\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80 \xF4\x8F\xBF\xBF \xED\x9F\xBF";
  EXPECT_EQ(as_json(good), '"' + good + '"');
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(valid_utf8("a\xFF" "b"), "a" + bad + "b");
  EXPECT_EQ(valid_utf8("\xC0\xAF"), bad + bad) << "overlong";
  EXPECT_EQ(valid_utf8("\xED\xA0\x80"), bad + bad + bad) << "surrogate";
  EXPECT_EQ(valid_utf8("\xF4\x90\x80\x80"), bad + bad + bad + bad) << "beyond U+10FFFF";
  EXPECT_EQ(valid_utf8("\xE2\x82"), bad + bad) << "cut short";
}

TEST(JsonWriter, EveryByteStringBecomesValidJson) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 5'000; ++i) {
    std::string text;
    for (auto left = random() % 12; left > 0; --left) text += static_cast<char>(random());
    const auto document = as_json(text);
    simdjson::dom::parser parser;
    std::string_view back;
    ASSERT_FALSE(parser.parse(simdjson::padded_string(document)).get_string().get(back)) << document;
    ASSERT_EQ(back, valid_utf8(text));
  }
}

}  // namespace
}  // namespace gapwatch::exporters
