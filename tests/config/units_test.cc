#include "config/units.h"

#include "config/text.h"

namespace gapwatch::config {
namespace {

using std::chrono::milliseconds;

TEST(Units, DurationsCarryAUnit) {
  const std::map<std::string, std::int64_t> good = {
      {"0ms", 0},        {"250ms", 250},    {"30s", 30'000},      {"1.5s", 1'500},     {"2m", 120'000},
      {"2min", 120'000}, {"1h", 3'600'000}, {"0.5d", 43'200'000}, {"7 d", 604'800'000}};
  for (const auto& [text, ms] : good) {
    const auto parsed = parse_duration(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(parsed->count(), ms) << text;
  }
  const std::map<std::string, std::string> bad = {{"30", "has no unit"},
                                                  {"", "is not a duration"},
                                                  {"s", "is not a duration"},
                                                  {"-1s", "is not a duration"},
                                                  {"1.2.3s", "is not a duration"},
                                                  {"3 weeks", "has an unknown unit"},
                                                  {"0.5ms", "is finer than a millisecond"},
                                                  {"1e3s", "has an unknown unit"},
                                                  {"99999999999d", "is too long"}};
  for (const auto& [text, problem] : bad) {
    const auto parsed = parse_duration(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().message, problem) << text;
  }
}

TEST(Units, SizesCarryAUnit) {
  const std::map<std::string, std::uint64_t> good = {{"512B", 512},      {"1kB", 1'000},
                                                     {"1KB", 1'000},     {"64MiB", 64ull << 20},
                                                     {"2MB", 2'000'000}, {"1 GiB", 1ull << 30}};
  for (const auto& [text, bytes] : good) {
    const auto parsed = parse_size(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(*parsed, bytes) << text;
  }
  for (const auto* text :
       {"64", "", "MiB", "1.5GiB", "64M", "64mb", "18446744073709551616B", "9999999999999GiB"}) {
    EXPECT_FALSE(parse_size(text)) << text;
  }
}

TEST(Units, FormattingReadsBack) {
  for (const std::int64_t ms :
       {0, 1, 999, 1'000, 1'500, 60'000, 90'000, 3'600'000, 86'400'000, 123'456'789}) {
    EXPECT_EQ(parse_duration(format_duration(milliseconds(ms))).value().count(), ms);
  }
  for (const std::uint64_t bytes :
       {0ull, 1ull, 1'000ull, 1'024ull, 1ull << 26, 5'000'000'000ull, (1ull << 40) + 1}) {
    EXPECT_EQ(parse_size(format_size(bytes)).value(), bytes);
  }
  EXPECT_EQ(format_duration(milliseconds(30'000)), "30s");
  EXPECT_EQ(format_size(64 << 20), "64MiB");
}

TEST(Units, NumbersAreWholeTexts) {
  EXPECT_DOUBLE_EQ(parse_number("0.05").value(), 0.05);
  EXPECT_DOUBLE_EQ(parse_number("-2e-3").value(), -0.002);
  for (const auto* text : {"", "nan", "inf", "1e999", "0x10", "+1", "1,5", "1 ", "one"})
    EXPECT_FALSE(parse_number(text)) << text;
  EXPECT_EQ(parse_whole("18446744073709551615").value(), 18446744073709551615ull);
  for (const auto* text : {"", "-1", "1.0", "18446744073709551616", "1e3", " 1"})
    EXPECT_FALSE(parse_whole(text)) << text;
}

TEST(Text, EditDistanceCountsSwapsOnce) {
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("brokres", "brokers"), 1u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);  // substitution, substitution, insertion
  EXPECT_EQ(edit_distance("same", "same"), 0u);
}

TEST(Text, NearestIsNearOrNothing) {
  const std::vector<std::string> keys = {"brokers", "topics", "group"};
  EXPECT_EQ(nearest("broker", keys), "brokers");
  EXPECT_EQ(nearest("gruop", keys), "group");
  EXPECT_EQ(nearest("zzzzz", keys), std::nullopt);
  EXPECT_EQ(nearest(std::string(100'000, 'x'), keys), std::nullopt);
}

TEST(Text, FindsTheFirstByteThatIsNotText) {
  EXPECT_EQ(first_bad_byte("a\tb\r\nc \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"), std::nullopt);
  EXPECT_EQ(first_bad_byte(std::string_view("a\0b", 3)), 1u);
  EXPECT_EQ(first_bad_byte("ab\xff"), 2u);
  EXPECT_EQ(first_bad_byte("\xc0\xaf"), 0u);          // overlong '/'
  EXPECT_EQ(first_bad_byte("x\xed\xa0\x80"), 1u);     // surrogate
  EXPECT_EQ(first_bad_byte("\xf4\x90\x80\x80"), 0u);  // beyond U+10FFFF
  EXPECT_EQ(first_bad_byte("\xe2\x82"), 0u);          // cut short
}

TEST(Text, YamlTextQuotesWhatNeedsIt) {
  EXPECT_EQ(yaml_text("phi-4"), "phi-4");
  EXPECT_EQ(yaml_text("host:9092"), "host:9092");
  EXPECT_EQ(yaml_text(""), "\"\"");
  EXPECT_EQ(yaml_text("null"), "\"null\"");
  EXPECT_EQ(yaml_text("a, b"), "\"a, b\"");
  EXPECT_EQ(yaml_text("say \"x\"\n"), "\"say \\\"x\\\"\\n\"");
  EXPECT_EQ(yaml_text("${X}"), "\"$${X}\"");
}

}  // namespace
}  // namespace gapwatch::config
