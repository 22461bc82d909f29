// Posting: what counts as taken, refused and unknown; and an alarm's news, once.
#include "app/webhook.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/streambuf.hpp>
#include <mutex>
#include <thread>

#include "app/alarm_news.h"
#include "exporters/http_server.h"
#include "tests/support/eventually.h"
#include "tests/support/evidence.h"
#include "tests/support/http_settings.h"

namespace gapwatch::app {
namespace {

using testing::eventually;
using Tcp = boost::asio::ip::tcp;

// Answers each post with the next of `statuses`, the last of them for ever.
class Receiver {
 public:
  explicit Receiver(std::vector<int> statuses) : statuses_(std::move(statuses)) {
    server_ = exporters::make_http_server(exporters::http_on());
    server_->route("POST", "/hook", [this](const exporters::HttpRequest& request) -> exporters::HttpResponse {
      const std::lock_guard lock(mutex_);
      bodies_.push_back(request.body);
      return {statuses_[std::min(bodies_.size(), statuses_.size()) - 1], "application/json", "{}"};
    });
    EXPECT_TRUE(server_->start());
  }
  ~Receiver() { server_->stop(); }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(server_->port()) + "/hook"; }
  std::vector<std::string> bodies() const {
    const std::lock_guard lock(mutex_);
    return bodies_;
  }

 private:
  std::unique_ptr<exporters::HttpServer> server_;
  mutable std::mutex mutex_;
  std::vector<int> statuses_;
  std::vector<std::string> bodies_;
};

PostResult send(Webhook& webhook, const std::string& url) {
  webhook.post({url, R"({"a":1})", "id"});
  std::optional<PostEnd> end;
  EXPECT_TRUE(eventually([&] { return (end = webhook.result()).has_value(); }));
  EXPECT_EQ(end->key, "id");
  return end->result;
}

TEST(Webhook, AnAnswerOf2xxIsTakenAndAnotherIsRefused) {
  Receiver receiver({202, 503, 404, 504});
  Webhook webhook;
  EXPECT_EQ(send(webhook, receiver.url()).outcome, PostOutcome::kTaken);
  const auto refused = send(webhook, receiver.url());
  EXPECT_EQ(refused.outcome, PostOutcome::kRefused);
  EXPECT_EQ(refused.detail, "answered 503");
  EXPECT_EQ(send(webhook, receiver.url()).outcome, PostOutcome::kRefused);
  EXPECT_EQ(send(webhook, receiver.url()).outcome, PostOutcome::kUnknown) << "a gateway may have passed it on";
  EXPECT_EQ(receiver.bodies().size(), 4u);
  EXPECT_EQ(receiver.bodies()[0], R"({"a":1})");
}

TEST(Webhook, NobodyThereIsRefused) {
  boost::asio::io_context context;
  Tcp::acceptor acceptor(context, {Tcp::v4(), 0});
  const auto port = std::to_string(acceptor.local_endpoint().port());
  acceptor.close();
  Webhook webhook;
  EXPECT_EQ(send(webhook, "http://127.0.0.1:" + port).outcome, PostOutcome::kRefused);
  EXPECT_EQ(send(webhook, "https://127.0.0.1:" + port).outcome, PostOutcome::kRefused);
}

TEST(Webhook, OneThatIsNoTlsServerIsRefused) {
  Receiver receiver({200});
  Webhook webhook;
  auto url = receiver.url();
  url.replace(0, 4, "https");
  EXPECT_EQ(send(webhook, url).outcome, PostOutcome::kRefused);
  EXPECT_TRUE(receiver.bodies().empty());
}

TEST(Webhook, SentWithoutAnAnswerIsUnknown) {
  boost::asio::io_context context;
  Tcp::acceptor acceptor(context, {Tcp::v4(), 0});
  // Reads the request and hangs up; then reads one and says nothing at all.
  std::thread silent([&] {
    for (const bool hang_up : {true, false}) {
      auto socket = acceptor.accept();
      boost::asio::streambuf buffer;
      boost::asio::read_until(socket, buffer, "{\"a\":1}");
      boost::system::error_code ignored;
      if (!hang_up) boost::asio::read_until(socket, buffer, "never", ignored);  // until the other side gives up
    }
  });
  const auto url = "http://127.0.0.1:" + std::to_string(acceptor.local_endpoint().port()) + "/";
  {
    Webhook webhook(std::chrono::milliseconds(300));
    EXPECT_EQ(send(webhook, url).outcome, PostOutcome::kUnknown);
    EXPECT_EQ(send(webhook, url).outcome, PostOutcome::kUnknown);
  }
  silent.join();
}

// A ledger whose one monitor has raised its alarm.
struct Alarmed {
  config::Settings settings;
  state::MemoryStore store;
  std::unique_ptr<state::Ledger> ledger;
  std::vector<std::shared_ptr<const exporters::MonitorReport>> reports{report_of("m")};

