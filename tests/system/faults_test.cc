// What an operator can get wrong, and what the machine can: one clear line, the exit status, the state intact.
#include "tests/support/broker.h"
#include "tests/support/monitor_process.h"
#include "tests/support/small_disk.h"
#include "tests/support/temp_dir.h"

namespace gapwatch {
namespace {

using testing::eventually;
using testing::MonitorProcess;
using testing::run_to_end;
using testing::TempDir;
using testing::write_file;

constexpr const char* kEvent = R"({"prompt":"p","policy":"a","draw":0,"correct":1})";
const std::string kHttp = "http: {listen: 127.0.0.1:0}\n";

// Runs `gapwatch run` to its end and expects one line with all of `parts`.
void expect_refused(const TempDir& dir, const std::string& config, int status, const std::vector<std::string>& parts) {
  write_file(dir.path() / "gapwatch.yaml", config);
  const auto ran = run_to_end({GAPWATCH_BINARY, "run", "--config", (dir.path() / "gapwatch.yaml").string()}, dir.path());
  EXPECT_EQ(ran.status, status) << ran.err;
  EXPECT_EQ(ran.out, "");
  std::string said;
  std::istringstream lines(ran.err);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("gapwatch: ")) said += line + "\n";
  }
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << ran.err;
  for (const auto& part : parts) EXPECT_NE(said.find(part), std::string::npos) << "no \"" << part << "\" in: " << ran.err;
  EXPECT_EQ(ran.err.find("terminate called"), std::string::npos);
}

std::string file_config(const std::filesystem::path& dir, const std::string& state = "state") {
  return "source: {files: [" + (dir / "events.jsonl").string() + "]}\nstate: {path: " + (dir / state).string() +
         "}\n" + kHttp;
}

TEST(Faults, AConfigThatIsNotThere) {
  const TempDir dir;
  const auto ran = run_to_end({GAPWATCH_BINARY, "run", "--config", (dir.path() / "none.yaml").string()}, dir.path());
  EXPECT_EQ(ran.status, 2);
  EXPECT_NE(ran.err.find("none.yaml"), std::string::npos) << ran.err;
}

TEST(Faults, AConfigWithAnUnknownKeyNamesTheNearest) {
  const TempDir dir;
  expect_refused(dir, file_config(dir.path()) + "formatt: native\n", 2, {"gapwatch.yaml:4:1", "formatt", "format"});
}

TEST(Faults, WrongUsage) {
  const TempDir dir;
  EXPECT_EQ(run_to_end({GAPWATCH_BINARY}, dir.path()).status, 2);
  EXPECT_EQ(run_to_end({GAPWATCH_BINARY, "report"}, dir.path()).status, 2);
  EXPECT_EQ(run_to_end({GAPWATCH_BINARY, "no-such-command"}, dir.path()).status, 2);
  EXPECT_EQ(run_to_end({GAPWATCH_BINARY, "help"}, dir.path()).status, 0);
  EXPECT_EQ(run_to_end({GAPWATCH_BINARY, "help", "run"}, dir.path()).status, 0);
  EXPECT_EQ(run_to_end({GAPWATCH_BINARY, "version"}, dir.path()).status, 0);
}

// Runs a shell line in which $G is the program.
testing::Ran shell(const TempDir& dir, const std::string& line) {
  return run_to_end({"sh", "-c", std::string("G='") + GAPWATCH_BINARY + "'; cd '" + dir.path().string() + "'; " + line},
                    dir.path());
}

TEST(Faults, OptionsThatAreNoNumbers) {
  const TempDir dir;
  write_file(dir.path() / "events.jsonl", kEvent);
  for (const char* wrong : {"--tau nan", "--tau 0", "--tau 1.5", "--threads 1000000", "--seed -1", "--replicates 0"}) {
    const auto ran = shell(dir, std::string("$G report events.jsonl ") + wrong);
    EXPECT_EQ(ran.status, 2) << wrong << ran.err;
    EXPECT_EQ(ran.out, "") << wrong;
  }
  for (const char* wrong : {"calibrate --threads 100000", "calibrate --streams 0", "calibrate --seed -1", "power --threads 100000",
                            "calibrate --prompts 1000000 --policies 1000"}) {
    const auto ran = shell(dir, std::string("$G ") + wrong);
    EXPECT_EQ(ran.status, 2) << wrong << ran.err;
    EXPECT_EQ(ran.out, "") << wrong;
  }
  const auto alone = shell(dir, "$G calibrate events.jsonl --streams 1");
  EXPECT_EQ(alone.status, 2) << alone.out;
  EXPECT_NE(alone.err.find("two or more"), std::string::npos) << alone.err;
  EXPECT_EQ(shell(dir, "$G simulate identical --rate nan").status, 2);
  EXPECT_EQ(shell(dir, "$G demo --for 0s --port 0").status, 2);
  EXPECT_NE(shell(dir, "$G nope").err.find("no command \"nope\""), std::string::npos);
}

