#include "stats/power.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>

#include "base/random.h"

namespace gapwatch::stats {
namespace {

constexpr std::uint32_t kTables = 0x706f7701;  // stream of the seed: one seed a table
constexpr std::size_t kFirstTables = 40;       // of a rate that is only held against the wanted power
constexpr double kDecided = 0.998;             // level of the interval that must lie off the wanted power
constexpr int kSteps = 64;                     // sizes tried are multiples of 1/64 of the largest
constexpr std::array<std::uint32_t, 17> kTrials{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512};

Status check(const PowerPool& pool, const PowerOptions& options) {
  const auto inside = [](double x) { return x > 0 && x < 1; };
  if (!(options.tau > 0 && options.tau <= 1)) return refuse("the threshold must be above 0 and at most 1");
  if (!inside(options.alpha)) return refuse("the level must be between 0 and 1");
  if (!inside(options.power)) return refuse("the wanted power must be between 0 and 1");
  if (options.tables == 0 || options.tables > 1'000'000) return refuse("there must be from 1 to 1000000 tables");
  if (options.alpha * (1.0 + options.replicates) < 1 - 1e-9) {
    const auto fewest = static_cast<std::uint64_t>(std::ceil(1 / options.alpha - 1 - 1e-9));
    return refuse("so few null samples can never reject at this level; at least " + std::to_string(fewest) +
                  " are needed");
  }
  return check_power_pool(pool);
}

std::uint32_t affordable_tables(const PowerPool& pool, const PowerOptions& options) {
  const double most = kMostRateSeconds / power_cost(pool, options.replicates);
  const auto fitting = static_cast<std::uint32_t>(std::clamp(most, double{kFewestTables}, 1e6));
  return std::min(options.tables, fitting);
}

PowerRate rate_of(std::uint32_t tables, std::uint32_t found) {
  return {tables, found, static_cast<double>(found) / tables, clopper_pearson({tables, found})};
}

struct OneTable {
  PowerPValues p{};
  double population_gap = 0;
};

PowerLevel level_of(const std::vector<OneTable>& tables, double alpha) {
  PowerLevel out;
  const auto count = static_cast<double>(tables.size());
  double square = 0;
  for (const auto& table : tables) out.population_gap += table.population_gap / count;
  for (const auto& table : tables) square += std::pow(table.population_gap - out.population_gap, 2);
  if (tables.size() > 1) out.population_gap_error = std::sqrt(square / (count - 1) / count);
  for (std::size_t test = 0; test < kPowerTests; ++test) {
    const auto rate_by = [&](double PowerPValue::*p) {
      const auto found = std::count_if(tables.begin(), tables.end(),
                                       [&](const OneTable& table) { return table.p[test].*p <= alpha + 1e-12; });
      return rate_of(static_cast<std::uint32_t>(tables.size()), static_cast<std::uint32_t>(found));
    };
    out.tests[test] = rate_by(&PowerPValue::p);
    out.mid[test] = rate_by(&PowerPValue::mid);
  }
  return out;
}

// The least place in (low, high] that does, when `low` does not and `high` does (or is taken to).
template <typename Does>
int bisect(int low, int high, Does does) {
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    (does(middle) ? high : low) = middle;
  }
  return high;
}

// Levels by place, each simulated once however many tests ask for it.
class Levels {
 public:
  using Simulate = std::function<Result<PowerLevel>(int)>;
  explicit Levels(Simulate simulate) : simulate_(std::move(simulate)) {}

  // Null after an error, which error() then holds.
  const PowerLevel* at(int place) {
    if (const auto known = levels_.find(place); known != levels_.end()) return &known->second;
    if (error_) return nullptr;
    auto level = simulate_(place);
    if (!level) {
      error_ = level.error();
      return nullptr;
    }
    return &levels_.emplace(place, std::move(*level)).first->second;
  }
  bool reaches(int place, std::size_t test, double power) {
    const auto* level = at(place);
    return level != nullptr && level->tests[test].rate >= power;
  }
  const std::map<int, PowerLevel>& all() const { return levels_; }
  const std::optional<Error>& error() const { return error_; }

