// Decoder: what a record's bytes say, as events.
//
// A decoder never fails as a whole: a record that cannot be read is a reason, counted and sampled
// to the log by the caller. Reasons are few fixed words (a metric label); details go to the log.
//
// Threads: one decoder per thread. Event memory lives until the next call.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "config/settings.h"
#include "ingest/source.h"
#include "state/event.h"

namespace gapwatch::ingest {

struct Decoded {
  enum class Action { kAccept, kSkip, kReject };
  Action action = Action::kAccept;
  std::string_view reason;                  // of kSkip and kReject: a word of ingest/reasons.h
  std::string detail;                       // of kReject: the field and what was wrong, for the log
  std::span<const state::Event> events;     // of kAccept: one or more
  // The events' views are of the record and `eval` alone, and so outlive the next call.
  bool lasting = false;
};

class Decoder {
 public:
  virtual ~Decoder() = default;
  // `eval` is the default eval (Source::default_eval). The Decoded's views live until the next call.
  virtual const Decoded& decode(const Record& record, std::string_view eval) = 0;
};

// `format` is the config's; only "native" here. An unknown one refuses and names the known ones.
Result<std::unique_ptr<Decoder>> make_decoder(const std::string& format, const config::EventDefaults& defaults);

}  // namespace gapwatch::ingest
