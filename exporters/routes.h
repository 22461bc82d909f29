// The routes of interfaces.md, "HTTP", on a server: the page, /metrics, health, the JSON API, its event
// streams, pause and resume, and the acknowledgement of an alarm.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "exporters/http_server.h"
#include "exporters/prometheus.h"
#include "exporters/report_model.h"
#include "state/history.h"

namespace gapwatch::exporters {

enum class PromptSort {
  kPremium,  // largest product premium first
  kCeiling,  // largest ceiling first
  kGap,      // in the oracle gap at the alarm threshold first, then largest gain first
  kPrompt,   // by name
};

struct PromptQuery {
  PromptSort sort = PromptSort::kPremium;
  std::size_t limit = 50;  // 1..1000
};

struct HistoryQuery {
  TimeMs from = 0, to = 0;  // from <= to
  TimeMs step = 0;          // 0: everything kept, as far as it fits
};

// What the routes show and do. Called on the server's thread: answers come from snapshots and do not
// wait for the stream. Outlives the server.
class Views {
 public:
  virtual ~Views() = default;
  // The latest snapshot; null before the first.
  virtual std::shared_ptr<const Published> published() const = 0;
  // The prompts of a monitor in the wanted order, ties by name. Errors are shown with status 503.
  virtual Result<std::vector<PromptReport>> prompts(const std::string& monitor, const PromptQuery& query) const = 0;
  // Samples of what a monitor showed (state/history.h). Errors are shown with status 503.
  virtual Result<state::HistorySlice> history(const std::string& monitor, const HistoryQuery& query) const = 0;
  virtual Status pause() = 0;
  virtual Status resume() = 0;
  // Ends the standing alarm of a monitor; done soon, not yet. Errors are shown with status 503.
  virtual Status acknowledge(const std::string& monitor) = 0;
};

struct RouteSettings {
  BuildInfo build;
};

// /readyz answers 503 with a reason until the stream is ready and while it is in trouble. Everything
// about an unknown monitor is 404; a query that cannot be read is 400. A monitor's NAME in a path is
// percent-encoded and may hold a "/".
void register_routes(HttpServer& server, Views& views, RouteSettings settings);

// Sends a snapshot to everyone who listens to a monitor's events, and ends those of monitors that are no more. Any
// thread.
void publish_events(HttpServer& server, const Published& published);

}  // namespace gapwatch::exporters