  explicit Alarmed(const std::string& url, const std::string& other_url = "") {
    // The first is not shown: nobody hears of its eval. Alarms and reports are matched by name.
    for (const auto& [name, eval] : {std::pair{"quiet", "elsewhere"}, {"m", "eval"}, {"other", "eval"}}) {
      auto& monitor = settings.monitors.emplace_back();
      monitor.name = name;
      monitor.eval = eval;
      monitor.scorer = "scorer";
      monitor.webhook = name == std::string("other") ? other_url : url;
    }
    open();
    const testing::PoolStream stream{.seed = 3, .specialists = true};
    for (std::uint64_t n = 0; n < 12'000; ++n) ledger->shard("t", 0)->apply(stream.event(n));
    for (const state::MonitorIndex index : {1, 2}) {
      EXPECT_EQ(ledger->book().settle(index, {40, true, false, true, 1})->to, state::AlarmState::kEvidence);
    }
  }
  static std::shared_ptr<const exporters::MonitorReport> report_of(const std::string& name) {
    auto report = std::make_shared<exporters::MonitorReport>();
    report->name = name;
    return report;
  }
  void open() {
    ledger = std::make_unique<state::Ledger>(settings, &store);
    EXPECT_TRUE(ledger->open());
    EXPECT_TRUE(ledger->take_partition("t", 0));
  }
  state::Delivery delivery(state::MonitorIndex index = 1) { return ledger->book().at(index).delivery; }
  Status save() { return ledger->checkpoint(); }
};

TEST(AlarmNews, IsSentAgainWhileItIsRefusedAndNeverAfterItWasTaken) {
  Receiver receiver({503, 500, 200});
  Alarmed alarmed(receiver.url());
  ManualClock clock(1'000);
  AlarmNews news(clock);
  const auto follow = [&] { news.follow(*alarmed.ledger, alarmed.reports, [&] { return alarmed.save(); }); };
  for (std::size_t attempt = 1; attempt <= 3; ++attempt) {
    follow();
    ASSERT_EQ(alarmed.delivery(), state::Delivery::kUnderWay);
    ASSERT_TRUE(eventually([&] {
      follow();
      return alarmed.delivery() != state::Delivery::kUnderWay;
    }));
    EXPECT_EQ(receiver.bodies().size(), attempt);
    follow();
    EXPECT_EQ(receiver.bodies().size(), attempt) << "not before its time";
    clock.advance(std::chrono::minutes(10));
  }
  EXPECT_EQ(alarmed.delivery(), state::Delivery::kDelivered);
  follow();
  ASSERT_TRUE(alarmed.save());
  alarmed.open();
  follow();
  EXPECT_EQ(alarmed.delivery(), state::Delivery::kDelivered);
  EXPECT_EQ(receiver.bodies().size(), 3u);
  EXPECT_NE(receiver.bodies()[0].find(R"("id":"m/1")"), std::string::npos) << receiver.bodies()[0];
}

TEST(AlarmNews, AReceiverThatDoesNotAnswerHoldsUpNoOther) {
  boost::asio::io_context context;
  Tcp::acceptor silent(context, {Tcp::v4(), 0});  // connections wait for ever
  Receiver receiver({200});
  Alarmed alarmed(receiver.url(), "http://127.0.0.1:" + std::to_string(silent.local_endpoint().port()) + "/");
  alarmed.reports.insert(alarmed.reports.begin(), Alarmed::report_of("other"));
  ManualClock clock(1'000);
  AlarmNews news(clock);
  ASSERT_TRUE(eventually([&] {
    news.follow(*alarmed.ledger, alarmed.reports, [&] { return alarmed.save(); });
    return alarmed.delivery() == state::Delivery::kDelivered;
  }));
  EXPECT_EQ(alarmed.delivery(2), state::Delivery::kUnderWay);
  EXPECT_EQ(receiver.bodies().size(), 1u);
}

TEST(AlarmNews, NothingIsSentBeforeItIsKnownForGood) {
  Receiver receiver({200});
  Alarmed alarmed(receiver.url());
  ManualClock clock(1'000);
  AlarmNews news(clock);
  alarmed.store.fail_next_writes(1);
  news.follow(*alarmed.ledger, alarmed.reports, [&] { return alarmed.save(); });
  EXPECT_EQ(alarmed.delivery(), state::Delivery::kPending);
  EXPECT_TRUE(receiver.bodies().empty());
}

TEST(AlarmNews, AProcessThatDiesWhileSendingNeverSendsAgain) {
  Receiver receiver({200});
  Alarmed alarmed(receiver.url());
  ManualClock clock(1'000);
  {
    AlarmNews news(clock);
    news.follow(*alarmed.ledger, alarmed.reports, [&] { return alarmed.save(); });
    ASSERT_TRUE(eventually([&] { return !receiver.bodies().empty(); }));
  }
  alarmed.open();
  AlarmNews news(clock);
  news.follow(*alarmed.ledger, alarmed.reports, [&] { return alarmed.save(); });
  EXPECT_EQ(alarmed.delivery(), state::Delivery::kUnknown);
  EXPECT_EQ(receiver.bodies().size(), 1u);
}

}  // namespace
}  // namespace gapwatch::app
