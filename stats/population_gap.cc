#include "stats/population_gap.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>
#include <vector>

#include "base/random.h"
#include "stats/policy_levels.h"

namespace gapwatch::stats {

namespace {

enum Stream : std::uint32_t { kDraws = 0x9a90, kBootstrap, kBootstrapDraws, kSubset };

constexpr std::size_t kA = 121, kU = 81, kX = kA + kU - 1;  // x = a + u lies on the same lattice
constexpr std::size_t kPadded = 124;                        // loops over a run to here, over zeros at the end
constexpr double kStep = 0.12, kLowA = -7.2, kLowU = -4.8;
constexpr std::size_t kKernels = 10, kBins = 3;
constexpr double kMaxTrials = 400;
constexpr std::uint32_t kMaxSteps = 400, kBootstrapSteps = 30, kDrawsPerBootstrap = 5;
constexpr double kPseudoCount = 2;
constexpr std::size_t kMostKinds = 1'500;  // beyond these, cells and policies that hardly differ are taken together

using OverA = std::array<double, kPadded>;
using KernelsOverA = std::array<OverA, kKernels>;

constexpr double a_at(std::size_t j) {
  return kLowA + kStep * static_cast<double>(j);
}
constexpr std::size_t bin_of(std::size_t j) {
  return a_at(j) < -2.2 ? 0 : a_at(j) < 0.5 ? 1 : 2;
}
// Where the bins begin and end.
constexpr auto kBinStart = [] {
  std::array<std::size_t, kBins + 1> start{};
  for (std::size_t j = 0; j < kA; ++j) start[bin_of(j) + 1] = j + 1;
  return start;
}();

// Weights of the kernels on the grid of u; the first is the point mass at zero.
std::array<std::array<double, kU>, kKernels> make_kernels() {
  constexpr std::array<std::array<double, 2>, kKernels - 1> kNormals{
      {{0, 0.3}, {0, 0.6}, {0, 1}, {0, 1.6}, {1.2, 0.4}, {2.2, 0.5}, {3.4, 0.6}, {-1.2, 0.4}, {-2.2, 0.5}}};
  std::array<std::array<double, kU>, kKernels> kernels{};
  kernels[0][(kU - 1) / 2] = 1;
  for (std::size_t h = 1; h < kKernels; ++h) {
    double sum = 0;
    for (std::size_t j = 0; j < kU; ++j) {
      const double z = (kLowU + kStep * static_cast<double>(j) - kNormals[h - 1][0]) / kNormals[h - 1][1];
      sum += kernels[h][j] = std::exp(-z * z / 2);
    }
    for (double& weight : kernels[h]) weight /= sum;
  }
  return kernels;
}

// One kind of cell: what its counts say at every difficulty, by kernel.
struct CellKind {
  KernelsOverA likelihood;  // of the counts
  KernelsOverA covering;    // of the counts and a rate of at least tau
};

// The distinct cells of a table, and which each prompt has.
struct Cells {
  std::size_t prompts = 0, policies = 0;
  std::vector<CellKind> kinds;
  std::vector<std::uint32_t> kind;  // prompts x policies
};

// What is fitted.
struct Mixture {
  OverA difficulty;                                        // sums to 1
  std::array<std::array<double, kKernels>, kBins> kernel;  // each sums to 1
};

CellKind make_kind(CellCount cell, double level, double tau,
                   const std::array<std::array<double, kU>, kKernels>& kernels) {
  const double shown = std::min(static_cast<double>(cell.trials), kMaxTrials);
  const double successes = cell.trials == 0 ? 0 : shown * cell.successes / cell.trials;
  std::array<double, kX> likelihood, covering;
  const double needed = tau < 1 ? std::log(tau / (1 - tau)) : 1e9;
  double most = -1e300;
  for (std::size_t j = 0; j < kX; ++j) {
    const double x = kLowA + kLowU + kStep * static_cast<double>(j) + level;
    const double log_failure = x > 0 ? -x - std::log1p(std::exp(-x)) : -std::log1p(std::exp(x));
    likelihood[j] = successes * (log_failure + x) + (shown - successes) * log_failure;
    most = std::max(most, likelihood[j]);
  }
  for (std::size_t j = 0; j < kX; ++j) {
    const double x = kLowA + kLowU + kStep * static_cast<double>(j) + level;
    likelihood[j] = std::exp(likelihood[j] - most);
    covering[j] = likelihood[j] * std::clamp((x - needed) / kStep + 0.5, 0.0, 1.0);
  }
  CellKind kind{};
  for (std::size_t h = 1; h < kKernels; ++h) {
    for (std::size_t a = 0; a < kA; ++a) {
      double all = 0, over = 0;
      for (std::size_t u = 0; u < kU; ++u) {
        all += kernels[h][u] * likelihood[a + u];
        over += kernels[h][u] * covering[a + u];
      }
      kind.likelihood[h][a] = all;
      kind.covering[h][a] = over;
    }
  }
  // Policies without an interaction cover together: a hard threshold, or equal policies would seem to differ.
  for (std::size_t a = 0; a < kA; ++a) {
    kind.likelihood[0][a] = likelihood[a + (kU - 1) / 2];
    kind.covering[0][a] = a_at(a) + level >= needed ? kind.likelihood[0][a] : 0;
  }
  return kind;
}

// As kMaxTrials trials, which is what it counts for, with none and all kept apart from some.
CellCount coarse(CellCount cell) {
  if (cell.trials <= kMaxTrials) return cell;
  constexpr auto kMost = static_cast<std::uint32_t>(kMaxTrials);
  if (cell.successes == 0 || cell.successes == cell.trials) return {kMost, cell.successes == 0 ? 0 : kMost};
  const auto near = std::lround(kMaxTrials * cell.successes / cell.trials);
  return {kMost, static_cast<std::uint32_t>(std::clamp<long>(near, 1, kMost - 1))};
}

// What a kind is made from: a cell of a policy of some level.
using KindSource = std::pair<CellCount, double>;

// Numbers the kinds. With a `step` levels are rounded to it and cells are coarse.
std::vector<KindSource> number_kinds(const CountTable& table, std::vector<double> levels, double step,
                                     std::vector<std::uint32_t>& kind) {
  if (step > 0) {
    for (auto& level : levels) level = std::round(level / step) * step;
  }
  std::map<std::tuple<double, std::uint32_t, std::uint32_t>, std::uint32_t> numbers;
  std::vector<KindSource> sources;
  for (std::size_t at = 0; at < table.cells.size(); ++at) {
    const auto cell = step > 0 ? coarse(table.cells[at]) : table.cells[at];
    const double level = levels[at % levels.size()];
    const auto [found, fresh] =
        numbers.try_emplace({level, cell.trials, cell.successes}, static_cast<std::uint32_t>(sources.size()));
    if (fresh) sources.emplace_back(cell, level);
    kind[at] = found->second;
  }
  return sources;
}

Cells make_cells(const CountTable& table, double tau, Executor& executor) {
  Cells cells;
  cells.prompts = table.prompt_count();
  cells.policies = table.pool_size();
  cells.kind.resize(table.cells.size());
  const auto levels = policy_levels(table);
  auto sources = number_kinds(table, levels, 0, cells.kind);
  for (double step = kStep / 4; sources.size() > kMostKinds && step <= kStep; step *= 2) {
    sources = number_kinds(table, levels, step, cells.kind);
  }
  const auto kernels = make_kernels();
  cells.kinds.resize(sources.size());
  executor.run(sources.size(), [&](std::size_t k) {
    cells.kinds[k] = make_kind(sources[k].first, sources[k].second, tau, kernels);
  });
  return cells;
}

// The EM fit of one set of prompt weights; buffers are its own.
class Fit {
 public:
  explicit Fit(const Cells& cells) : cells_(cells), mixed_(cells.kinds.size()), pull_(cells.kinds.size()) {}

