// Any bytes, as one record of a format: every part is read, and what comes out keeps its promises.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "ingest/decoder.h"
#include "ingest/kcat_record.h"

namespace gapwatch::ingest {
namespace {

void require(bool promise) {
  if (!promise) std::abort();
}

// The native reader's view of what is in an envelope; any other format as it is.
std::unique_ptr<Decoder> make() {
  const std::string format = GAPWATCH_FUZZ_FORMAT;
  return make_decoder(format == "kcat" ? "cloudevents" : format, {}).value();
}

void check(const Decoded& decoded) {
  const bool accepted = decoded.action == Decoded::Action::kAccept;
  require(accepted == !decoded.events.empty());
  require(accepted || !decoded.reason.empty());
  require(decoded.detail.size() < 1'000);
  for (const auto& event : decoded.events) {
    require(!event.prompt.empty() && event.prompt.size() <= 512 && event.policy.size() <= 512);
    require(!event.eval.empty() && !event.scorer.empty());
    require(event.successes <= event.trials);
    require(!event.time || *event.time >= 0);
  }
}

}  // namespace
}  // namespace gapwatch::ingest

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gapwatch::ingest;
  static const auto decoder = make();
  static KcatEnvelope envelope;
  const std::string copy(reinterpret_cast<const char*>(data), size);  // ends where the record ends
  Record record;
  record.value = copy;
  const RecordContext context{{}, "fir/samples_river_2026-09-01T08-00-00.000001.jsonl", {}, nullptr};
  record.context = &context;
  if (std::string_view(GAPWATCH_FUZZ_FORMAT) == "kcat") envelope.open(record);
  const auto* decoded = &decoder->decode(record, "eval");
  for (check(*decoded); decoded->more; check(*decoded)) decoded = &decoder->next();
  return 0;
}