 private:
  Simulate simulate_;
  std::map<int, PowerLevel> levels_;
  std::optional<Error> error_;
};

SmallestEffect smallest_of(const Levels& levels, std::size_t test, int place, double power) {
  SmallestEffect out;
  const auto& found = levels.all().at(place);
  out.power = found.tests[test];
  out.population_gap = found.population_gap;
  if (out.power.rate >= power) out.size = found.size;
  for (const auto& [at, level] : levels.all()) {
    const auto& interval = level.tests[test].interval;
    if (interval.high < power) out.size_low = std::max(out.size_low, level.size);
    if (interval.low >= power && (!out.size_high || level.size < *out.size_high)) out.size_high = level.size;
  }
  return out;
}

Status check_alternative(const Alternative& alternative) {
  if (alternative.share > 0 && alternative.share <= 1) return {};
  return refuse("the specialists' share must be above 0 and at most 1");
}

}  // namespace

const char* alternative_name(AlternativeKind kind) {
  constexpr std::array<const char*, 3> kNames{"specialist", "diffuse", "transfer"};
  return kNames[static_cast<std::size_t>(kind)];
}

double largest_size(AlternativeKind kind) { return kind == AlternativeKind::kDiffuse ? 3.2 : 0.64; }

SimulatedEffects effects_of(const Alternative& alternative, double size) {
  SimulatedEffects effects;
  switch (alternative.kind) {
    case AlternativeKind::kSpecialist:
      effects.specialist_share = alternative.share;
      effects.specialist_gain = size;
      break;
    case AlternativeKind::kDiffuse: effects.diffuse = size; break;
    case AlternativeKind::kTransfer: effects.transfer = size; break;
  }
  return effects;
}

double power_cost(const PowerPool& pool, std::uint32_t replicates) {
  // Measured on tables of 240 to 2,000 prompts: within a factor of two there.
  constexpr double kCell = 0.3e-6, kDraw = 2e-9, kLookedUp = 17e-9, kComputed = 75e-9, kPattern = 20e-9;
  constexpr double kChains = 600;        // rounds of the margin law's chains besides those of samples
  constexpr double kMomentsShare = 0.25;  // what exact moments cost of that
  constexpr std::uint32_t kLookedUpTrials = 32;
  constexpr std::uint64_t kFewestForMoments = 2'000;
  const auto cells = static_cast<double>(pool.prompts * pool.policies);
  const bool equal = pool.cell_trials.empty();
  double trials = pool.trials * cells;
  if (!equal) trials = std::accumulate(pool.cell_trials.begin(), pool.cell_trials.end(), 0.0);
  const double mean = trials / cells, patterns = equal ? 1 : static_cast<double>(pool.prompts);
  const double move = equal && pool.trials <= kLookedUpTrials ? kLookedUp : kComputed;
  const double moments = equal && pool.prompts >= kFewestForMoments ? kMomentsShare : 1;
  return cells * kCell + trials * kDraw + patterns * std::pow(pool.policies * mean, 2) * kPattern +
         cells * (replicates + kChains) * move * moments;
}

namespace {

Status check_effects(const PowerPool& pool, const SimulatedEffects& effects) {
  SimulationOptions probe;
  probe.prompts = 1;
  probe.policies = pool.policies;
  probe.effects = effects;
  if (auto simulation = Simulation::make(probe); !simulation) return simulation.error();
  return {};
}

// Every test is clearly above or below the wanted power.
bool is_decided(const PowerLevel& level, double power) {
  return std::all_of(level.tests.begin(), level.tests.end(), [&](const PowerRate& rate) {
    const auto interval = clopper_pearson({rate.tables, rate.found}, kDecided);
    return interval.high < power || interval.low > power;
  });
}

enum class Tables { kAll, kUntilDecided };

Result<PowerLevel> simulate_level(const PowerPool& pool, const SimulatedEffects& effects, const PowerOptions& options,
                                  Tables how_many, Executor& executor) {
  if (auto status = check(pool, options); !status) return status.error();
  if (auto status = check_effects(pool, effects); !status) return status.error();
  const auto most = affordable_tables(pool, options);
  std::vector<OneTable> tables;
  PowerLevel level;
  while (tables.size() < most) {
    const auto done = tables.size();
    const auto next = how_many == Tables::kAll ? most : std::min<std::size_t>(most, std::max<std::size_t>(kFirstTables, 2 * done));
    tables.resize(next);
    executor.run(next - done, [&](std::size_t k) {
      const auto seed = CounterRandom(options.seed, kTables, done + k)();
      const auto drawn = draw_power_table(pool, effects, options.tau, seed);
      tables[done + k] = {power_p_values(drawn.table, options.tau, options.replicates, seed), drawn.population_gap};
    });
    level = level_of(tables, options.alpha);
    if (is_decided(level, options.power)) break;
  }
  if (options.on_rate) options.on_rate();
  level.trials = pool.cell_trials.empty() ? pool.trials : 0;
  return level;
}

}  // namespace

