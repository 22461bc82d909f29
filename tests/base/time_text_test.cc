#include "base/time_text.h"

#include <gtest/gtest.h>

namespace gapwatch {
namespace {

using Case = std::pair<const char*, TimeMs>;

TEST(TimeText, WritesWhatItReads) {
  EXPECT_EQ(format_rfc3339(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(format_rfc3339(1795996393250), "2026-11-29T23:53:13.250Z");
  EXPECT_EQ(format_rfc3339(kLastTime), "9999-12-31T23:59:59.999Z");
  for (TimeMs time = 1; time < kLastTime; time = time * 3 + 1) EXPECT_EQ(parse_rfc3339(format_rfc3339(time)), time);
}

// Expected values from GNU date: date -u -d TEXT +%s%3N.
TEST(TimeText, ReadsTimesThatExist) {
  const Case cases[] = {
      {"1970-01-01T00:00:00Z", 0},
      {"2026-11-29T23:53:13Z", 1795996393000},
      {"2026-11-29t23:53:13z", 1795996393000},
      {"2026-11-29 23:53:13Z", 1795996393000},
      {"2026-11-29T23:53:13.5Z", 1795996393500},
      {"2026-11-29T23:53:13.25Z", 1795996393250},
      {"2026-11-29T23:53:13.123456789Z", 1795996393123},
      {"2026-11-29T23:53:13.0009Z", 1795996393000},
      {"2026-11-30T00:53:13+01:00", 1795996393000},
      {"2026-11-29T18:23:13-05:30", 1795996393000},
      {"2026-11-29T23:53:13-00:00", 1795996393000},
      {"2000-02-29T12:00:00Z", 951825600000},
      {"2024-02-29T00:00:00Z", 1709164800000},
      {"1970-01-01T05:30:00+05:30", 0},
      {"9999-12-31T23:59:59.999Z", kLastTime},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(parse_rfc3339(text), expected) << text;
}

// A leap second has no number of its own in Unix time: it is the next second.
TEST(TimeText, ReadsLeapSecondsWhereTheyCanBe) {
  EXPECT_EQ(parse_rfc3339("2016-12-31T23:59:60Z"), 1483228800000);
  EXPECT_EQ(parse_rfc3339("2016-12-31T15:59:60-08:00"), 1483228800000);
  EXPECT_EQ(parse_rfc3339("2015-06-30T23:59:60.5Z"), 1435708800500);
  EXPECT_FALSE(parse_rfc3339("2016-12-31T23:58:60Z"));
  EXPECT_FALSE(parse_rfc3339("2016-12-30T23:59:60Z"));
  EXPECT_FALSE(parse_rfc3339("2016-12-31T23:59:60-08:00"));
  EXPECT_FALSE(parse_rfc3339("2016-12-31T23:59:61Z"));
}

TEST(TimeText, RefusesEverythingElse) {
  const char* cases[] = {
      "",
      "2026",
      "2026-11-29",
      "2026-11-29T23:53Z",
      "2026-11-29T23:53:13",         // no offset: no time
      "2026-11-29T23:53:13.Z",       // a point without digits
      "2026-11-29T23:53:13,5Z",
      "2026-11-29T23:53:13 Z",
      "2026-11-29T23:53:13Zjunk",
      " 2026-11-29T23:53:13Z",
      "2026-11-29T23:53:13+0100",
      "2026-11-29T23:53:13+24:00",
      "2026-11-29T23:53:13+01:60",
      "2026-11-29T24:00:00Z",
      "2026-11-29T23:60:00Z",
      "2026-00-10T00:00:00Z",
      "2026-13-10T00:00:00Z",
      "2026-11-00T00:00:00Z",
      "2026-11-31T00:00:00Z",
      "2023-02-29T00:00:00Z",
      "1900-02-29T00:00:00Z",
      "2100-02-29T00:00:00Z",
      "+026-11-29T00:00:00Z",
      "2026-1a-29T00:00:00Z",
      "1969-12-31T23:59:59Z",        // before 1970
      "1970-01-01T00:00:00+00:01",
      "9999-12-31T23:59:59-00:01",   // beyond the year 9999
  };
  for (const char* text : cases) EXPECT_FALSE(parse_rfc3339(text)) << text;
}

TEST(TimeText, EveryDayOfFourCenturiesIsTheNextNumber) {
  const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  TimeMs expected = 0;
  for (int year = 1970; year < 2370; ++year) {
    const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    for (int month = 1; month <= 12; ++month) {
      const int length = lengths[month - 1] + (leap && month == 2 ? 1 : 0);
      for (int day = 1; day <= length; ++day, expected += 86'400'000) {
        char text[64];
        std::snprintf(text, sizeof text, "%04d-%02d-%02dT00:00:00Z", year, month, day);
        ASSERT_EQ(parse_rfc3339(text), expected) << text;
      }
    }
  }
}

}  // namespace
}  // namespace gapwatch
