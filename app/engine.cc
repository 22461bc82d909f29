#include "app/engine.h"

#include "app/load_config.h"
#include "config/schema.h"

namespace gapwatch::app {
namespace {

Result<std::unique_ptr<ingest::Source>> make_source(const config::Settings& settings) {
  const auto& source = settings.source;
  if (source.kafka) return ingest::make_kafka_source(*source.kafka);
  return ingest::make_file_source(source.stdin_stream ? std::vector<std::string>{"-"} : source.files,
                                  longest_line(settings),
                                  ingest::file_shape(settings));
}

}  // namespace

Result<std::unique_ptr<Engine>> Engine::make(config::Settings settings, const Clock& clock) {
  std::unique_ptr<Engine> engine(new Engine(std::move(settings)));
  const auto& chosen = engine->settings_;
  if (!chosen.state.path.empty()) {
    state::RocksOptions options;
    options.path = chosen.state.path;
    options.write_buffer_bytes = chosen.state.write_buffer_bytes;
    options.block_cache_bytes = chosen.state.block_cache_bytes;
    auto store = state::open_rocks_store(options);
    if (!store) return store.error();
    engine->store_ = std::move(*store);
  }
  engine->ledger_ = std::make_unique<state::Ledger>(chosen, engine->store_.get());
  if (auto status = engine->ledger_->open(); !status) {
    const auto& message = status.error().message;
    const bool named = message.find(chosen.state.path) != std::string::npos;
    return refuse(named ? message : "state folder " + chosen.state.path + ": " + message);
  }
  engine->history_ = std::make_unique<state::History>(engine->store_.get());
  if (auto status = engine->history_->open(); !status) {
    return refuse("state folder " + chosen.state.path + ": " + status.error().message);
  }
  auto decoder = ingest::make_decoder(chosen);
  if (!decoder) return decoder.error();
  engine->decoder_ = std::move(*decoder);
  auto source = make_source(chosen);
  if (!source) return source.error();
  engine->source_ = std::move(*source);
  auto letters = ingest::make_dead_letters(chosen);
  if (!letters) return letters.error();
  engine->letters_ = std::move(*letters);
  engine->pipeline_ = std::make_unique<ingest::Pipeline>(*engine->source_, *engine->decoder_, *engine->ledger_, clock,
                                                         chosen.state.checkpoint_every, engine->letters_.get());
  return engine;
}

Status Engine::take_monitors(const config::Settings& fresh) {
  auto same = fresh;
  same.monitors = settings_.monitors;
  if (config::describe(same) != config::describe(settings_)) {
    return refuse("only monitors can change while running; restart gapwatch for the rest of the new config");
  }
  settings_.monitors = fresh.monitors;
  ledger_->replace_monitors();
  return {};
}

}  // namespace gapwatch::app
