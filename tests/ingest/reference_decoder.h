// The plainest decoder of native events: a recursive JSON parser into a tree and the rules of the
// interface one after another. Slow, allocating, sharing no code with the real one; the differential
// test compares the two.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gapwatch::testing {

struct ReferenceEvent {
  std::string kind;     // draw, retract, counts, route
  std::string outcome;  // of draw: success, failure, unscored
  std::string eval, scorer, prompt, policy, version, slice, answer, id, router;
  std::optional<std::uint64_t> draw, sequence;
  std::uint64_t successes = 0, trials = 0;
  std::optional<std::int64_t> time;
  std::optional<double> propensity;
  std::map<std::string, double> weights, propensities;
  friend bool operator==(const ReferenceEvent&, const ReferenceEvent&) = default;
};

struct Reference {
  bool is_json = false;                 // one whole JSON object, keys once, depth within 64
  std::optional<ReferenceEvent> event;  // absent: rejected
};

// With the default settings (scorer "default", success at 1, names up to 512 bytes) and `topic` as eval.
Reference reference_decode(std::string_view text, std::string_view topic);

}  // namespace gapwatch::testing
