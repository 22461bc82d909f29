// A window by time from a config to the report: what lies in it, and where it is.
#include <fmt/format.h>

#include "simdjson.h"

#include "tests/support/process.h"
#include "tests/support/temp_dir.h"

namespace gapwatch {
namespace {

using testing::run_to_end;
using testing::TempDir;
using testing::write_file;

TEST(WindowByTime, TheReportSeesTheDayTheStreamIsIn) {
  TempDir dir;
  std::string events;
  const auto say = [&](const char* policy, int draw, bool correct, const char* time) {
    events += fmt::format(R"({{"prompt":"p","policy":"{}","draw":{},"correct":{},"ts":"{}"}})" "\n", policy, draw, correct, time);
  };
  for (int draw = 0; draw < 8; ++draw) say("a", draw, true, "2026-11-28T10:00:00Z");
  for (int draw = 0; draw < 4; ++draw) say("b", draw, true, "2026-11-28T23:59:59.999Z");
  for (int draw = 8; draw < 10; ++draw) say("a", draw, false, "2026-11-29T00:00:00Z");
  say("b", 9, true, "2026-11-29T01:00:00Z");
  write_file(dir.path() / "events.jsonl", events);
  write_file(dir.path() / "c.yaml",
             "source: {files: [events.jsonl]}\nevents: {eval: e}\nmonitors:\n  - {name: day, window: {tumbling: 1d}}\n"
             "  - {name: late, window: {tumbling: 1d, lateness: 2h}}\n  - {name: all}\n");
  const auto ran = run_to_end({GAPWATCH_BINARY, "report", (dir.path() / "events.jsonl").string(), "--config", (dir.path() / "c.yaml").string(),
                               "--format", "json"}, dir.path());
  ASSERT_EQ(ran.status, 0) << ran.err;
  simdjson::dom::parser parser;
  const simdjson::dom::element report = parser.parse(simdjson::padded_string(ran.out));
  const auto number = [&](const char* at) { return report.at_pointer(at).get_int64().value(); };
  const auto text = [&](const char* at) { return std::string(report.at_pointer(at).get_string().value()); };
  EXPECT_EQ(text("/monitors/1/name"), "day");
  EXPECT_EQ(text("/monitors/1/window"), "tumbling: 1d");
  EXPECT_EQ(text("/monitors/1/window_span/from"), "2026-11-29T00:00:00Z");
  EXPECT_EQ(text("/monitors/1/window_span/to"), "2026-11-30T00:00:00Z");
  EXPECT_EQ(number("/monitors/0/trials/total"), 15);
  EXPECT_EQ(number("/monitors/1/trials/total"), 3);
  EXPECT_EQ(text("/monitors/2/window_span/from"), "2026-11-28T00:00:00Z") << "it waits for who is late";
  EXPECT_EQ(number("/monitors/2/trials/total"), 12);
  EXPECT_NE(report.at_pointer("/monitors/0/window_span").error(), simdjson::SUCCESS);
}

}  // namespace
}  // namespace gapwatch
