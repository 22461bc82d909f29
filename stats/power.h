// Power: what a pool of this size can detect, how many trials that takes, and whether the tests keep their level.
//
// For a planted alternative (statistics.md section 5), each test of power_tests.h and a wanted power:
//   smallest_effects  the smallest size that the test finds. Sizes are 1/64 .. 64/64 of a largest one; the
//                     search bisects, on common random numbers, taking power to rise with size.
//   trials_needed     the fewest trials of every cell, of a fixed list, with which it finds one given effect. Power
//                     need not rise with trials everywhere (need(tau, n) moves in steps): the search bisects all
//                     the same, and gives a number where the wanted power is reached and the one tried below,
//                     where it is not.
//   null_sizes        how often it rejects, and how often with ties by half, where nothing is planted: identical policies, and constant quality
//                     shifts on a logit, probit and additive scale (and the pool's own quality, where it has one).
//                     The margin law covers shifts on the logit scale; the re-deal covers none.
// A table counts as found when the p-value is at most alpha. Every rate comes with its 95% Clopper-Pearson
// interval: that is the Monte Carlo error, and it does not cover a pool that is not as stated.
//
// A size comes with its uncertainty: from the largest size tried at which the rate's interval lies below the
// wanted power (else 0) to the smallest at which it lies above (absent: none tried).
//
// A search simulates 40 tables at a size, then twice as many, and stops where the 99.8% interval of every test
// lies off the wanted power: far from it few tables decide. Rates near it, and null sizes, have all tables.
//
// Empty: not possible; what makes no sense is refused. Threads: pure; tables are split over `executor`, and the
// result does not depend on its threads. Cost: tables x power_cost a rate; the searches take at most 5 x 6 + 1
// rates for an alternative, usually 10 to 15, and at most 5 x 4 for trials, usually 8. Where a rate would cost more than
// kMostRateSeconds the tables are reduced to fit it, to kFewestTables at the least (PowerRate says how many).
// Source: statistics.md section 5, planted power; [OG] specialists (f, s).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "stats/power_tables.h"
#include "stats/power_tests.h"
#include "stats/rates.h"

namespace gapwatch::stats {

inline constexpr double kMostRateSeconds = 20;  // of one core
inline constexpr std::uint32_t kFewestTables = 50;

struct PowerOptions {
  double tau = 0.1;              // in (0, 1]
  double alpha = 0.05;           // level, in (0, 1)
  double power = 0.8;            // wanted, in (0, 1)
  std::uint32_t tables = 200;    // simulated for each rate, at least 1
  std::uint32_t replicates = 199;  // null samples a table; at least 1/alpha - 1
  std::uint32_t most_trials = 128;  // of trials_needed
  std::uint64_t seed = 1;
  std::function<void()> on_rate;  // after each rate, from the calling thread; may be empty
};

enum class AlternativeKind {
  kSpecialist,  // on a share f of the prompts one policy, drawn anew each time, has s more
  kDiffuse,     // independent normal noise of this standard deviation on every cell's logit
  kTransfer,    // on every prompt one policy gives up to delta of its rate to another
};
const char* alternative_name(AlternativeKind kind);
double largest_size(AlternativeKind kind);  // 0.64, 3.2, 0.64

struct Alternative {
  AlternativeKind kind = AlternativeKind::kSpecialist;
  double share = 0.3;  // f, in (0, 1]; of specialists only
};
SimulatedEffects effects_of(const Alternative& alternative, double size);

struct PowerRate {
  std::uint32_t tables = 0, found = 0;
  double rate = 0;
  Interval interval;  // 95%
};

// What was simulated at one size and number of trials.
struct PowerLevel {
  double size = 0;
  std::uint32_t trials = 0;    // of every cell; 0: the pool's own
  double population_gap = 0;   // L(tau) of the true rates, mean over tables
  double population_gap_error = 0;  // standard error
  std::array<PowerRate, kPowerTests> tests, mid;  // by p, and by mid-p
};

struct SmallestEffect {
  std::optional<double> size;  // absent: not even the largest size is found
  double population_gap = 0;   // at that size, or at the largest
  PowerRate power;             // likewise
  double size_low = 0;
  std::optional<double> size_high;
};
struct SmallestEffects {
  Alternative alternative;
  std::array<SmallestEffect, kPowerTests> tests;
};
Result<SmallestEffects> smallest_effects(const PowerPool& pool, const Alternative& alternative,
                                         const PowerOptions& options, Executor& executor);

struct TrialsNeeded {
  std::optional<std::uint32_t> trials;  // absent: not found with the most trials tried
  PowerRate power;                      // there, or with the most tried
  std::uint32_t not_with = 0;           // the largest number below that was tried and does not do; 0: none
};
struct TrialsForEffect {
  Alternative alternative;
  double size = 0, population_gap = 0;
  std::array<TrialsNeeded, kPowerTests> tests;
};
Result<TrialsForEffect> trials_needed(const PowerPool& pool, const Alternative& alternative, double size,
                                      const PowerOptions& options, Executor& executor);

struct NullSize {
  const char* pool = "";  // "identical", "shift, logit", ...
  double shift = 0;       // from the first policy to the last, on that scale
  bool redeal_holds = false, margin_holds = false;  // whether the law is true there
  std::array<PowerRate, kPowerTests> tests, mid;
};
Result<std::vector<NullSize>> null_sizes(const PowerPool& pool, const PowerOptions& options, Executor& executor);

// One rate of all tests: what the above are made of.
Result<PowerLevel> power_at(const PowerPool& pool, const SimulatedEffects& effects, const PowerOptions& options,
                            Executor& executor);

// About how long one table takes on one core, in seconds: a model of the work, not a measurement.
double power_cost(const PowerPool& pool, std::uint32_t replicates);

}  // namespace gapwatch::stats
