// Simulated event streams: pools whose true rates are known.
//
// The model: a prompt's difficulty is a rate drawn from Beta(alpha, beta); identical policies all have it.
// Effects move single policies away from it: a constant quality shift (on a logit, probit or additive
// scale), specialists, diffuse logit noise, transfers between two policies. They may be combined, and may
// set in at a given event. Each draw of a cell is an independent success with the cell's rate of that moment.
//
// Everything follows from the seed: the rates from (seed, prompt), an outcome from (seed, cell, draw), so
// that traffic changes the order of draws but not, while rates stand still, their outcomes.
// Rates lie in [0, 1]. Memory: one rate a cell, two where effects set in later, and a counter a cell in
// endless random and uneven traffic. Cost: 0.1 us a draw, 0.25 us in uneven
// traffic.
// Threads: a Simulation is a plain value; give each thread its own.
// Sources: statistics.md §5, planted power; [OG] difficulties Beta(0.347, 0.601).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/result.h"

namespace gapwatch::stats {

enum class ShiftScale { kLogit, kProbit, kAdditive };

// What makes policies differ. All zero: nothing does.
struct SimulatedEffects {
  // Constant quality shifts, evenly spaced from -shift/2 (first policy) to +shift/2 (last).
  double shift = 0;
  ShiftScale shift_scale = ShiftScale::kLogit;

  // On this share of the prompts one policy has `specialist_gain` more: a policy drawn anew for each
  // prompt, or always the named one, which has `specialist_loss` less on all other prompts. (A single
  // policy that only gains is the best one everywhere and leaves no oracle gap.)
  double specialist_share = 0, specialist_gain = 0;
  std::optional<std::uint32_t> specialist;
  double specialist_loss = 0;

  // Standard deviation of independent normal noise on the logit of every cell.
  double diffuse = 0;

  // On every prompt one policy drawn at random gives up to this much of its rate to another: the pool's
  // mean rate stays as it is.
  double transfer = 0;

  friend bool operator==(const SimulatedEffects&, const SimulatedEffects&) = default;
};

enum class SimulatedTraffic {
  kRounds,  // every cell once, prompt by prompt, then again
  kRandom,  // finite: all draws in random order; endless: every event a cell at random
  kUneven,  // finite: random order, cells with `draws`/4 to `draws` draws; endless: prompts lognormal
            // (sd 1.2), policies as 1, 1/2, 1/3, ...
};

struct SimulationOptions {
  std::uint64_t prompts = 240;
  std::uint32_t policies = 5;
  std::uint32_t draws = 16;  // of each cell; 0: an endless stream
  double alpha = 0.347, beta = 0.601;
  SimulatedEffects effects;  // from the event number `effects_from`, counted from 0
  SimulatedEffects effects_before;
  std::uint64_t effects_from = 0;
  SimulatedTraffic traffic = SimulatedTraffic::kRounds;
  std::uint64_t seed = 1;
};

// The usual settings of a named scenario: identical; shift (logit, 1); specialist (share 0.3, gain 0.2);
// diffuse (0.5); transfers (0.2). An unknown name refuses and lists the known ones.
Result<SimulationOptions> simulation_scenario(const std::string& name);
std::vector<std::string> simulation_scenarios();

struct SimulatedDraw {
  std::uint32_t prompt = 0, policy = 0, draw = 0;
  bool success = false;
  friend bool operator==(const SimulatedDraw&, const SimulatedDraw&) = default;
};

class Simulation {
 public:
  // Refuses what makes no sense, saying which option and what it may be.
  static Result<Simulation> make(const SimulationOptions& options);

  // The next event; nothing at the end of a finite stream.
  std::optional<SimulatedDraw> next();

  std::uint64_t events() const { return events_; }  // given so far
  std::optional<std::uint64_t> total() const;       // of a finite stream
  // The cell's draws in the whole of a finite stream; 0 in an endless one.
  std::uint32_t draws(std::uint32_t prompt, std::uint32_t policy) const;
  // The true rate of a cell for the event number `event`.
  double rate(std::uint32_t prompt, std::uint32_t policy, std::uint64_t event) const;
  const SimulationOptions& options() const { return options_; }

 private:
  explicit Simulation(const SimulationOptions& options);

  std::uint64_t cells() const { return options_.prompts * options_.policies; }
  std::uint64_t permuted(std::uint64_t place) const;
  std::optional<SimulatedDraw> next_place();  // finite, and endless rounds
  SimulatedDraw next_arrival();               // endless random and uneven traffic

  SimulationOptions options_;
  std::vector<double> rates_, rates_before_;  // by cell, prompt-major; the second empty where it is the same
  std::vector<double> prompt_weights_, policy_weights_;  // cumulative; of endless uneven traffic
  std::vector<std::uint32_t> drawn_;                     // by cell; of endless traffic out of order
  std::uint64_t places_ = 0, place_ = 0;  // finite: prompts x policies x draws, and the next one
  std::uint64_t total_ = 0, events_ = 0;
  unsigned half_bits_ = 1;  // of the order's permutation
  std::array<std::uint64_t, 6> order_keys_{};
};

// "prompt-0001", wide enough for `prompts` of them, so that they sort by number.
std::string simulated_prompt(std::uint32_t prompt, std::uint64_t prompts);
// "policy-a" ... "policy-z", "policy-aa", ...
std::string simulated_policy(std::uint32_t policy);

}  // namespace gapwatch::stats
