#include "app/daemon.h"

#include <fmt/format.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "app/alarm_news.h"
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
// An evaluation that has been wanted for this many intervals, and was not made, leaves the last one stale.
constexpr int kStaleIntervals = 5;

class RunningDaemon final : public Daemon, private exporters::Views {
 public:
  RunningDaemon(const Clock& clock, Reload reload) : clock_(clock), reload_(std::move(reload)), news_(clock) {}
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
  Result<state::HistorySlice> history(const std::string& monitor, const exporters::HistoryQuery& query) const override;
  Status pause() override { return want_paused(true); }
  Status resume() override { return want_paused(false); }
  Status acknowledge(const std::string& monitor) override;
  Status want_paused(bool paused);

  void count();
  bool count_once();
  void follow_wishes();
  void acknowledge_what_is_wished();
  void reload_if_wished();
  void evaluate_what_is_due(const std::vector<state::MonitorMoment>& moments);
  void publish();
  void remember(const exporters::MonitorReport& report);
  exporters::StreamHealth health() const;
  std::shared_ptr<const exporters::MonitorReport> monitor_report(state::MonitorIndex index,
                                                                  const state::MonitorMoment& moment);

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
  std::vector<std::string> to_acknowledge_;  // monitors
  std::shared_ptr<const exporters::Published> published_;
  Status outcome_;

  // Of the counting thread.
  steady_clock::time_point next_publish_{};
  std::uint64_t published_records_ = UINT64_MAX, published_evaluations_ = 0, last_records_ = 0;
  bool is_paused_ = false, idle_ = false, said_split_ = false;
  AlarmNews news_;
  std::map<std::string, std::optional<std::chrono::steady_clock::time_point>> due_since_;  // by monitor
  std::map<std::string, TimeMs> remembered_;  // the evaluation of each monitor that the history has
  std::string source_trouble_;
};

Status RunningDaemon::open(config::Settings settings) {
  server_ = exporters::make_http_server(settings.http);
  exporters::register_routes(*server_, *this, {{kVersion, kRevision}});
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
  if (server_) server_->stop();  // what it answers from outlives it
  evaluator_.reset();
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
    // What publishing found, an alarm say, outlives the process.
    if (engine_->ledger().unsaved()) {
      if (auto status = engine_->pipeline().checkpoint(); !status && outcome_.ok()) outcome_ = status;
    }
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
  acknowledge_what_is_wished();
  reload_if_wished();
}

Status RunningDaemon::acknowledge(const std::string& monitor) {
  const std::lock_guard lock(mutex_);
  to_acknowledge_.push_back(monitor);
  return {};
}

void RunningDaemon::acknowledge_what_is_wished() {
  std::vector<std::string> wished;
  {
    const std::lock_guard lock(mutex_);
    wished.swap(to_acknowledge_);
  }
  auto& book = engine_->ledger().book();
  for (const auto& name : wished) {
    const auto monitor = book.find(name);
    if (!monitor || !book.acknowledge(*monitor, clock_.now_ms())) continue;
    // Where there is no room now, the next checkpoint has it.
    if (auto status = engine_->pipeline().checkpoint(); !status) log::warn(status.error().message);
    next_publish_ = {};
  }
}

void RunningDaemon::reload_if_wished() {
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
    if (moments[index].retired) continue;
    const auto waited = evaluator_->due(moments[index], idle_);
    if (!waited || (first && *waited <= longest)) continue;
    first = index;
    longest = *waited;
  }
  if (!first) return;
  auto snapshot = engine_->ledger().snapshot(*first, kMaxDrawCells);
  if (!snapshot) {
    log::error("monitor " + moments[*first].config.name + " is not evaluated now: " + snapshot.error().message);
    return;
  }
  evaluator_->deliver(moments[*first], std::make_shared<const state::TableSnapshot>(std::move(*snapshot)));
}

std::shared_ptr<const exporters::MonitorReport> RunningDaemon::monitor_report(state::MonitorIndex index,
                                                                              const state::MonitorMoment& moment) {
  const auto evaluated = evaluator_->result(moment.config.name);
  // An evaluation of another pool says nothing about this one.
  const bool fits = evaluated && evaluated->snapshot->table.policies == moment.pool;
  auto report = fits ? make_report(moment, evaluated->evaluation.get(), evaluated->snapshot->attribution)
                     : make_report(moment, nullptr);
  bool stale = false;
  if (fits) {
    report.evaluated_at = evaluated->at;
    report.checked_at = evaluated->checked_at;
    report.live_nulls = evaluated->live_nulls;
    report.evaluation_seconds = evaluated->seconds;
    report.split_prompts = split_prompts(evaluated->snapshot->table);
    auto& since = due_since_[report.name];
    if (!evaluator_->due(moment, false)) {
      since.reset();
    } else if (!since) {
      since = clock_.steady_now();
    }
    stale = since && clock_.steady_now() - *since > kStaleIntervals * moment.config.evaluate_every;
  }
  settle(report, engine_->ledger(), index, stale, clock_.now_ms());
  return std::make_shared<const exporters::MonitorReport>(std::move(report));
}

