// A small program for looking at the page without a stream: serves the snapshot of
// tests/exporters/fixture.h on a port and lets its counts move. Usage: serve_page [HOST:PORT] [FRAMES]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "exporters/routes.h"
#include "tests/exporters/fixture.h"
#include "tests/support/http_settings.h"

namespace gapwatch::exporters {
namespace {

class MovingViews final : public Views {
 public:
  std::shared_ptr<const Published> published() const override {
    const std::lock_guard lock(mutex_);
    return published_;
  }
  Result<std::vector<PromptReport>> prompts(const std::string&, const PromptQuery&) const override {
    return fixture::prompts();
  }
  Result<state::HistorySlice> history(const std::string&, const HistoryQuery&) const override { return fixture::history(); }
  Status pause() override { return {}; }
  Status resume() override { return {}; }
  Status acknowledge(const std::string&) override { return {}; }

  std::shared_ptr<const Published> frame(int number) {
    auto next = std::make_shared<Published>(fixture::published());
    const auto applied = static_cast<std::uint64_t>(number) * 1'250;
    next->stream.events["applied"] += applied;
    next->at += number * 1'000;
    next->stream.watermark = next->at - 400;
    auto full = fixture::full_monitor();
    for (auto& coverage : full.summary.coverage) coverage.gap += 0.0001 * (number % 100);
    next->monitors.back() = std::make_shared<const MonitorReport>(std::move(full));
    const std::lock_guard lock(mutex_);
    published_ = next;
    return next;
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Published> published_;
};

int serve(const std::string& listen, int frames) {
  MovingViews views;
  views.frame(0);
  const auto server = make_http_server(gapwatch::exporters::http_on(listen));
  register_routes(*server, views, {{"0.1.0", "none"}});
  if (const auto status = server->start(); !status) {
    std::fprintf(stderr, "%s\n", status.error().message.c_str());
    return 1;
  }
  std::printf("http://127.0.0.1:%u/\n", static_cast<unsigned>(server->port()));
  std::fflush(stdout);
  for (int number = 1; frames == 0 || number <= frames; ++number) {
    publish_events(*server, *views.frame(number));
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  return 0;
}

}  // namespace
}  // namespace gapwatch::exporters

int main(int count, char** arguments) {
  return gapwatch::exporters::serve(count > 1 ? arguments[1] : "127.0.0.1:0", count > 2 ? std::atoi(arguments[2]) : 0);
}
