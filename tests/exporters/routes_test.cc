// The routes over a real server: what each address says, and which trouble has which status.
#include "exporters/routes.h"

#include <simdjson.h>

#include <limits>
#include <mutex>

#include "exporters/json_writer.h"
#include "tests/exporters/blocking_client.h"
#include "tests/exporters/fixture.h"
#include "tests/support/http_settings.h"

namespace gapwatch::exporters {
namespace {

using testing::HasSubstr;

constexpr const char* kSlashName = "team a/b%2F";  // in a path: team%20a%2Fb%252F

class FakeViews final : public Views {
 public:
  std::shared_ptr<const Published> published() const override {
    const std::lock_guard lock(mutex_);
    return published_;
  }
  Result<std::vector<PromptReport>> prompts(const std::string& monitor, const PromptQuery& query) const override {
    const std::lock_guard lock(mutex_);
    asked_ = {monitor, query};
    if (refuses_) return retry("the state is busy; ask again");
    return fixture::prompts();
  }
  Result<state::HistorySlice> history(const std::string& monitor, const HistoryQuery& query) const override {
    const std::lock_guard lock(mutex_);
    asked_history_ = {monitor, query};
    if (refuses_) return retry("the history is being written");
    return fixture::history();
  }
  Status pause() override { return control("pause"); }
  Status resume() override { return control("resume"); }
  Status acknowledge(const std::string& monitor) override { return control(("acknowledge " + monitor).c_str()); }

  void show(std::shared_ptr<const Published> published) {
    const std::lock_guard lock(mutex_);
    published_ = std::move(published);
  }
  void refuse_everything() {
    const std::lock_guard lock(mutex_);
    refuses_ = true;
  }
  std::pair<std::string, PromptQuery> asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }
  std::pair<std::string, HistoryQuery> asked_history() const {
    const std::lock_guard lock(mutex_);
    return asked_history_;
  }
  std::vector<std::string> controls() const {
    const std::lock_guard lock(mutex_);
    return controls_;
  }

 private:
  Status control(const char* what) {
    const std::lock_guard lock(mutex_);
    if (refuses_) return retry("the stream is ending");
    controls_.emplace_back(what);
    return {};
  }