TEST(Faults, StandardStreamsThatAreClosedOrFull) {
  const TempDir dir;
  write_file(dir.path() / "events.jsonl", kEvent);
  write_file(dir.path() / "stdin.yaml", "source: {stdin: true}\n" + kHttp);
  EXPECT_EQ(shell(dir, "$G run --config none.yaml 2>/dev/full").status, 2);
  EXPECT_EQ(shell(dir, "$G run --config none.yaml 2>&-").status, 2);
  EXPECT_EQ(shell(dir, "$G report none.jsonl >&- 2>&- <&-").status, 1);
  for (const char* command : {"version", "help", "help config", "report events.jsonl", "simulate identical"}) {
    const auto ran = shell(dir, std::string("$G ") + command + " >/dev/full");
    EXPECT_EQ(ran.status, 1) << command;
    EXPECT_NE(ran.err.find("standard output"), std::string::npos) << command << ran.err;
  }
  // Standard input that is closed is an empty one: the daemon starts, and stops when it is told to.
  const auto stopped = shell(dir, "$G run --config stdin.yaml <&- & p=$!; while kill -0 $p && ! grep -q 'on port' err.txt; "
                                  "do :; done; kill -TERM $p; wait $p");
  EXPECT_EQ(stopped.status, 0) << stopped.err;
}

TEST(Faults, OneFileByTwoNames) {
  const TempDir dir;
  write_file(dir.path() / "events.jsonl", kEvent);
  const auto ran = shell(dir, "ln -s events.jsonl link.jsonl; $G report events.jsonl link.jsonl");
  EXPECT_NE(ran.status, 0);
  EXPECT_NE(ran.err.find("given twice"), std::string::npos) << ran.err;
}

TEST(Faults, AFileThatBecameShorter) {
  const TempDir dir;
  write_file(dir.path() / "events.jsonl", std::string(kEvent) + "\n" + kEvent + "\n");
  MonitorProcess first(dir.path(), file_config(dir.path()));
  ASSERT_TRUE(first.caught_up(2)) << first.process().err();
  EXPECT_EQ(first.process().kill(SIGTERM), 0);
  write_file(dir.path() / "events.jsonl", std::string(kEvent) + "\n");
  first.start();
  ASSERT_TRUE(eventually([&] { return first.process().err().find("became shorter") != std::string::npos; }))
      << first.process().err();
  EXPECT_NE(first.process().err().find("ends after line 1, and 2 lines"), std::string::npos) << first.process().err();
}

TEST(Faults, ARejectedLineIsNamedAsEditorsCount) {
  const TempDir dir;
  write_file(dir.path() / "events.jsonl", std::string(kEvent) + "\nnonsense\n");
  const auto ran = shell(dir, "$G report events.jsonl");
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_NE(ran.err.find("rejected events.jsonl:2: not_json"), std::string::npos) << ran.err;
}

TEST(Faults, APortThatIsNone) {
  const TempDir dir;
  write_file(dir.path() / "events.jsonl", kEvent);
  const auto ran = shell(dir, "$G replay events.jsonl --to kafka://127.0.0.1:99999/t");
  EXPECT_EQ(ran.status, 1);
  EXPECT_NE(ran.err.find("\"127.0.0.1:99999\" is no Kafka broker's address"), std::string::npos) << ran.err;
  EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
}

TEST(Faults, APoolThatIsAListOrStandsElsewhere) {
  const TempDir dir;
  const auto list = "monitors: [{name: m, eval: e, pool: [a, b]}]\n";
  expect_refused(dir, file_config(dir.path()) + list, 2, {"monitors[0].pool: is a list", "write pool: {policies: ...}"});
  expect_refused(dir, file_config(dir.path()) + "pool: [a, b]\n", 2, {"pool: is not known", "did you mean monitors[].pool?"});
}

TEST(Faults, AStateFolderThatIsDeletedIsSaid) {
  const TempDir dir;
  write_file(dir.path() / "events.jsonl", kEvent);
  MonitorProcess monitor(dir.path(), file_config(dir.path()));
  ASSERT_TRUE(monitor.caught_up(1)) << monitor.process().err();
  std::filesystem::rename(dir.path() / "state", dir.path() / "moved");
  EXPECT_EQ(monitor.process().kill(SIGTERM), 1) << monitor.process().err();
  EXPECT_NE(monitor.process().err().find("was deleted or replaced while it was in use"), std::string::npos)
      << monitor.process().err();
}

TEST(Faults, AnInputThatIsNotThere) {
  const TempDir dir;
  const auto ran = run_to_end({GAPWATCH_BINARY, "report", (dir.path() / "none.jsonl").string()}, dir.path());
  EXPECT_NE(ran.status, 0);
  EXPECT_NE(ran.err.find("none.jsonl"), std::string::npos) << ran.err;
  EXPECT_EQ(ran.out, "");
}

TEST(Faults, AMissingTopic) {
  const TempDir dir;
  expect_refused(dir,
                 "source: {kafka: {brokers: " + testing::broker().bootstrap() + ", topics: [never-made]}}\n" + kHttp, 1,
                 {"never-made"});
}

