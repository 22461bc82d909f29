#include "app/daemon.h"

#include <fmt/format.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "app/engine.h"
#include "app/evaluator.h"
#include "app/reporting.h"
#include "app/version.h"
#include "base/log.h"
#include "exporters/http_server.h"
#include "exporters/routes.h"

namespace gapwatch::app {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kPoll{100};
constexpr milliseconds kPublishEvery{1'000};
// An evaluation older than this many intervals, with changes since, is stale.
constexpr int kStaleIntervals = 5;

class RunningDaemon final : public Daemon, private exporters::Views {
 public:
  RunningDaemon(const Clock& clock, Reload reload) : clock_(clock), reload_(std::move(reload)) {}
  ~RunningDaemon() override { (void)stop(); }

  Status open(config::Settings settings);

  std::uint16_t port() const override { return server_->port(); }
  bool running() const override { return !failed_; }
  std::shared_ptr<const exporters::Published> published() const override {
    const std::lock_guard lock(mutex_);
    return published_;
  }
  void reload() override { reload_wanted_ = true; }
  Status stop() override;

 private:
  Result<std::vector<exporters::PromptReport>> prompts(const std::string& monitor,
                                                       const exporters::PromptQuery& query) const override;
  Status pause() override { return want_paused(true); }
  Status resume() override { return want_paused(false); }
  Status want_paused(bool paused);

  void count();
  bool count_once();
  void follow_wishes();
  void evaluate_what_is_due(const std::vector<state::MonitorMoment>& moments);
  void publish();
  exporters::StreamHealth health() const;
  std::shared_ptr<const exporters::MonitorReport> monitor_report(const state::MonitorMoment& moment) const;

  const Clock& clock_;
  const Reload reload_;
  std::unique_ptr<exporters::HttpServer> server_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Evaluator> evaluator_;
  std::thread counting_;
  std::atomic<bool> stopping_{false}, failed_{false}, paused_{false}, reload_wanted_{false};

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool reloaded_ = true;
  std::shared_ptr<const exporters::Published> published_;
  Status outcome_;

  // Of the counting thread.
  steady_clock::time_point next_publish_{};
  std::uint64_t published_records_ = UINT64_MAX, published_evaluations_ = 0, last_records_ = 0;
  bool is_paused_ = false, idle_ = false;
  std::string source_trouble_;
};

Status RunningDaemon::open(config::Settings settings) {
  server_ = exporters::make_http_server(settings.http);
  exporters::register_routes(*server_, *this, {{kVersion, kRevision}, {}});
  server_->route("POST", "/-/reload", [this](const exporters::HttpRequest&) -> exporters::HttpResponse {
    reload();
    return {202, "application/json", "{\"reload\":\"asked for\"}"};
  });
  if (auto status = server_->start(); !status) return status;
  const auto threads = settings.threads;
  auto engine = Engine::make(std::move(settings), clock_);
  if (!engine) return engine.error();
  engine_ = std::move(*engine);
  evaluator_ = std::make_unique<Evaluator>(clock_, threads);
  counting_ = std::thread([this] { count(); });
  return {};
}

Status RunningDaemon::want_paused(bool paused) {
  paused_ = paused;
  return {};
}

Status RunningDaemon::stop() {
  stopping_ = true;
  wake_.notify_all();
  if (counting_.joinable()) counting_.join();
  evaluator_.reset();
  if (server_) server_->stop();
  return outcome_;
}

void RunningDaemon::count() {
  while (!stopping_ && count_once()) {
  }
  idle_ = true;
  // A finite source has ended: what it said stays on show, and is evaluated, until the daemon is stopped.
  if (!failed_) outcome_ = engine_->pipeline().checkpoint();
  while (!stopping_ && !failed_) {
    follow_wishes();
    if (clock_.steady_now() >= next_publish_ || evaluator_->finished() != published_evaluations_) publish();
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, kPoll, [this] { return stopping_.load(); });
  }
  if (auto status = engine_->pipeline().close(); !status && outcome_.ok()) outcome_ = status;
}

// One poll and what is due after it. False: the stream is over, well or not.
bool RunningDaemon::count_once() {
  follow_wishes();
  auto more = engine_->pipeline().step(kPoll);
  if (!more && more.error().action != Action::kRetry) {
    log::error(more.error().message);
    outcome_ = more.error();
    failed_ = true;
    return false;
  }
  source_trouble_ = more ? "" : more.error().message;
  if (!more) log::warn(more.error().message);

  const auto records = engine_->pipeline().counters().records;
  idle_ = records == last_records_;
  last_records_ = records;
  const bool news = records != published_records_ || evaluator_->finished() != published_evaluations_;
  const bool over = more && !*more;
  if (over || clock_.steady_now() >= next_publish_ || (idle_ && news)) publish();
  return !over;
}

void RunningDaemon::follow_wishes() {
  if (const bool wanted = paused_; wanted != is_paused_) {
    is_paused_ = wanted;
    if (wanted) {
      engine_->pipeline().pause();
    } else {
      engine_->pipeline().resume();
    }
    log::info(wanted ? "paused" : "resumed");
  }
  if (!reload_wanted_.exchange(false)) return;
  auto fresh = reload_();
  auto status = fresh ? engine_->take_monitors(*fresh) : Status(fresh.error());
  if (status) {
    evaluator_->forget();
    log::info("config read again");
  } else {
    log::error("config not taken over: " + status.error().message);
  }
  const std::lock_guard lock(mutex_);
  reloaded_ = status.ok();
}

void RunningDaemon::evaluate_what_is_due(const std::vector<state::MonitorMoment>& moments) {
  std::optional<state::MonitorIndex> first;
  steady_clock::duration longest{};
  for (state::MonitorIndex index = 0; index < moments.size(); ++index) {
    const auto waited = evaluator_->due(moments[index], idle_);
    if (!waited || (first && *waited <= longest)) continue;
    first = index;
    longest = *waited;
  }
  if (!first) return;
  auto snapshot = engine_->ledger().snapshot(*first, kMaxDrawCells);
  evaluator_->deliver(moments[*first], std::make_shared<const state::TableSnapshot>(std::move(snapshot)));
}

std::shared_ptr<const exporters::MonitorReport> RunningDaemon::monitor_report(
    const state::MonitorMoment& moment) const {
  const auto evaluated = evaluator_->result(moment.config.name);
  // An evaluation of another pool says nothing about this one.
  const bool fits = evaluated && evaluated->snapshot->table.policies == moment.pool;
  auto report = make_report(moment, fits ? evaluated->evaluation.get() : nullptr);
  if (fits) {
    report.evaluated_at = evaluated->at;
    report.evaluation_seconds = evaluated->seconds;
    const auto age = milliseconds(clock_.now_ms() - evaluated->at);
    if (report.state == "quiet" && age > kStaleIntervals * moment.config.evaluate_every && evaluator_->due(moment, true)) {
      report.state = "stale";
    }
  }
  return std::make_shared<const exporters::MonitorReport>(std::move(report));
}

exporters::StreamHealth RunningDaemon::health() const {
  auto& pipeline = engine_->pipeline();
  auto health = stream_health(pipeline.counters());
  for (const auto& progress : engine_->source().progress()) {
    health.partitions.push_back({progress.name.topic, progress.name.partition, progress.next, {}});
    if (progress.end) health.partitions.back().lag = std::max<Offset>(0, *progress.end - progress.next);
  }
  health.cells = engine_->ledger().cells();
  health.prompts = engine_->ledger().prompts();
  health.state_bytes = engine_->state_bytes();
  health.overflow["monitor"] = engine_->ledger().catalog().beyond_monitor_cap();
  health.paused = is_paused_;
  health.ready = pipeline.assigned();
  health.trouble = !pipeline.trouble().empty() ? pipeline.trouble() : source_trouble_;
  return health;
}

void RunningDaemon::publish() {
  auto& ledger = engine_->ledger();
  published_evaluations_ = evaluator_->finished();
  ledger.refresh();
  std::vector<state::MonitorMoment> moments;
  auto fresh = std::make_shared<exporters::Published>();
  for (state::MonitorIndex index = 0; index < ledger.monitor_count(); ++index) {
    moments.push_back(ledger.moment(index));
    fresh->monitors.push_back(monitor_report(moments.back()));
  }
  std::sort(fresh->monitors.begin(), fresh->monitors.end(),
            [](const auto& a, const auto& b) { return a->name < b->name; });
  evaluate_what_is_due(moments);
  fresh->stream = health();
  fresh->at = clock_.now_ms();
  published_records_ = engine_->pipeline().counters().records;
  next_publish_ = clock_.steady_now() + kPublishEvery;
  {
    const std::lock_guard lock(mutex_);
    fresh->stream.config_reload_success = reloaded_;
    published_ = fresh;
  }
  exporters::publish_events(*server_, *fresh);
}

Result<std::vector<exporters::PromptReport>> RunningDaemon::prompts(const std::string& monitor,
                                                                    const exporters::PromptQuery& query) const {
  const auto evaluated = evaluator_->result(monitor);
  if (!evaluated) return retry("this monitor has not been evaluated yet; ask again in a moment");
  return driving_prompts(*evaluated->snapshot, evaluated->alarm_threshold, evaluated->prior, query);
}

}  // namespace

Result<std::unique_ptr<Daemon>> Daemon::start(config::Settings settings, const Clock& clock, Reload reload) {
  auto daemon = std::make_unique<RunningDaemon>(clock, std::move(reload));
  if (auto status = daemon->open(std::move(settings)); !status) return status.error();
  return std::unique_ptr<Daemon>(std::move(daemon));
}

}  // namespace gapwatch::app