  // `weights` by prompt. Starts from `mixture`, ends after `steps` or when the weights stand still.
  std::uint32_t run(Mixture& mixture, const std::vector<double>& weights, std::uint32_t steps) {
    for (std::uint32_t step = 1; step <= steps; ++step) {
      const Mixture before = mixture;
      update(mixture, weights);
      double moved = 0;
      for (std::size_t a = 0; a < kA; ++a) moved += std::abs(mixture.difficulty[a] - before.difficulty[a]);
      for (std::size_t b = 0; b < kBins; ++b) {
        for (std::size_t h = 0; h < kKernels; ++h)
          moved += std::abs(mixture.kernel[b][h] - before.kernel[b][h]);
      }
      if (moved < 1e-4) return step;
    }
    return steps;
  }

  // Fills mixed() for the present weights: the likelihood of a kind at every difficulty.
  void mix(const Mixture& mixture) {
    const KernelsOverA spread = spread_out(mixture);
    for (std::size_t k = 0; k < mixed_.size(); ++k)
      mixed_[k] = weighted_sum(spread, cells_.kinds[k].likelihood);
  }
  const OverA& mixed(std::size_t kind) const { return mixed_[kind]; }

  // The kernels' weights at every difficulty.
  static KernelsOverA spread_out(const Mixture& mixture) {
    KernelsOverA spread{};
    for (std::size_t h = 0; h < kKernels; ++h) {
      for (std::size_t a = 0; a < kA; ++a) spread[h][a] = mixture.kernel[bin_of(a)][h];
    }
    return spread;
  }
  static OverA weighted_sum(const KernelsOverA& weights, const KernelsOverA& values) {
    OverA sum{};
    for (std::size_t h = 0; h < kKernels; ++h) {
      for (std::size_t a = 0; a < kPadded; ++a) sum[a] += weights[h][a] * values[h][a];
    }
    return sum;
  }

