#include <fmt/format.h>

#include "ingest/decoder.h"
#include "ingest/flat_reader.h"
#include "ingest/interpret.h"
#include "ingest/json_reader.h"

namespace gapwatch::ingest {
namespace {

class NativeDecoder final : public Decoder {
 public:
  explicit NativeDecoder(const config::EventDefaults& defaults)
      : interpreter_(defaults), max_event_bytes_(defaults.max_event_bytes) {}

  const Decoded& next() override { return decoded_; }

  const Decoded& decode(const Record& record, std::string_view topic) override {
    if (record.tombstone) return refuse_record(Decoded::Action::kSkip, {Reason::kTombstone, {}});
    if (record.truncated || record.value.size() > max_event_bytes_) return too_long(record);
    auto text = record.value;
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // a byte order mark, as some editors write
    const bool flat = read_flat(text, fields_);
    if (!flat) {
      if (auto fault = reader_.read(text, fields_)) {
        return refuse_record(Decoded::Action::kReject, std::move(*fault));
      }
    }
    if (auto fault = interpreter_.interpret(fields_, topic, event_)) {
      return refuse_record(Decoded::Action::kReject, std::move(*fault));
    }
    decoded_.action = Decoded::Action::kAccept;
    decoded_.events = {&event_, 1};
    decoded_.lasting = flat && event_.weights.empty() && event_.propensities.empty();
    return decoded_;
  }

 private:
  const Decoded& too_long(const Record& record) {
    auto detail = record.truncated ? fmt::format("the line is longer than {} bytes", record.value.size())
                                   : fmt::format("the event has {} bytes; events.max_event is {}",
                                                 record.value.size(), max_event_bytes_);
    return refuse_record(Decoded::Action::kReject, {Reason::kEventTooLong, std::move(detail)});
  }

  const Decoded& refuse_record(Decoded::Action action, Fault fault) {
    decoded_.action = action;
    decoded_.reason = word(fault.reason);
    decoded_.detail = std::move(fault.detail);
    decoded_.events = {};
    decoded_.lasting = false;
    return decoded_;
  }

  Fields fields_;
  JsonReader reader_;
  Interpreter interpreter_;
  std::size_t max_event_bytes_;
  state::Event event_;
  Decoded decoded_;
};

}  // namespace

std::unique_ptr<Decoder> make_native_decoder(const config::EventDefaults& defaults) {
  return std::make_unique<NativeDecoder>(defaults);
}

}  // namespace gapwatch::ingest
