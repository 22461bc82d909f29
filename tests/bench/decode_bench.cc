// The cost of one event on its way from bytes to state::Event, on one core.

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "ingest/decoder.h"
#include "ingest/fields.h"
#include "ingest/flat_reader.h"
#include "ingest/json_reader.h"

namespace gapwatch::ingest {
namespace {

// Events as the usual producer writes them, some 130 bytes each; `tail` is written into each.
std::vector<std::string> make_events(std::string_view tail) {
  std::vector<std::string> events;
  for (int i = 0; i < 10'000; ++i) {
    const auto number = [](int value) { return std::to_string(value); };
    events.push_back(R"({"eval":"math500","scorer":"lexical","prompt":"math500-)" + number(1000 + i * 37 % 2000) +
                     R"(","policy":"qwen2.5-)" + number(i % 20) + R"(b","draw":)" + number(i % 250) +
                     R"(,"correct":)" + number(i * 7 % 3 == 0) + R"(,"ts":)" + number(1764000) +
                     number(100000 + i * 7) + std::string(tail) + "}");
  }
  return events;
}

void decode_all(benchmark::State& state, const std::vector<std::string>& events) {
  const auto decoder = make_decoder("native", {}).value().release();
  const std::unique_ptr<Decoder> owner(decoder);
  std::size_t bytes = 0, next = 0;
  for (auto _ : state) {
    Record record;
    record.value = events[next];
    const auto& decoded = decoder->decode(record, "topic");
    if (decoded.action != Decoded::Action::kAccept) state.SkipWithError("an event was not accepted");
    benchmark::DoNotOptimize(decoded.events.data());
    bytes += events[next].size();
    if (++next == events.size()) next = 0;
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
  state.SetItemsProcessed(state.iterations());
}

void plain_event(benchmark::State& state) { decode_all(state, make_events("")); }
void event_with_escape(benchmark::State& state) { decode_all(state, make_events(R"(,"slice":"a\/b")")); }
void event_with_nesting(benchmark::State& state) { decode_all(state, make_events(R"(,"meta":{"a":[1,2]})")); }
void event_with_time_text(benchmark::State& state) {
  auto events = make_events("");
  for (auto& event : events) {
    const auto at = event.find("\"ts\":") + 5;
    event.replace(at, event.size() - at, R"("2026-11-29T23:53:13.250Z"})");
  }
  decode_all(state, events);
}

template <typename Read>
void read_all(benchmark::State& state, Read read) {
  const auto events = make_events("");
  Fields fields;
  std::size_t next = 0;
  for (auto _ : state) {
    read(events[next], fields);
    benchmark::DoNotOptimize(fields.present);
    if (++next == events.size()) next = 0;
  }
  state.SetItemsProcessed(state.iterations());
}

void read_only_flat(benchmark::State& state) {
  read_all(state, [](const std::string& text, Fields& fields) { return read_flat(text, fields); });
}
void read_only_general(benchmark::State& state) {
  JsonReader reader;
  read_all(state, [&](const std::string& text, Fields& fields) { return reader.read(text, fields).has_value(); });
}

BENCHMARK(plain_event);
BENCHMARK(event_with_escape);
BENCHMARK(event_with_nesting);
BENCHMARK(event_with_time_text);
BENCHMARK(read_only_flat);
BENCHMARK(read_only_general);

}  // namespace
}  // namespace gapwatch::ingest

BENCHMARK_MAIN();
