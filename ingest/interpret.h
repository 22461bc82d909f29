// What an object's fields mean: an event, or a reason why it is none. Every rule of a native event
// that is not JSON's own stands here.
//
// Threads: one. Cost: no allocation on an event that is well formed.
// Source: interfaces.md, "Events".
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"
#include "ingest/fields.h"
#include "state/event.h"

namespace gapwatch::ingest {

class Interpreter {
 public:
  explicit Interpreter(const config::EventDefaults& defaults);

  // Fills `event`, whose views live as long as those of `fields`, `topic` and this object's last
  // call, or says what is wrong. `topic` is the eval of an event that names none.
  std::optional<Fault> interpret(const Fields& fields, std::string_view topic, state::Event& event);

 private:
  class Reading;
  double success_at(const state::Event& event) const;

  config::EventDefaults defaults_;
  std::map<std::string, double, std::less<>> by_eval_, by_scorer_;  // success_at
  std::vector<state::RouteWeight> weights_, propensities_;
};

}  // namespace gapwatch::ingest