exporters::StreamHealth RunningDaemon::health() const {
  auto& pipeline = engine_->pipeline();
  auto health = stream_health(pipeline.counters());
  const auto watermarks = pipeline.watermarks();
  for (const auto& progress : engine_->source().progress()) {
    const auto watermark = watermarks.find(progress.name);
    health.partitions.push_back({progress.name.topic, progress.name.partition, progress.next, {},
                                 watermark == watermarks.end() ? 0 : watermark->second});
    if (progress.end) health.partitions.back().lag = std::max<Offset>(0, *progress.end - progress.next);
  }
  health.cells = engine_->ledger().cells();
  health.prompts = engine_->ledger().prompts();
  health.state_bytes = engine_->state_bytes();
  health.overflow["monitor"] = engine_->ledger().catalog().beyond_monitor_cap();
  health.late = engine_->ledger().catalog().late();
  health.paused = is_paused_;
  health.ready = pipeline.assigned();
  health.split_prompts = engine_->ledger().split_prompts().count;
  health.state_writable = pipeline.trouble().empty();
  health.trouble = !pipeline.trouble().empty() ? pipeline.trouble() : source_trouble_;
  return health;
}

void RunningDaemon::publish() {
  auto& ledger = engine_->ledger();
  published_evaluations_ = evaluator_->finished();
  ledger.refresh(clock_.now_ms());
  std::vector<state::MonitorMoment> moments;
  auto fresh = std::make_shared<exporters::Published>();
  for (state::MonitorIndex index = 0; index < ledger.monitor_count(); ++index) {
    moments.push_back(ledger.moment(index));
    if (moments.back().retired) continue;
    fresh->monitors.push_back(monitor_report(index, moments.back()));
    remember(*fresh->monitors.back());
  }
  news_.follow(ledger, fresh->monitors, [this] { return engine_->pipeline().checkpoint(); });
  std::sort(fresh->monitors.begin(), fresh->monitors.end(),
            [](const auto& a, const auto& b) { return a->name < b->name; });
  evaluate_what_is_due(moments);
  fresh->stream = health();
  if (fresh->stream.split_prompts > 0 && !std::exchange(said_split_, true)) {
    log::warn("a prompt is on two partitions, so its statistics are wrong; key the topic by prompt: " +
              log::printable(ledger.split_prompts().example, 300));
  }
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

// One sample of the history for each evaluation, with the counts that were evaluated.
void RunningDaemon::remember(const exporters::MonitorReport& report) {
  auto& last = remembered_[report.name];
  if (!report.evaluation || report.evaluated_at == last) return;
  const auto evaluated = evaluator_->result(report.name);
  if (!evaluated || evaluated->at != report.evaluated_at) return;
  last = evaluated->at;
  auto then = make_report(evaluated->moment, evaluated->evaluation.get());
  then.state = report.state;
  then.live_nulls = evaluated->live_nulls;
  if (auto status = engine_->history().append(report.name, history_sample(then, evaluated->at)); !status) {
    log::warn("the history waits to be written: " + status.error().message);
  }
}

Result<state::HistorySlice> RunningDaemon::history(const std::string& monitor,
                                                   const exporters::HistoryQuery& query) const {
  if (!published()) return retry("nothing has been published yet");  // from then on there is an engine
  return engine_->history().read(monitor, query.from, query.to, query.step);
}

Result<std::vector<exporters::PromptReport>> RunningDaemon::prompts(const std::string& monitor,
                                                                    const exporters::PromptQuery& query) const {
  const auto evaluated = evaluator_->result(monitor);
  if (!evaluated) return retry("this monitor has not been evaluated yet; ask again in a moment");
  return driving_prompts(*evaluated->snapshot, evaluated->moment, evaluated->prior, query);
}

}  // namespace

Result<std::unique_ptr<Daemon>> Daemon::start(config::Settings settings, const Clock& clock, Reload reload) {
  auto daemon = std::make_unique<RunningDaemon>(clock, std::move(reload));
  if (auto status = daemon->open(std::move(settings)); !status) return status.error();
  return std::unique_ptr<Daemon>(std::move(daemon));
}

}  // namespace gapwatch::app