  // Of a prompt's difficulty given its counts; sums to 1. Needs mix().
  OverA posterior(const Mixture& mixture, std::size_t prompt) const {
    OverA weight = mixture.difficulty;
    for (std::size_t m = 0; m < cells_.policies; ++m) {
      const OverA& cell = mixed_[cells_.kind[prompt * cells_.policies + m]];
      for (std::size_t a = 0; a < kPadded; ++a) weight[a] *= cell[a];
      if (m % 8 == 7 || m + 1 == cells_.policies) rescale(weight);
    }
    return weight;
  }

 private:
  static void rescale(OverA& weight) {
    std::array<double, 4> part{};
    for (std::size_t a = 0; a < kPadded; a += 4) {
      for (std::size_t i = 0; i < 4; ++i) part[i] += weight[a + i];
    }
    const double sum = (part[0] + part[1]) + (part[2] + part[3]);
    if (sum > 0) {
      const double scale = 1 / sum;
      for (std::size_t a = 0; a < kPadded; ++a) weight[a] *= scale;
    } else {
      std::fill_n(weight.begin(), kA, 1.0 / kA);
    }
  }

  void update(Mixture& mixture, const std::vector<double>& weights) {
    mix(mixture);
    for (auto& pull : pull_) pull.fill(0);
    OverA difficulty{};
    double total = 0;
    for (std::size_t i = 0; i < cells_.prompts; ++i) {
      if (weights[i] <= 0) continue;
      const OverA weight = posterior(mixture, i);
      total += weights[i];
      for (std::size_t a = 0; a < kPadded; ++a) difficulty[a] += weights[i] * weight[a];
      for (std::size_t m = 0; m < cells_.policies; ++m) {
        OverA& pull = pull_[cells_.kind[i * cells_.policies + m]];
        for (std::size_t a = 0; a < kPadded; ++a) pull[a] += weights[i] * weight[a];
      }
    }
    update_kernels(mixture);
    for (std::size_t a = 0; a < kA; ++a) mixture.difficulty[a] = difficulty[a] / total;
  }

  void update_kernels(Mixture& mixture) const {
    std::array<std::array<double, kKernels>, kBins> counts{};
    for (std::size_t k = 0; k < pull_.size(); ++k) {
      OverA share;
      for (std::size_t a = 0; a < kA; ++a) share[a] = mixed_[k][a] > 0 ? pull_[k][a] / mixed_[k][a] : 0;
      for (std::size_t b = 0; b < kBins; ++b) {
        std::array<double, kKernels> sum{};  // side by side: ten sums that do not wait for each other
        for (std::size_t a = kBinStart[b]; a < kBinStart[b + 1]; ++a) {
          for (std::size_t h = 0; h < kKernels; ++h) sum[h] += share[a] * cells_.kinds[k].likelihood[h][a];
        }
        for (std::size_t h = 0; h < kKernels; ++h) counts[b][h] += sum[h];
      }
    }
    std::array<double, kKernels> pooled{};
    double total = 0;
    for (std::size_t b = 0; b < kBins; ++b) {
      for (std::size_t h = 0; h < kKernels; ++h) {
        counts[b][h] *= mixture.kernel[b][h];
        pooled[h] += counts[b][h];
        total += counts[b][h];
      }
    }
    for (std::size_t b = 0; b < kBins; ++b) {
      double in_bin = 0;
      for (const double count : counts[b]) in_bin += count;
      for (std::size_t h = 0; h < kKernels; ++h) {
        const double toward = 0.9 * pooled[h] / total + (h == 0 ? 0.1 : 0);
        mixture.kernel[b][h] = (counts[b][h] + kPseudoCount * toward) / (in_bin + kPseudoCount);
      }
    }
  }

