// The counts of a ledger as native events (interfaces.md, "Events"): reading them again gives the
// same counts.
#pragma once

#include <functional>
#include <string_view>

#include "state/ledger.h"

namespace gapwatch::app {

// Of a cell, what its identified draws count.
struct IdentifiedCounts {
  std::uint32_t trials = 0, successes = 0, unscored = 0;
};
IdentifiedCounts identified(const state::Cell& cell);

// One line a draw, a pre-counted line for what has no draw identity, then one a routing decision; ordered by
// partition, then eval, scorer, prompt, policy and draw. False when `write` gave up.
bool write_events(const state::Ledger& ledger, const std::function<bool(std::string_view line)>& write);

}  // namespace gapwatch::app
