// Evidence and its alarm as an operator sees them: broker, process, API, webhook, kill -9.
#include <mutex>
#include <random>

#include "exporters/http_server.h"
#include "tests/support/broker.h"
#include "tests/support/http_settings.h"
#include "tests/support/monitor_process.h"
#include "tests/support/temp_dir.h"

namespace gapwatch {
namespace {

using testing::broker;
using testing::eventually;
using testing::fresh_topic;
using testing::json_at;
using testing::MonitorProcess;
using testing::run_to_end;
using testing::TempDir;

// Takes posts; the first ones are refused.
class Receiver {
 public:
  explicit Receiver(std::size_t refusals) : refusals_(refusals) {
    server_ = exporters::make_http_server(exporters::http_on());
    server_->route("POST", "/hook", [this](const exporters::HttpRequest& request) -> exporters::HttpResponse {
      const std::lock_guard lock(mutex_);
      if (refusals_ > 0) {
        --refusals_;
        return {503, "application/json", "{}"};
      }
      taken_.push_back(request.body);
      return {200, "application/json", "{}"};
    });
    EXPECT_TRUE(server_->start());
  }
  ~Receiver() { server_->stop(); }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(server_->port()) + "/hook"; }
  std::vector<std::string> taken() const {
    const std::lock_guard lock(mutex_);
    return taken_;
  }

 private:
  std::unique_ptr<exporters::HttpServer> server_;
  mutable std::mutex mutex_;
  std::size_t refusals_;
  std::vector<std::string> taken_;
};

std::string config(const std::string& topic, const std::filesystem::path& dir, const std::string& more = "") {
  return "source:\n  kafka:\n    brokers: " + broker().bootstrap() + "\n    topics: [" + topic + "]\n    group: " + topic +
         "\n    instance: monitor-1\n    session_timeout: 6s\n" + "state: {path: " + (dir / "state").string() +
         ", checkpoint_every: 20ms}\nhttp: {listen: 127.0.0.1:0}\n"
         "monitors:\n  - name: m\n    eval: simulated\n    evaluate_every: 1s\n    nulls: {replicates: 50}\n" +
         more;
}

void run(const TempDir& dir, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), GAPWATCH_BINARY);
  const auto ran = run_to_end(arguments, dir.path());
  ASSERT_EQ(ran.status, 0) << ran.err;
}

void simulate(const TempDir& dir, const char* scenario, const std::string& to) {
  run(dir, {"simulate", scenario, "--prompts", "60", "--policies", "4", "--draws", "60", "--traffic", "random", "--to", to});
}
constexpr std::uint64_t kSimulated = 60 * 4 * 60;

void replay(const TempDir& dir, const std::string& input, const std::string& topic, int partitions) {
  run(dir, {"replay", input, "--to", "kafka://" + broker().bootstrap() + "/" + topic, "--partitions",
            std::to_string(partitions)});
}

std::string monitor_at(MonitorProcess& monitor, const std::string& pointer) {
  return json_at(monitor.get("/api/v1/monitors/m"), pointer);
}

TEST(EvidenceStream, AnAlarmIsRaisedPostedOnceAcknowledgedAndSurvivesKills) {
  const TempDir dir;
  const auto input = (dir.path() / "events.jsonl").string();
  simulate(dir, "specialist", input);
  const auto topic = fresh_topic("alarm");
  replay(dir, input, topic, 6);
  Receiver receiver(1);
  MonitorProcess monitor(dir.path(), config(topic, dir.path(), "    alarm: {webhook: \"" + receiver.url() + "\"}\n"));
  ASSERT_TRUE(monitor.caught_up(kSimulated)) << monitor.process().err();
  ASSERT_TRUE(eventually([&] { return monitor_at(monitor, "/state") == "\"evidence\""; })) << monitor.process().err();
  EXPECT_EQ(monitor.metric("gapwatch_alarm{monitor=\"m\",null=\"margin\"}"), 1.0);
  EXPECT_GT(monitor.metric("gapwatch_evidence_log10{monitor=\"m\",null=\"margin\"}").value_or(0), 2.0);
  ASSERT_TRUE(eventually([&] { return receiver.taken().size() == 1; })) << monitor.process().err();
  const auto posted = receiver.taken()[0];
  EXPECT_EQ(json_at(posted, "/id"), "\"m/1\"");
  EXPECT_EQ(json_at(posted, "/state"), "\"evidence\"");
  EXPECT_EQ(json_at(posted, "/sequential/margin/guaranteed"), "true");
  // Whether the log says that it was taken: that is durable a checkpoint later.
  ASSERT_TRUE(eventually([&] { return monitor.process().err().find("alarm 1 posted") != std::string::npos; }));
  const auto changes = json_at(monitor.get("/api/v1/monitors/m"), "/transitions");
  EXPECT_NE(changes.find("\"to\":\"evidence\""), std::string::npos) << changes;

  EXPECT_EQ(monitor.process().kill(SIGKILL), 128 + SIGKILL);
  monitor.start();
  ASSERT_TRUE(eventually([&] { return json_at(monitor.get("/readyz"), "/ready") == "true"; })) << monitor.process().err();
  ASSERT_TRUE(eventually([&] { return monitor_at(monitor, "/state") == "\"evidence\""; }));
  const auto port = monitor.port();
  ASSERT_TRUE(port);
  EXPECT_EQ(testing::http_request(*port, "POST", "/api/v1/monitors/nobody/acknowledge").status, 404);
  EXPECT_EQ(testing::http_request(*port, "POST", "/api/v1/monitors/m/acknowledge").status, 202);
  ASSERT_TRUE(eventually([&] { return monitor_at(monitor, "/state") == "\"acknowledged\""; }));
  EXPECT_EQ(testing::http_request(*port, "POST", "/api/v1/monitors/m/acknowledge").status, 409);
  EXPECT_EQ(monitor.metric("gapwatch_evidence_log10{monitor=\"m\",null=\"margin\"}"), 0.0);
  EXPECT_EQ(monitor.metric("gapwatch_alarm{monitor=\"m\",null=\"margin\"}"), 0.0);

  EXPECT_EQ(monitor.process().kill(SIGKILL), 128 + SIGKILL);
  monitor.start();
  ASSERT_TRUE(eventually([&] { return !monitor_at(monitor, "/state").empty(); }));
  EXPECT_EQ(monitor_at(monitor, "/state"), "\"acknowledged\"");
  // librdkafka 2.0 may abort when it is closed while it joins its group.
  ASSERT_TRUE(eventually([&] { return json_at(monitor.get("/readyz"), "/ready") == "true"; })) << monitor.process().err();
  EXPECT_EQ(monitor.process().kill(SIGTERM), 0) << monitor.process().err();
  EXPECT_EQ(receiver.taken().size(), 1u);
}

