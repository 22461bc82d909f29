// Event: one thing a record says, as every decoder hands it to the state.
//
// Strings are views into the decoder's memory and live until the next record is decoded. Empty
// eval and scorer have been replaced by their defaults before an event comes here.
// Source: interfaces.md, "Events".
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "base/ids.h"

namespace gapwatch::state {

enum class EventKind : std::uint8_t {
  kDraw,     // one scored or unscored response
  kRetract,  // takes a draw back
  kCounts,   // a pre-counted cell: adds successes and trials
  kRoute,    // a router's decision for a prompt
};

enum class Outcome : std::uint8_t { kFailure, kSuccess, kUnscored };

struct RouteWeight {
  std::string_view policy;
  double weight;  // of a decision: in (0, 1], summing to 1; of a propensity: in [0, 1]
};

struct Event {
  EventKind kind = EventKind::kDraw;
  Outcome outcome = Outcome::kFailure;  // kDraw
  std::string_view eval, scorer, prompt, policy;
  std::string_view version;  // of the policy; empty: none
  std::string_view slice;    // empty: none said
  std::string_view answer;   // empty: none
  std::string_view id;
  std::string_view router;               // kRoute
  std::span<const RouteWeight> weights;  // kRoute, by policy name; a plain decision is one of weight 1
  // With which probability the traffic router sent this request to this policy, in (0, 1]; and to
  // each policy, by name, where the record says.
  std::optional<double> propensity;
  std::span<const RouteWeight> propensities;
  std::optional<std::uint64_t> draw;      // absent: the record's own position is its identity
  std::optional<std::uint64_t> sequence;  // place in order of request among the prompt's; below 2^63
  std::uint32_t successes = 0, trials = 0;  // kCounts
  std::optional<TimeMs> time;
  std::uint64_t arrival = 0;  // the record's number in its partition: where a response without a draw stands
};

// What applying an event did. Names are the `result` labels of events_total.
enum class Applied : std::uint8_t {
  kApplied,     // a new draw, scored or unscored, or pre-counted trials, or a routing decision
  kDuplicate,   // the draw was there with the same outcome
  kCorrection,  // the draw was there with another outcome
  kRetracted,   // the draw was there and is gone
  kUnmatched,   // a retraction of a draw that is not there
  kRejected,    // it cannot be counted (a reason is given)
};

}  // namespace gapwatch::state
