// Daemon: `gapwatch run`. One engine, an evaluator, and the port on which people look.
//
// Threads, and who owns what:
//   counting   owns the engine (source, ledger, store): polls, counts, checkpoints, and once a second
//              publishes an immutable snapshot. Nothing else touches live state.
//   evaluating asks for a monitor's table, which the counting thread copies between two batches, and runs
//              everything slow (nulls, intervals, checks) on it with its own workers.
//   serving    the HTTP server's thread: reads what was published.
//   main       waits for a signal.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "config/settings.h"
#include "exporters/report_model.h"

namespace gapwatch::app {

// Reads the config again, for POST /-/reload.
using Reload = std::function<Result<config::Settings>()>;

class Daemon {
 public:
  // Opens everything and starts the threads. Refuses with one line that says what and what to do.
  static Result<std::unique_ptr<Daemon>> start(config::Settings settings, const Clock& clock, Reload reload);
  virtual ~Daemon() = default;

  virtual std::uint16_t port() const = 0;
  // False once the stream has failed for good: the daemon should be stopped.
  virtual bool running() const = 0;
  // The latest published snapshot; null before the first.
  virtual std::shared_ptr<const exporters::Published> published() const = 0;
  // As POST /-/reload.
  virtual void reload() = 0;
  // Checkpoints, leaves the group, stops the threads. Says what failed, here or before.
  virtual Status stop() = 0;
};

}  // namespace gapwatch::app
