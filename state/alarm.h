// Where a monitor's alarm stands: plain values, for the state and for reports.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/ids.h"

namespace gapwatch::state {

// interfaces.md, "Report JSON".
enum class AlarmState : std::uint8_t { kCollecting, kInsufficient, kQuiet, kEvidence, kAcknowledged, kStale };
std::string_view alarm_state_name(AlarmState state);

struct AlarmChange {
  TimeMs at = 0;  // wall clock
  AlarmState from = AlarmState::kCollecting, to = AlarmState::kCollecting;
  double redeal_log_e = 0, margin_log_e = 0, margin_peak = 0;  // nats
  std::uint64_t complete = 0;                                  // prompts
  friend bool operator==(const AlarmChange&, const AlarmChange&) = default;
};
inline constexpr std::size_t kKeptChanges = 64;

// How far the news of the latest alarm has come.
enum class Delivery : std::uint8_t {
  kNone,       // there is no alarm, or nobody to tell
  kPending,    // to be sent, or sent and refused
  kUnderWay,   // being sent: after a crash nobody knows whether it arrived
  kDelivered,  // taken
  kUnknown,    // sent, and no answer came: never sent again
};

}  // namespace gapwatch::state
