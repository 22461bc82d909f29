// Engine: settings made into a running pipeline: store, ledger, decoder, source.
//
// Threads: one owner thread.
#pragma once

#include <memory>

#include "base/clock.h"
#include "base/result.h"
#include "config/settings.h"
#include "ingest/pipeline.h"
#include "state/history.h"
#include "state/ledger.h"

namespace gapwatch::app {

class Engine {
 public:
  // Opens the state, then the source. Refuses with one line that says what and what to do.
  static Result<std::unique_ptr<Engine>> make(config::Settings settings, const Clock& clock);

  const config::Settings& settings() const { return settings_; }
  // Takes over the monitors of `fresh`; refuses, changing nothing, where anything else differs.
  Status take_monitors(const config::Settings& fresh);
  state::Ledger& ledger() { return *ledger_; }
  state::History& history() { return *history_; }
  ingest::Pipeline& pipeline() { return *pipeline_; }
  ingest::Source& source() { return *source_; }
  std::uint64_t state_bytes() const { return store_ ? store_->size_bytes() : 0; }

 private:
  explicit Engine(config::Settings settings) : settings_(std::move(settings)) {}

  config::Settings settings_;
  std::unique_ptr<state::Store> store_;
  std::unique_ptr<state::History> history_;
  std::unique_ptr<state::Ledger> ledger_;
  std::unique_ptr<ingest::Decoder> decoder_;
  std::unique_ptr<ingest::Source> source_;
  std::unique_ptr<ingest::DeadLetters> letters_;
  std::unique_ptr<ingest::Pipeline> pipeline_;
};

}  // namespace gapwatch::app
