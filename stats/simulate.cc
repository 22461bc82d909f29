#include "stats/simulate.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include <boost/math/special_functions/erf.hpp>

namespace gapwatch::stats {
namespace {

// Uses of the seed.
enum Stream : std::uint32_t {
  kDifficulty = 0x73696d00,
  kEffects,
  kOutcome,
  kArrival,
  kOrder,
  kTraffic,
  kCellDraws,
};

double clamped(double rate) {
  return std::clamp(rate, 0.0, 1.0);
}
double logit(double rate) {
  return std::log(rate) - std::log1p(-rate);
}
double expit(double x) {
  return 1 / (1 + std::exp(-x));
}

double probit_shifted(double rate, double by) {
  if (rate <= 0 || rate >= 1) return rate;
  const double quantile = -std::sqrt(2.0) * boost::math::erfc_inv(2 * rate);
  return std::erfc(-(quantile + by) / std::sqrt(2.0)) / 2;
}

double shifted(double rate, double by, ShiftScale scale) {
  if (by == 0) return rate;
  if (scale == ShiftScale::kAdditive) return clamped(rate + by);
  return scale == ShiftScale::kProbit ? probit_shifted(rate, by) : expit(logit(rate) + by);
}

// The chance part of one prompt's effects, the same whatever the effects' sizes.
struct PromptChance {
  double specialist_uniform;
  std::uint32_t specialist, giver, taker;
  std::vector<double> noise;  // by policy
};

PromptChance prompt_chance(std::uint64_t seed, std::uint64_t prompt, std::uint32_t policies) {
  CounterRandom random(seed, kEffects, prompt);
  PromptChance chance;
  chance.specialist_uniform = uniform(random);
  chance.specialist = static_cast<std::uint32_t>(bounded(random, policies));
  chance.giver = static_cast<std::uint32_t>(bounded(random, policies));
  const auto step = policies > 1 ? 1 + bounded(random, policies - 1) : 0;
  chance.taker = static_cast<std::uint32_t>((chance.giver + step) % policies);
  for (std::uint32_t m = 0; m < policies; ++m) chance.noise.push_back(normal(random));
  return chance;
}

// Writes one prompt's rates, one a policy.
void apply(const SimulatedEffects& effects, double difficulty, const PromptChance& chance, double* rates,
           std::uint32_t policies) {
  for (std::uint32_t m = 0; m < policies; ++m) {
    const double place = policies > 1 ? static_cast<double>(m) / (policies - 1) - 0.5 : 0;
    rates[m] = shifted(difficulty, effects.shift * place, effects.shift_scale);
    if (effects.diffuse > 0) rates[m] = expit(logit(rates[m]) + effects.diffuse * chance.noise[m]);
  }
  const bool chosen = chance.specialist_uniform < effects.specialist_share;
  const auto specialist = effects.specialist.value_or(chance.specialist);
  if (chosen) rates[specialist] = clamped(rates[specialist] + effects.specialist_gain);
  if (!chosen && effects.specialist) rates[specialist] = clamped(rates[specialist] - effects.specialist_loss);
  if (policies > 1) {
    auto& giver = rates[chance.giver];
    auto& taker = rates[chance.taker];
    const double moved = std::min({effects.transfer, giver, 1 - taker});
    giver -= moved;
    taker += moved;
  }
}

std::uint32_t finite_draws(const SimulationOptions& options, std::uint64_t cell) {
  if (options.traffic != SimulatedTraffic::kUneven || options.draws == 0) return options.draws;
  const auto least = std::max(1u, options.draws / 4);
  CounterRandom random(options.seed, kCellDraws, cell);
  return least + static_cast<std::uint32_t>(bounded(random, options.draws - least + 1));
}

// Rises with its index; the last is the sum.
template <typename Weight>
std::vector<double> cumulative(std::uint64_t count, Weight weight) {
  std::vector<double> sums;
  sums.reserve(count);
  double sum = 0;
  for (std::uint64_t i = 0; i < count; ++i) sums.push_back(sum += weight(i));
  return sums;
}

std::uint32_t pick(const std::vector<double>& sums, double uniform01) {
  const auto found = std::upper_bound(sums.begin(), sums.end(), uniform01 * sums.back());
  return static_cast<std::uint32_t>(std::min<std::ptrdiff_t>(found - sums.begin(), std::ssize(sums) - 1));
}

// A good mixer of 64 bits (the finalizer of MurmurHash3's kind, constants of David Stafford's Mix13).
std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

Status check_effects(const SimulatedEffects& effects, std::uint32_t policies) {
  const auto inside = [](double x, double low, double high) { return low <= x && x <= high; };
  if (!inside(effects.shift, -20, 20)) return refuse("the shift must be from -20 to 20");
  if (!inside(effects.specialist_share, 0, 1)) return refuse("the specialist share must be from 0 to 1");
  if (!inside(effects.specialist_gain, 0, 1)) return refuse("the specialist gain must be from 0 to 1");
  if (!inside(effects.specialist_loss, 0, 1)) return refuse("the specialist loss must be from 0 to 1");
  if (!inside(effects.diffuse, 0, 20)) return refuse("the diffuse noise must be from 0 to 20");
  if (!inside(effects.transfer, 0, 1)) return refuse("the transfer must be from 0 to 1");
  if (effects.specialist && *effects.specialist >= policies)
    return refuse("the specialist is not one of the policies");
  if (effects.specialist_loss > 0 && !effects.specialist) {
    return refuse("a specialist loss needs one named specialist");
  }
  if (effects.transfer > 0 && policies < 2) return refuse("a transfer needs two policies");
  return {};
}

Status check(const SimulationOptions& options) {
  constexpr double kLargestShape = 1e6;
  const auto shape_fits = [](double x) { return x >= 0.01 && x <= kLargestShape; };
  if (options.prompts == 0 || options.policies == 0)
    return refuse("there must be at least one prompt and one policy");
  if (options.prompts > (1ull << 31) / options.policies)
    return refuse("there may be at most 2^31 prompts x policies");
  if (!shape_fits(options.alpha) || !shape_fits(options.beta)) {
    return refuse("the difficulties' alpha and beta must be from 0.01 to 1000000");
  }
  if (auto status = check_effects(options.effects, options.policies); !status) return status;
  return check_effects(options.effects_before, options.policies);
}

}  // namespace

Result<Simulation> Simulation::make(const SimulationOptions& options) {
  if (const auto status = check(options); !status) return status.error();
  return Simulation(options);
}

Simulation::Simulation(const SimulationOptions& options) : options_(options) {
  const bool changes = options.effects_from > 0 && !(options.effects == options.effects_before);
  if (options.effects_from > 0 && !changes) options_.effects_from = 0;
  rates_.resize(cells());
  if (changes) rates_before_.resize(cells());
  for (std::uint64_t i = 0; i < options.prompts; ++i) {
    CounterRandom random(options.seed, kDifficulty, i);
    const double difficulty = beta_draw(random, options.alpha, options.beta);
    const auto chance = prompt_chance(options.seed, i, options.policies);
    const auto row = i * options.policies;
    apply(options.effects, difficulty, chance, &rates_[row], options.policies);
    if (changes) apply(options.effects_before, difficulty, chance, &rates_before_[row], options.policies);
  }
  places_ = cells() * options.draws;
  total_ = places_;
  if (options.traffic == SimulatedTraffic::kUneven && options.draws > 0) {
    total_ = 0;
    for (std::uint64_t cell = 0; cell < cells(); ++cell) total_ += finite_draws(options, cell);
  }
  half_bits_ = std::max(1u, (static_cast<unsigned>(std::bit_width(places_)) + 1) / 2);
  CounterRandom order(options.seed, kOrder);
  for (auto& key : order_keys_) key = order();
  if (options.draws == 0 && options.traffic != SimulatedTraffic::kRounds) drawn_.resize(cells());
  if (options.draws == 0 && options.traffic == SimulatedTraffic::kUneven) {
    prompt_weights_ = cumulative(options.prompts, [&](std::uint64_t i) {
      CounterRandom random(options.seed, kTraffic, i);
      return std::exp(1.2 * normal(random));
    });
    policy_weights_ =
        cumulative(options.policies, [](std::uint64_t m) { return 1.0 / static_cast<double>(m + 1); });
  }
}

std::optional<SimulatedDraw> Simulation::next() {
  const bool in_places = options_.draws > 0 || options_.traffic == SimulatedTraffic::kRounds;
  auto draw = in_places ? next_place() : std::optional(next_arrival());
  if (!draw) return std::nullopt;
  const auto cell = std::uint64_t{draw->prompt} * options_.policies + draw->policy;
  CounterRandom random(options_.seed, kOutcome, (cell << 32) | draw->draw);
  draw->success = uniform(random) < rate(draw->prompt, draw->policy, events_);
  ++events_;
  return draw;
}

std::optional<SimulatedDraw> Simulation::next_place() {
  for (;;) {
    if (options_.draws > 0 && place_ == places_) return std::nullopt;
    const auto next = place_++;
    const auto place = options_.traffic == SimulatedTraffic::kRounds ? next : permuted(next);
    const auto cell = place % cells();
    const auto draw = static_cast<std::uint32_t>(place / cells());
    if (options_.draws > 0 && draw >= finite_draws(options_, cell)) continue;
    return SimulatedDraw{static_cast<std::uint32_t>(cell / options_.policies),
                         static_cast<std::uint32_t>(cell % options_.policies), draw, false};
  }
}

SimulatedDraw Simulation::next_arrival() {
  CounterRandom random(options_.seed, kArrival, events_);
  SimulatedDraw out;
  if (options_.traffic == SimulatedTraffic::kUneven) {
    out.prompt = pick(prompt_weights_, uniform(random));
    out.policy = pick(policy_weights_, uniform(random));
  } else {
    out.prompt = static_cast<std::uint32_t>(bounded(random, options_.prompts));
    out.policy = static_cast<std::uint32_t>(bounded(random, options_.policies));
  }
  out.draw = drawn_[std::uint64_t{out.prompt} * options_.policies + out.policy]++;
  return out;
}

// A Feistel network over the smallest even number of bits that holds every place, walked until it comes
// back among the places: a permutation of them without a table.
std::uint64_t Simulation::permuted(std::uint64_t place) const {
  const std::uint64_t mask = (1ull << half_bits_) - 1;
  do {
    auto left = place >> half_bits_, right = place & mask;
    for (const auto key : order_keys_) {
      const auto swapped = left ^ (mixed(right + key) & mask);
      left = right;
      right = swapped;
    }
    place = (left << half_bits_) | right;
  } while (place >= places_);
  return place;
}

std::optional<std::uint64_t> Simulation::total() const {
  return options_.draws > 0 ? std::optional(total_) : std::nullopt;
}

std::uint32_t Simulation::draws(std::uint32_t prompt, std::uint32_t policy) const {
  return finite_draws(options_, std::uint64_t{prompt} * options_.policies + policy);
}

double Simulation::rate(std::uint32_t prompt, std::uint32_t policy, std::uint64_t event) const {
  const auto cell = std::uint64_t{prompt} * options_.policies + policy;
  return event < options_.effects_from ? rates_before_[cell] : rates_[cell];
}

Result<SimulationOptions> simulation_scenario(const std::string& name) {
  SimulationOptions options;
  if (name == "shift") {
    options.effects.shift = 1;
  } else if (name == "specialist") {
    options.effects.specialist_share = 0.3;
    options.effects.specialist_gain = 0.2;
  } else if (name == "diffuse") {
    options.effects.diffuse = 0.5;
  } else if (name == "transfers") {
    options.effects.transfer = 0.2;
  } else if (name != "identical") {
    std::string known;
    for (const auto& scenario : simulation_scenarios()) known += (known.empty() ? "" : ", ") + scenario;
    return refuse("\"" + name + "\" is not a scenario; known: " + known);
  }
  return options;
}

std::vector<std::string> simulation_scenarios() {
  return {"identical", "shift", "specialist", "diffuse", "transfers"};
}

std::string simulated_prompt(std::uint32_t prompt, std::uint64_t prompts) {
  const auto width = std::max<std::size_t>(4, std::to_string(prompts).size());
  const auto number = std::to_string(std::uint64_t{prompt} + 1);
  return "prompt-" + std::string(width > number.size() ? width - number.size() : 0, '0') + number;
}

std::string simulated_policy(std::uint32_t policy) {
  std::string letters;
  for (std::uint64_t rest = std::uint64_t{policy} + 1; rest > 0; rest = (rest - 1) / 26) {
    letters.insert(letters.begin(), static_cast<char>('a' + (rest - 1) % 26));
  }
  return "policy-" + letters;
}

}  // namespace gapwatch::stats