TEST(EvidenceStream, KilledInTheMiddleItsEvidenceIsTheReportsToTheLastDigit) {
  const TempDir dir;
  const auto input = (dir.path() / "events.jsonl").string();
  simulate(dir, "specialist", input);
  const auto topic = fresh_topic("evidence");
  replay(dir, input, topic, 1);
  MonitorProcess monitor(dir.path(), config(topic, dir.path()));
  std::mt19937_64 random(7);
  for (int death = 0; death < 8; ++death) {
    ASSERT_TRUE(monitor.port()) << monitor.process().err();
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 200));
    EXPECT_EQ(monitor.process().kill(SIGKILL), 128 + SIGKILL);
    monitor.start();
  }
  const auto ran = run_to_end({GAPWATCH_BINARY, "report", input, "--config", (dir.path() / "gapwatch.yaml").string(),
                               "--format", "json"},
                              dir.path());
  ASSERT_EQ(ran.status, 0) << ran.err;
  const auto offline = json_at(ran.out, "/monitors/0");
  std::string online;
  // All but `since`: a record of a topic has a time.
  for (const char* part : {"/sequential/margin/log10_e", "/sequential/margin/log10_peak", "/sequential/margin/log10_wealth",
                           "/sequential/redeal/log10_e", "/sequential/redeal/p_anytime", "/sequential/redeal/closed",
                           "/sequential/responses", "/attribution", "/population_gap", "/state", "/checks"}) {
    EXPECT_TRUE(eventually([&] {
      online = monitor.get("/api/v1/monitors/m");
      return json_at(online, part) == json_at(offline, part);
    })) << part << "\n" << json_at(online, part) << "\n" << json_at(offline, part);
    EXPECT_NE(json_at(offline, part), "") << part;
  }
  EXPECT_EQ(json_at(offline, "/state"), "\"evidence\"");
  EXPECT_EQ(monitor.process().kill(SIGTERM), 0) << monitor.process().err();
}

TEST(EvidenceStream, IdenticalPoliciesStayQuiet) {
  const TempDir dir;
  const auto input = (dir.path() / "events.jsonl").string();
  simulate(dir, "identical", input);
  const auto topic = fresh_topic("quiet");
  replay(dir, input, topic, 2);
  Receiver receiver(0);
  MonitorProcess monitor(dir.path(), config(topic, dir.path(), "    alarm: {webhook: \"" + receiver.url() + "\"}\n"));
  ASSERT_TRUE(monitor.caught_up(kSimulated)) << monitor.process().err();
  ASSERT_TRUE(eventually([&] { return monitor_at(monitor, "/state") == "\"quiet\""; })) << monitor.process().err();
  EXPECT_EQ(monitor.metric("gapwatch_alarm{monitor=\"m\",null=\"redeal\"}"), 0.0);
  ASSERT_TRUE(eventually([&] { return !monitor_at(monitor, "/population_gap/interval").empty(); }));
  EXPECT_EQ(std::stod(monitor_at(monitor, "/population_gap/interval/0")), 0);
  EXPECT_EQ(monitor.process().kill(SIGTERM), 0) << monitor.process().err();
  EXPECT_TRUE(receiver.taken().empty());
}

}  // namespace
}  // namespace gapwatch
