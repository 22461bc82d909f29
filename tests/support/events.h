// Seeded random event streams for tests, and the plainest possible way to count them.
#pragma once

#include <deque>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "state/event.h"
#include "stats/draw_set.h"

namespace gapwatch::testing {

// Owns the strings that events point to.
class EventMaker {
 public:
  explicit EventMaker(std::uint64_t seed) : random_(seed) {}

  state::Event random_event() {
    state::Event event;
    event.eval = "eval";
    event.scorer = "scorer";
    event.prompt = keep("prompt-" + std::to_string(below(12)));
    event.policy = keep("policy-" + std::to_string(below(5)));
    if (below(10) == 0) event.version = "v2";
    const auto kind = below(20);
    if (kind == 0) {
      event.kind = state::EventKind::kCounts;
      event.trials = static_cast<std::uint32_t>(below(5));
      event.successes = event.trials == 0 ? 0 : static_cast<std::uint32_t>(below(event.trials + 1));
      return event;
    }
    if (kind == 1) {
      event.kind = state::EventKind::kRoute;
      event.router = below(2) == 0 ? "knn" : "mlp";
      weights_.push_back({{event.policy, 1.0}});
      event.weights = weights_.back();
      return event;
    }
    if (below(6) != 0) event.draw = below(8) == 0 ? (below(3) << 40) + below(40) : below(90);
    if (kind == 2) {
      event.kind = state::EventKind::kRetract;
      return event;
    }
    event.outcome = static_cast<state::Outcome>(below(12) == 0 ? 2 : below(2));
    if (below(15) == 0) event.slice = below(2) == 0 ? "easy" : "hard";
    return event;
  }

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  std::string_view keep(std::string text) { return strings_.emplace_back(std::move(text)); }

 private:
  std::mt19937_64 random_;
  std::deque<std::string> strings_;
  std::deque<std::vector<state::RouteWeight>> weights_;
};

// Counts events with maps, one draw at a time.
struct NaiveCounts {
  struct NaiveCell {
    std::map<std::uint64_t, state::Outcome> draws;
    std::uint32_t anonymous_trials = 0, anonymous_successes = 0, anonymous_unscored = 0;

    std::tuple<std::uint32_t, std::uint32_t, std::uint32_t> counts() const {
      auto trials = anonymous_trials, successes = anonymous_successes, unscored = anonymous_unscored;
      for (const auto& [draw, outcome] : draws) {
        trials += outcome != state::Outcome::kUnscored;
        successes += outcome == state::Outcome::kSuccess;
        unscored += outcome == state::Outcome::kUnscored;
      }
      return {trials, successes, unscored};
    }
  };
  std::map<std::string, std::map<std::string, NaiveCell>> cells;  // prompt -> policy
  std::map<std::string, std::string> slices;
  std::map<std::string, std::map<std::string, std::string>> routes;  // prompt -> router -> policy

  void apply(const state::Event& event) {
    const std::string prompt(event.prompt);
    if (event.kind == state::EventKind::kRoute) {
      routes[prompt][std::string(event.router)] = std::string(event.weights[0].policy);
      return;
    }
    std::string policy(event.policy);
    if (!event.version.empty()) policy += "@" + std::string(event.version);
    NaiveCell& cell = cells[prompt][policy];
    if (!event.slice.empty()) slices[prompt] = std::string(event.slice);
    if (event.kind == state::EventKind::kRetract) {
      if (event.draw) cell.draws.erase(*event.draw);
    } else if (event.kind == state::EventKind::kCounts) {
      cell.anonymous_trials += event.trials;
      cell.anonymous_successes += event.successes;
    } else if (event.draw) {
      cell.draws[*event.draw] = event.outcome;
    } else {
      cell.anonymous_trials += event.outcome != state::Outcome::kUnscored;
      cell.anonymous_successes += event.outcome == state::Outcome::kSuccess;
      cell.anonymous_unscored += event.outcome == state::Outcome::kUnscored;
    }
  }
};

}  // namespace gapwatch::testing