  const Cells& cells_;
  std::vector<OverA> mixed_, pull_;
};

// Draws of L: every prompt's difficulty given its counts, then each policy's coverage.
std::vector<double> draw_gaps(const Cells& cells, const Mixture& mixture, std::uint32_t draws,
                              std::uint64_t seed, std::uint32_t stream, std::uint64_t index) {
  Fit fit(cells);
  fit.mix(mixture);
  std::vector<OverA> covers(cells.kinds.size());  // probability of covering at each difficulty
  const KernelsOverA spread = Fit::spread_out(mixture);
  for (std::size_t k = 0; k < covers.size(); ++k) {
    covers[k] = Fit::weighted_sum(spread, cells.kinds[k].covering);
    for (std::size_t a = 0; a < kA; ++a)
      covers[k][a] = fit.mixed(k)[a] > 0 ? covers[k][a] / fit.mixed(k)[a] : 0;
  }
  std::vector<double> oracle(draws, 0);
  std::vector<std::uint32_t> policy(draws * cells.policies, 0);
  for (std::size_t i = 0; i < cells.prompts; ++i) {
    OverA reach = fit.posterior(mixture, i);
    for (std::size_t a = 1; a < kA; ++a) reach[a] += reach[a - 1];
    const auto last = reach.begin() + (kA - 1);
    FastRandom random(seed, stream, index * cells.prompts + i);
    for (std::uint32_t d = 0; d < draws; ++d) {
      const auto at = std::upper_bound(reach.begin(), last, uniform(random) * *last) - reach.begin();
      bool some = false;
      for (std::size_t m = 0; m < cells.policies; ++m) {
        const double p = covers[cells.kind[i * cells.policies + m]][static_cast<std::size_t>(at)];
        const bool covered = p >= 1 || (p > 0 && bernoulli(random, p));
        some |= covered;
        policy[d * cells.policies + m] += covered;
      }
      oracle[d] += some;
    }
  }
  for (std::uint32_t d = 0; d < draws; ++d) {
    const auto best =
        *std::max_element(policy.begin() + d * static_cast<std::ptrdiff_t>(cells.policies),
                          policy.begin() + (d + 1) * static_cast<std::ptrdiff_t>(cells.policies));
    oracle[d] = (oracle[d] - best) / static_cast<double>(cells.prompts);
  }
  return oracle;
}

Interval bootstrap_interval(const Cells& cells, const Mixture& fitted, const PopulationGapOptions& options,
                            Executor& executor) {
  std::vector<std::vector<double>> gaps(options.bootstraps);
  executor.run(options.bootstraps, [&](std::size_t b) {
    std::vector<double> weights(cells.prompts, 0);
    FastRandom random(options.seed, kBootstrap, b);
    for (std::size_t i = 0; i < cells.prompts; ++i) ++weights[bounded(random, cells.prompts)];
    Mixture mixture = fitted;
    Fit(cells).run(mixture, weights, kBootstrapSteps);
    gaps[b] = draw_gaps(cells, mixture, kDrawsPerBootstrap, options.seed, kBootstrapDraws, b);
  });
  std::vector<double> all;
  for (const auto& some : gaps) all.insert(all.end(), some.begin(), some.end());
  std::sort(all.begin(), all.end());
  const double tail = (1 - options.interval_level) / 2 * static_cast<double>(all.size() - 1);
  const auto low = static_cast<std::size_t>(std::floor(tail));
  return {options.margin_alarmed ? all[low] : 0, all[all.size() - 1 - low]};
}

// At most `rows` prompts of the table, drawn without replacement, in order.
CountTable subset(const CountTable& table, std::size_t rows, std::uint64_t seed) {
  CountTable part;
  part.policies = table.policies;
  CounterRandom random(seed, kSubset);
  std::size_t left = rows;
  for (std::size_t i = 0; i < table.prompt_count() && left > 0; ++i) {
    if (bounded(random, table.prompt_count() - i) >= left) continue;
    const auto row = table.row(i);
    part.cells.insert(part.cells.end(), row.begin(), row.end());
    --left;
  }
  return part;
}

}  // namespace

std::optional<PopulationGap> population_gap(const CountTable& table, const PopulationGapOptions& options,
                                            Executor& executor) {
  if (table.prompt_count() == 0 || !(options.tau > 0 && options.tau <= 1)) return std::nullopt;
  const std::size_t most = std::max<std::size_t>(1, options.max_cells / table.pool_size());
  const Cells cells = make_cells(table.prompt_count() > most ? subset(table, most, options.seed) : table,
                                 options.tau, executor);
  Mixture mixture;
  mixture.difficulty.fill(0);
  std::fill_n(mixture.difficulty.begin(), kA, 1.0 / kA);
  for (auto& kernel : mixture.kernel) kernel.fill(1.0 / kKernels);
  PopulationGap gap;
  gap.tau = options.tau;
  gap.prompts_used = cells.prompts;
  gap.em_steps = Fit(cells).run(mixture, std::vector<double>(cells.prompts, 1), kMaxSteps);
  const auto draws = draw_gaps(cells, mixture, std::max(1u, options.draws), options.seed, kDraws, 0);
  for (const double one : draws) gap.estimate += one / static_cast<double>(draws.size());
  if (options.bootstraps > 0) gap.interval = bootstrap_interval(cells, mixture, options, executor);
  return gap;
}

}  // namespace gapwatch::stats
