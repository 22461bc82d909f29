#include "stats/power_tests.h"

#include <algorithm>
#include <span>
#include <vector>

#include "base/executor.h"
#include "stats/nulls.h"
#include "stats/redeal_sampler.h"

namespace gapwatch::stats {
namespace {

constexpr std::uint32_t kStream = 0x58320000;  // X2 samples
constexpr std::uint64_t kFewestForMoments = 2'000;

// What one prompt of a class adds to X2, up to constants of the class: weight_m (s - mean_m)^2.
struct CellTerm {
  double mean = 0, weight = 0;
};

std::vector<CellTerm> terms_of(const TrialPattern& pattern, std::uint64_t successes) {
  const double total = static_cast<double>(pattern.total), rate = static_cast<double>(successes) / total;
  const double spread = rate * (1 - rate) / (total - 1);
  std::vector<CellTerm> out;
  for (const double n : pattern.trials) {
    const double variance = spread * n * (total - n);
    out.push_back({n * rate, variance > 0 ? 1 / variance : 0});
  }
  return out;
}

template <typename Counts>
double statistic(std::span<const CellTerm> terms, Counts counts) {
  double sum = 0;
  for (std::size_t m = 0; m < terms.size(); ++m) {
    const double distance = counts(m) - terms[m].mean;
    sum += terms[m].weight * distance * distance;
  }
  return sum;
}

PowerPValue p_of(const std::optional<NullComparison>& comparison) {
  if (!comparison) return {};
  const double ties = comparison->fraction_upper + comparison->fraction_lower - 1;
  return {comparison->p_upper, comparison->p_upper - ties / 2};
}

}  // namespace

const char* power_test_name(PowerTest test) {
  constexpr std::array<const char*, kPowerTests> kNames{"gap, re-deal", "gap, margin", "Pass@1 gap, re-deal",
                                                        "Pass@1 gap, margin", "X2, re-deal"};
  return kNames[static_cast<std::size_t>(test)];
}

PowerPValue heterogeneity_p_value(const CountTable& table, std::uint32_t replicates, std::uint64_t seed) {
  const auto classes = classify_prompts(table);
  std::vector<std::vector<CellTerm>> terms(classes.classes.size());
  double observed = 0;
  for (std::size_t i = 0; i < classes.class_of_row.size(); ++i) {
    const auto k = classes.class_of_row[i];
    const auto& c = classes.classes[k];
    if (classes.degenerate(c)) continue;
    if (terms[k].empty()) terms[k] = terms_of(classes.pattern_of(c), c.successes);
    observed += statistic(terms[k], [row = table.row(i)](std::size_t m) { return static_cast<double>(row[m].successes); });
  }
  std::vector<double> samples(replicates, 0);
  std::vector<std::uint32_t> counts(classes.pool_size, 0);
  for (std::size_t first = 0, last = 0; first < terms.size(); first = last) {
    const auto pattern = classes.classes[first].pattern;
    bool moves = false;
    for (; last < terms.size() && classes.classes[last].pattern == pattern; ++last) moves |= !terms[last].empty();
    if (!moves) continue;
    std::fill(counts.begin(), counts.end(), 0);
    const RowSampler sampler(classes.patterns[pattern], classes.classes[first].successes,
                             classes.classes[last - 1].successes);
    for (auto k = first; k < last; ++k) {
      if (terms[k].empty()) continue;
      FastRandom random(seed, kStream, k);
      for (std::uint64_t i = 0; i < classes.classes[k].prompts; ++i) {
        for (double& sample : samples) {
          sampler.draw(random, classes.classes[k].successes, counts.data());
          sample += statistic(terms[k], [&](std::size_t m) { return static_cast<double>(counts[m]); });
        }
      }
    }
  }
  const double slack = observed * 1e-9;  // sums of the same terms in another order
  const auto reaching = [&](double least) {
    return static_cast<double>(std::count_if(samples.begin(), samples.end(), [=](double x) { return x >= least; }));
  };
  const double above = reaching(observed - slack), ties = above - reaching(observed + slack);
  return {(1 + above) / (1.0 + replicates), (1 + above - ties / 2) / (1.0 + replicates)};
}

PowerPValues power_p_values(const CountTable& table, double tau, std::uint32_t replicates, std::uint64_t seed) {
  NullOptions options;
  options.replicates = replicates;
  options.bootstrap = 0;
  options.seed = seed;
  const bool equal = !table.cells.empty() && std::all_of(table.cells.begin(), table.cells.end(), [&](auto cell) {
    return cell.trials == table.cells.front().trials;
  });
  if (equal && table.prompt_count() >= kFewestForMoments) options.redeal = options.margin = NullRoute::kGaussian;
  InlineExecutor executor;
  const auto nulls = compare_with_nulls(table, std::span(&tau, 1), options, executor);
  const auto& gap = nulls.thresholds[0].gap;
  return {p_of(gap.redeal), p_of(gap.margin), p_of(nulls.pass_at_1_gap.redeal), p_of(nulls.pass_at_1_gap.margin),
          heterogeneity_p_value(table, replicates, seed)};
}

}  // namespace gapwatch::stats
