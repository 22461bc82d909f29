// gapwatch calibrate as a user runs it.
#include <gtest/gtest.h>

#include "tests/support/monitor_process.h"
#include "tests/support/temp_dir.h"

namespace gapwatch {
namespace {

using testing::run_to_end;
using testing::TempDir;
using testing::write_file;

std::vector<std::string> with(std::vector<std::string> arguments, const std::vector<std::string>& more) {
  arguments.insert(arguments.begin(), {GAPWATCH_BINARY, "calibrate"});
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

const std::vector<std::string> kSmall{"--prompts", "20", "--streams", "6", "--responses", "6", "--case",
                                      "identical,late-specialists", "--format", "json"};

TEST(CalibrateCommand, SaysTheSameOnAnyNumberOfThreads) {
  const TempDir dir;
  const auto one = run_to_end(with(kSmall, {"--threads", "1"}), dir.path());
  const auto three = run_to_end(with(kSmall, {"--threads", "3"}), dir.path());
  ASSERT_EQ(one.status, 0) << one.err;
  EXPECT_EQ(one.out, three.out);
  EXPECT_NE(one.out.find("\"case\":\"late-specialists\""), std::string::npos) << one.out;
  EXPECT_NE(one.out.find("\"change_at\":3"), std::string::npos) << one.out;
}

TEST(CalibrateCommand, RefusesAnUnknownCaseAndListsTheKnown) {
  const TempDir dir;
  const auto ran = run_to_end(with({}, {"--case", "nonsense"}), dir.path());
  EXPECT_EQ(ran.status, 2);
  EXPECT_NE(ran.err.find("win-stay-reset"), std::string::npos) << ran.err;
}

// The shape of a file of events is that of the state counted from it.
TEST(CalibrateCommand, TakesItsShapeFromEventsAndFromAStateFolder) {
  const TempDir dir;
  const auto events = (dir.path() / "events.jsonl").string(), state = (dir.path() / "state").string();
  ASSERT_EQ(run_to_end({GAPWATCH_BINARY, "simulate", "shift", "--prompts", "30", "--policies", "3", "--draws", "8", "--to",
                        events},
                       dir.path())
                .status,
            0);
  {
    testing::MonitorProcess monitor(dir.path(), "source: {files: [" + events + "]}\nstate: {path: " + state +
                                                    "}\nhttp: {listen: 127.0.0.1:0}\n");
    ASSERT_TRUE(monitor.caught_up(720));
    ASSERT_EQ(monitor.process().kill(SIGTERM), 0);
  }
  const std::vector<std::string> few{"--streams", "2", "--responses", "2", "--case", "quality", "--format", "json"};
  const auto from_file = run_to_end(with({events}, few), dir.path());
  const auto from_state = run_to_end(with({state}, few), dir.path());
  ASSERT_EQ(from_file.status, 0) << from_file.err;
  EXPECT_EQ(from_file.out, from_state.out) << from_state.err;
  EXPECT_NE(from_file.out.find("\"prompts\":30,\"policies\":3"), std::string::npos) << from_file.out;
  EXPECT_EQ(run_to_end(with({(dir.path() / "none").string()}, few), dir.path()).status, 1);
}

}  // namespace
}  // namespace gapwatch