Result<PowerLevel> power_at(const PowerPool& pool, const SimulatedEffects& effects, const PowerOptions& options,
                            Executor& executor) {
  return simulate_level(pool, effects, options, Tables::kAll, executor);
}

Result<SmallestEffects> smallest_effects(const PowerPool& pool, const Alternative& alternative,
                                         const PowerOptions& options, Executor& executor) {
  if (auto status = check_alternative(alternative); !status) return status.error();
  Levels levels([&](int place) -> Result<PowerLevel> {
    const double size = largest_size(alternative.kind) * place / kSteps;
    auto level = simulate_level(pool, effects_of(alternative, size), options, Tables::kUntilDecided, executor);
    if (level) level->size = size;
    return level;
  });
  SmallestEffects out{alternative, {}};
  for (std::size_t test = 0; test < kPowerTests; ++test) {
    int place = kSteps;
    if (levels.reaches(kSteps, test, options.power)) {
      place = bisect(0, kSteps, [&](int at) { return levels.reaches(at, test, options.power); });
    }
    if (levels.error()) return *levels.error();
    out.tests[test] = smallest_of(levels, test, place, options.power);
  }
  // What later tests simulated sharpens the earlier ones' intervals.
  for (std::size_t test = 0; test < kPowerTests; ++test) {
    const double size = out.tests[test].size.value_or(largest_size(alternative.kind));
    const int place = static_cast<int>(std::lround(size / largest_size(alternative.kind) * kSteps));
    out.tests[test] = smallest_of(levels, test, place, options.power);
  }
  return out;
}

Result<TrialsForEffect> trials_needed(const PowerPool& pool, const Alternative& alternative, double size,
                                      const PowerOptions& options, Executor& executor) {
  if (auto status = check_alternative(alternative); !status) return status.error();
  const auto effects = effects_of(alternative, size);
  int count = 0;
  while (count < static_cast<int>(kTrials.size()) && kTrials[count] <= options.most_trials) ++count;
  if (count == 0) return refuse("the most trials must be at least 1");
  Levels levels([&](int place) {
    return simulate_level(with_trials(pool, kTrials[place]), effects, options, Tables::kUntilDecided, executor);
  });
  TrialsForEffect out{alternative, size, 0, {}};
  for (std::size_t test = 0; test < kPowerTests; ++test) {
    // Few trials are cheap: the most are tried only when nothing below does.
    const int place = bisect(-1, count - 1, [&](int at) { return levels.reaches(at, test, options.power); });
    const auto* level = levels.at(place);
    if (level == nullptr) return *levels.error();
    auto& found = out.tests[test];
    found.power = level->tests[test];
    if (found.power.rate >= options.power) found.trials = kTrials[place];
    for (const auto& [at, tried] : levels.all()) {
      if (at < place && tried.tests[test].rate < options.power) found.not_with = kTrials[at];
    }
    out.population_gap = level->population_gap;
  }
  return out;
}

Result<std::vector<NullSize>> null_sizes(const PowerPool& pool, const PowerOptions& options, Executor& executor) {
  struct Shift {
    const char* name;
    double by;
    ShiftScale scale;
    bool redeal, margin;
  };
  constexpr Shift kShifts[] = {{"identical", 0, ShiftScale::kLogit, true, true},
                               {"shift, logit", 1, ShiftScale::kLogit, false, true},
                               {"shift, probit", 0.6, ShiftScale::kProbit, false, false},
                               {"shift, additive", 0.2, ShiftScale::kAdditive, false, false}};
  std::vector<NullSize> out;
  auto plain = pool;
  plain.quality.clear();
  for (const auto& shift : kShifts) {
    SimulatedEffects effects;
    effects.shift = shift.by;
    effects.shift_scale = shift.scale;
    auto level = power_at(plain, effects, options, executor);
    if (!level) return level.error();
    out.push_back({shift.name, shift.by, shift.redeal, shift.margin, level->tests, level->mid});
  }
  if (pool.quality.empty()) return out;
  auto level = power_at(pool, {}, options, executor);
  if (!level) return level.error();
  const auto [low, high] = std::minmax_element(pool.quality.begin(), pool.quality.end());
  out.push_back({"the pool's quality", *high - *low, false, true, level->tests, level->mid});
  return out;
}

}  // namespace gapwatch::stats