TEST(Faults, AnUnreachableBroker) {
  const TempDir dir;
  expect_refused(dir, "source: {kafka: {brokers: \"127.0.0.1:1\", topics: [t]}}\n" + kHttp, 1, {"127.0.0.1:1"});
}

TEST(Faults, APortInUse) {
  const TempDir dir, other;
  write_file(dir.path() / "events.jsonl", kEvent);
  MonitorProcess first(dir.path(), file_config(dir.path()));
  const auto port = first.port();
  ASSERT_TRUE(port) << first.process().err();
  write_file(other.path() / "events.jsonl", kEvent);
  auto config = file_config(other.path());
  config.replace(config.find("127.0.0.1:0"), 11, "127.0.0.1:" + std::to_string(*port));
  expect_refused(other, config, 1, {"127.0.0.1:" + std::to_string(*port), "in use"});
}

TEST(Faults, AStateFolderInUseOrDamagedOrNotOurs) {
  const TempDir dir, second;
  write_file(dir.path() / "events.jsonl", kEvent);
  {
    MonitorProcess first(dir.path(), file_config(dir.path()));
    ASSERT_TRUE(first.port()) << first.process().err();
    write_file(second.path() / "events.jsonl", kEvent);
    auto config = file_config(second.path());
    config.replace(config.find((second.path() / "state").string()), (second.path() / "state").string().size(),
                   (dir.path() / "state").string());
    expect_refused(second, config, 1, {"in use by another gapwatch"});
    EXPECT_TRUE(first.caught_up(1));
    EXPECT_EQ(first.process().kill(SIGTERM), 0);
  }
  const auto verify = [&] {
    return run_to_end({GAPWATCH_BINARY, "state", "verify", (dir.path() / "state").string()}, dir.path());
  };
  EXPECT_EQ(verify().status, 0) << verify().err;
  for (const auto& entry : std::filesystem::directory_iterator(dir.path() / "state")) {
    if (entry.path().filename().string().starts_with("MANIFEST")) std::filesystem::resize_file(entry.path(), 7);
  }
  expect_refused(dir, file_config(dir.path()), 1, {"is damaged", "move it away"});
  EXPECT_EQ(verify().status, 1);
  write_file(dir.path() / "plain-file", "x");
  expect_refused(dir, file_config(dir.path(), "plain-file"), 1, {"plain-file"});
}

TEST(Faults, AFullDiskPausesReadingAndRoomLetsItGoOnTimeAndAgain) {
  const TempDir dir;
  const testing::SmallDisk disk(dir.path() / "disk", "64m");
  ASSERT_TRUE(disk.mounted()) << "this test mounts a tmpfs and needs to be root";
  const auto ballast = dir.path() / "disk" / "ballast";
  const auto simulated = run_to_end({GAPWATCH_BINARY, "simulate", "identical", "--prompts", "2000", "--draws", "200",
                                     "--traffic", "random", "--to", (dir.path() / "events.jsonl").string()},
                                    dir.path());
  ASSERT_EQ(simulated.status, 0) << simulated.err;
  auto config = file_config(dir.path(), "disk/state");
  config += "monitors: [{name: m, eval: simulated, evaluate_every: 1h}]\n";
  const auto checkpoint = config.find("state: {path: ");
  config.insert(checkpoint + 8, "checkpoint_every: 50ms, ");
  // Room for a database, not for the counts.
  write_file(ballast, std::string(58 << 20, 'x'));
  MonitorProcess monitor(dir.path(), config);
  const auto waits_for_room = [&] {
    return eventually([&] {
      return monitor.get("/readyz").find("no room on the disk") != std::string::npos || !monitor.process().running();
    }) && monitor.process().running();
  };
  ASSERT_TRUE(waits_for_room()) << monitor.process().err();
  const auto applied = [&] { return monitor.metric("gapwatch_events_total{result=\"applied\"}").value_or(0); };
  const auto before = applied();
  std::filesystem::remove(ballast);
  ASSERT_TRUE(eventually([&] { return applied() > before; })) << monitor.process().err();
  testing::fill_up(ballast);
  ASSERT_TRUE(waits_for_room()) << monitor.process().err();
  std::filesystem::remove(ballast);
  ASSERT_TRUE(monitor.caught_up(2000 * 5 * 200)) << monitor.process().err();
  ASSERT_TRUE(eventually([&] { return monitor.get("/readyz").find("no room") == std::string::npos; }));
  EXPECT_EQ(monitor.process().kill(SIGTERM), 0) << monitor.process().err();
  const auto inspected = run_to_end({GAPWATCH_BINARY, "state", "inspect", (dir.path() / "disk/state").string()}, dir.path());
  EXPECT_NE(inspected.out.find("2000 prompts, 10000 cells, 2000000 trials"), std::string::npos) << inspected.out << inspected.err;
}

}  // namespace
}  // namespace gapwatch
