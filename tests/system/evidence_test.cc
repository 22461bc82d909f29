// Evidence and its alarm as an operator sees them: broker, process, API, webhook, kill -9.
#include <mutex>

#include "exporters/http_server.h"
#include "tests/support/broker_stream.h"
#include "tests/support/http_settings.h"
#include "tests/support/temp_dir.h"

namespace gapwatch {
namespace {

using testing::eventually;
using testing::fresh_topic;
using testing::json_at;
using testing::MonitorProcess;
using testing::replay;
using testing::simulated_config;
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

void simulate(const TempDir& dir, const char* scenario, const std::filesystem::path& to) {
  testing::simulate(dir.path(), scenario, 60, 4, 60, to);
}
constexpr std::uint64_t kSimulated = 60 * 4 * 60;

std::string monitor_at(MonitorProcess& monitor, const std::string& pointer) {
  return json_at(monitor.get("/api/v1/monitors/m"), pointer);
}

TEST(EvidenceStream, AnAlarmIsRaisedPostedOnceAcknowledgedAndSurvivesKills) {
  const TempDir dir;
  const auto input = dir.path() / "events.jsonl";
  simulate(dir, "specialist", input);
  const auto topic = fresh_topic("alarm");
  replay(dir.path(), input, topic, 6);
  Receiver receiver(1);
  MonitorProcess monitor(dir.path(), simulated_config(topic, dir.path(), "    alarm: {webhook: \"" + receiver.url() + "\"}\n"));
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
  constexpr int kDeaths = 8;
  const TempDir dir;
  const auto input = dir.path() / "events.jsonl";
  simulate(dir, "specialist", input);
  // A third without a number: read again, they would be bet on again.
  auto events = testing::lines_of(testing::read_file(input));
  for (std::size_t i = 0; i < events.size(); i += 3) events[i] = testing::without_draw(events[i]);
  testing::write_lines(input, events);
  const auto name = fresh_topic("evidence");
  testing::TopicWriter topic(name, 1);
  MonitorProcess monitor(dir.path(), simulated_config(name, dir.path()));
  EXPECT_GE(testing::kill_amid(monitor, topic, events, kDeaths, 7), kDeaths / 4);
  const auto offline = testing::offline_monitor(dir.path(), input);
  std::string online;
  // All but `since`: a record of a topic has a time.
  for (const char* part : {"/sequential/margin/log10_e", "/sequential/margin/log10_peak", "/sequential/margin/log10_wealth",
                           "/sequential/redeal/log10_e", "/sequential/redeal/p_anytime", "/sequential/redeal/closed",
                           "/sequential/responses", "/attribution", "/population_gap", "/state", "/checks"}) {
    ASSERT_TRUE(eventually([&] {
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
  const auto input = dir.path() / "events.jsonl";
  simulate(dir, "identical", input);
  const auto topic = fresh_topic("quiet");
  replay(dir.path(), input, topic, 2);
  Receiver receiver(0);
  MonitorProcess monitor(dir.path(), simulated_config(topic, dir.path(), "    alarm: {webhook: \"" + receiver.url() + "\"}\n"));
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