  mutable std::mutex mutex_;
  mutable std::pair<std::string, PromptQuery> asked_;
  mutable std::pair<std::string, HistoryQuery> asked_history_;
  std::shared_ptr<const Published> published_;
  std::vector<std::string> controls_;
  bool refuses_ = false;
};

std::shared_ptr<Published> snapshot() {
  auto out = std::make_shared<Published>(fixture::published());
  auto monitor = fixture::full_monitor();
  monitor.name = kSlashName;
  out->monitors.push_back(std::make_shared<const MonitorReport>(std::move(monitor)));
  return out;
}

class RoutesTest : public testing::Test {
 protected:
  void begin(RouteSettings settings = {{"0.1.0", "abc123"}}) {
    server_ = make_http_server(http_on());
    register_routes(*server_, views_, std::move(settings));
    const auto status = server_->start();
    ASSERT_TRUE(status) << status.error().message;
  }
  ClientResponse exchange(const std::string& bytes) {
    BlockingClient client(server_->port());
    client.send(bytes);
    return client.receive().value();
  }
  ClientResponse get(const std::string& target) { return BlockingClient(server_->port()).get(target).value(); }
  ClientResponse post(const std::string& target) {
    return exchange("POST " + target + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
  }

  FakeViews views_;
  std::unique_ptr<HttpServer> server_;  // ends before what it shows
};

TEST_F(RoutesTest, IsHealthyBeforeThereIsAnythingToShow) {
  begin();
  EXPECT_EQ(get("/healthz").body, R"({"healthy":true})");
  EXPECT_THAT(get("/runbook").body, HasSubstr("id=\"gapwatchtargetdown\""));
  EXPECT_EQ(get("/readyz").status, 503);
  EXPECT_THAT(get("/readyz").body, HasSubstr("nothing has been published"));
  EXPECT_EQ(get("/api/v1/monitors").status, 503);
  EXPECT_EQ(get("/api/v1/monitors/math500").status, 503);
  EXPECT_THAT(get("/metrics").body, HasSubstr("gapwatch_build_info{version=\"0.1.0\",revision=\"abc123\"} 1"));
}

TEST_F(RoutesTest, IsReadyOnlyWhileTheStreamIs) {
  begin();
  auto published = snapshot();
  views_.show(published);
  EXPECT_EQ(get("/readyz").status, 200);
  EXPECT_EQ(get("/readyz").body, R"({"ready":true})");
  auto starting = std::make_shared<Published>(*published);
  starting->stream.ready = false;
  views_.show(starting);
  EXPECT_EQ(get("/readyz").status, 503);
  EXPECT_THAT(get("/readyz").body, HasSubstr("not assigned and caught up"));
  auto troubled = std::make_shared<Published>(*published);
  troubled->stream.trouble = "the disk is full";
  views_.show(troubled);
  EXPECT_EQ(get("/readyz").status, 503);
  EXPECT_EQ(get("/readyz").body, R"({"ready":false,"reason":"the disk is full"})");
  EXPECT_EQ(get("/healthz").status, 200) << "trouble of the stream is no reason to be restarted";
}

TEST_F(RoutesTest, ShowsMetricsAndMonitors) {
  begin();
  views_.show(snapshot());
  const auto metrics = get("/metrics");
  EXPECT_EQ(metrics.fields.at("content-type"), kMetricsContentType);
  EXPECT_THAT(metrics.body, HasSubstr("gapwatch_ceiling_ratio{monitor=\"math500\"} 0.8375"));
  EXPECT_THAT(get("/api/v1/monitors").body, HasSubstr(R"("version":"0.1.0")"));
  const auto monitor = get("/api/v1/monitors/math500");
  EXPECT_EQ(monitor.status, 200);
  simdjson::dom::parser parser;
  EXPECT_EQ(parser.parse(monitor.body).at_pointer("/oracle/ceiling").get_double().value(), 0.8375);
}

TEST_F(RoutesTest, UnknownMonitorsAndPlacesAreNotFound) {
  begin();
  views_.show(snapshot());
  for (const char* target : {"/api/v1/monitors/nobody", "/api/v1/monitors/nobody/prompts", "/api/v1/monitors/nobody/history",
                             "/api/v1/monitors/nobody/events", "/api/v1/monitors/math500/other", "/api/v1/monitors/",
                             "/api/v1/monitors/math500/", "/api/v1/monitors//prompts", "/api/v2", "/assets/none.js",
                             "/assets/", "/index.html", "/assets/../index.html"}) {
    const auto answer = get(target);
    EXPECT_EQ(answer.status, 404) << target;
    EXPECT_THAT(answer.body, HasSubstr("\"error\"")) << target;
  }
  EXPECT_EQ(post("/api/v1/monitors").status, 405);
}

TEST_F(RoutesTest, NamesAreDecodedOnceAndMayHoldASlash) {
  begin();
  views_.show(snapshot());
  const std::string path = "/api/v1/monitors/team%20a%2Fb%252F";
  simdjson::dom::parser parser;
  const auto monitor = get(path);
  ASSERT_EQ(monitor.status, 200) << monitor.body;
  EXPECT_EQ(parser.parse(monitor.body).at_pointer("/name").get_string().value(), kSlashName);
  EXPECT_EQ(get(path + "/prompts").status, 200);
  EXPECT_EQ(views_.asked().first, kSlashName);
  EXPECT_EQ(get(path + "/history").status, 200);
  EXPECT_EQ(views_.asked_history().first, kSlashName);
  EXPECT_EQ(get("/api/v1/monitors/team%20a%2Fb%2F").status, 404) << "another name";
  publish_events(*server_, *views_.published());
  BlockingClient client(server_->port());
  client.send("GET " + path + "/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_TRUE(client.read_until(R"("name":"team a/b%2F")"));
}

TEST_F(RoutesTest, PromptsAreAskedForAsTheQuerySays) {
  begin();
  views_.show(snapshot());
  const std::string path = "/api/v1/monitors/math500/prompts";
  EXPECT_EQ(get(path).status, 200);
  EXPECT_EQ(views_.asked().second.sort, PromptSort::kPremium);
  EXPECT_EQ(views_.asked().second.limit, 50u);
  EXPECT_EQ(get(path + "?sort=ceiling&limit=1").status, 200);
  EXPECT_EQ(views_.asked().second.sort, PromptSort::kCeiling);
  EXPECT_EQ(views_.asked().second.limit, 1u);
  EXPECT_EQ(get(path + "?sort=gap").status, 200);
  EXPECT_EQ(views_.asked().second.sort, PromptSort::kGap);
  EXPECT_EQ(get(path + "?limit=1000&sort=prompt&other=x").status, 200);
  EXPECT_EQ(views_.asked().second.sort, PromptSort::kPrompt);
  EXPECT_EQ(views_.asked().second.limit, 1000u);
  for (const char* query : {"?sort=", "?sort=Premium", "?sort=size", "?limit=0", "?limit=1001", "?limit=-1", "?limit=",
                            "?limit=1.5", "?limit=%205", "?limit=5x", "?limit=99999999999999999999"}) {
    const auto answer = get(path + query);
    EXPECT_EQ(answer.status, 400) << query;
    EXPECT_THAT(answer.body, HasSubstr("\"error\"")) << query;
  }
  views_.refuse_everything();
  EXPECT_EQ(get(path).status, 503);
  EXPECT_EQ(get(path).body, R"({"error":"the state is busy; ask again"})");
}

TEST_F(RoutesTest, HistoryIsAskedForAsTheQuerySays) {
  begin();
  views_.show(snapshot());
  const std::string path = "/api/v1/monitors/math500/history";
  EXPECT_EQ(get(path).status, 200);
  EXPECT_EQ(views_.asked_history().first, "math500");
  EXPECT_EQ(views_.asked_history().second.from, 0);
  EXPECT_EQ(views_.asked_history().second.to, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(views_.asked_history().second.step, 0);
  EXPECT_EQ(get(path + "?from=-5&to=10&step=2").status, 200);
  EXPECT_EQ(views_.asked_history().second.from, -5);
  EXPECT_EQ(views_.asked_history().second.to, 10);
  EXPECT_EQ(views_.asked_history().second.step, 2);
  EXPECT_EQ(get(path + "?from=10&to=10").status, 200);
  for (const char* query : {"?from=11&to=10", "?step=-1", "?from=x", "?to=", "?step=1e3", "?to=9223372036854775808"}) {
    EXPECT_EQ(get(path + query).status, 400) << query;
  }
  views_.refuse_everything();
  EXPECT_EQ(get(path).status, 503);
  EXPECT_THAT(get(path).body, HasSubstr("being written"));
}

TEST_F(RoutesTest, ASampleOfTheHistorySaysWhatTheMonitorShowed) {
  begin();
  views_.show(snapshot());
  EXPECT_EQ(get("/api/v1/monitors/math500/history").body,
            R"({"monitor":"math500","step":60000,"samples":[{"at":1790000000000,"state":"insufficient",)"
            R"("prompts":{"complete":0,"total":3},"trials":0,"coupling":"product","comparator":null,"ceiling":null,)"
            R"("union":null,"union_upper":null,"noise_share":null,"evidence":{"redeal":{"log10_e":null,"alarm":false},)"
            R"("margin":{"log10_e":null,"alarm":false}},"coverage":[]},{"at":1790000060000,"state":"evidence",)"
            R"("prompts":{"complete":500,"total":500},"trials":165000,"coupling":"paired","comparator":0.75,)"
            R"("ceiling":0.8125,"union":0.875,"union_upper":0.9375,"noise_share":0.5,"evidence":{"redeal":)"
            R"({"log10_e":-0.25,"alarm":false},"margin":{"log10_e":2.5,"alarm":true}},"coverage":[{"tau":0.1,)"
            R"("gap":0.125,"nulls":{"redeal":null,"margin":{"mean":0.0625,"p05":0.03125,"p95":0.09375,)"
            R"("excess":0.0625}}}]}]})");
}

TEST_F(RoutesTest, PauseAndResumeArePosts) {
  begin();
  EXPECT_EQ(post("/-/pause").body, R"({"paused":true})");
  EXPECT_EQ(post("/-/resume").body, R"({"paused":false})");
  EXPECT_THAT(views_.controls(), testing::ElementsAre("pause", "resume"));
  EXPECT_EQ(get("/-/pause").status, 405);
  EXPECT_EQ(exchange("POST /-/pause HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\nContent-Length: 0\r\n\r\n")
                .status, 403);
  EXPECT_EQ(views_.controls().size(), 2u);
  views_.refuse_everything();
  EXPECT_EQ(post("/-/resume").status, 503);
  EXPECT_THAT(post("/-/pause").body, HasSubstr("the stream is ending"));
}

}  // namespace
}  // namespace gapwatch::exporters
