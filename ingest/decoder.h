// Decoder: what a record's bytes say, as events.
//
// A decoder never fails as a whole: a record that cannot be read is a reason, counted and sampled
// to the log by the caller. Reasons are few fixed words (a metric label); details go to the log.
// A record that holds several (a batch, a document of many rows) is read part by part.
//
// Threads: one decoder per thread. Event memory lives until the next call.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "config/settings.h"
#include "ingest/fields.h"
#include "ingest/source.h"
#include "state/event.h"

namespace gapwatch::ingest {

// What an event is shown with that the counts do not need.
struct Shown {
  std::optional<double> score;  // graded: neither success nor failure until a threshold is declared
  std::string_view draw_id;     // the text whose hash is the draw
};

struct Decoded {
  enum class Action { kAccept, kSkip, kReject };
  Action action = Action::kAccept;
  std::string_view reason;                  // of kSkip and kReject: a word of ingest/reasons.h or the mapping
  std::string detail;                       // of kReject: the field and what was wrong, for the log
  std::span<const state::Event> events;     // of kAccept: one or more
  std::span<const Shown> shown;             // of each event, or none
  std::span<const Fault> faults;            // what else could not be read, beside `events` or `detail`
  bool more = false;                        // the record goes on: call next()
  // The events' views are of the record and `eval` alone, and so outlive the next call.
  bool lasting = false;
};

class Decoder {
 public:
  virtual ~Decoder() = default;
  // `eval` is the default eval (Source::default_eval). The Decoded's views live until the next call.
  virtual const Decoded& decode(const Record& record, std::string_view eval) = 0;
  // The next part of the record, only where `more` says that there is one. `record` must still be there.
  virtual const Decoded& next() = 0;
};

// The settings' format: native, a preset or a mapping (config/mapping.h). Refuses a name that is not known.
Result<std::unique_ptr<Decoder>> make_decoder(const config::Settings& settings);
Result<std::unique_ptr<Decoder>> make_decoder(const std::string& format, const config::EventDefaults& defaults);
// How files of this format are cut into records.
FileShape file_shape(const config::Settings& settings);

std::unique_ptr<Decoder> make_native_decoder(const config::EventDefaults& defaults);
std::unique_ptr<Decoder> make_mapped_decoder(const config::Mapping& mapping, const config::EventDefaults& defaults);

}  // namespace gapwatch::ingest
