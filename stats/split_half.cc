#include "stats/split_half.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "stats/redeal_sampler.h"
#include "stats/split_half_exact.h"

namespace gapwatch::stats {
namespace {

constexpr std::uint32_t kSplitStream = 0x53504c54;  // "SPLT"
constexpr std::size_t kChunk = 64;                  // prompts of one piece of the exact work
constexpr double kMostExactWork = 5e8, kSorting = 30;
constexpr double kWideHalf = 12;  // deviation of a half's successes from which they are drawn without a table
constexpr double kDrawCost = 20;  // of such a draw, in look-ups

CountTable splittable(const CountTable& table) { return complete_rows(table, {.min_trials = 2, .missing_as_fail = false}); }

// About how many operations the exact expectation takes.
double exact_work(const CountTable& table) {
  double work = 0;
  const auto pool = static_cast<double>(table.pool_size());
  for (std::size_t i = 0; i < table.prompt_count(); ++i) {
    double values = 0;
    std::uint32_t half = 0;
    bool even = true;
    for (const CellCount cell : table.row(i)) {
      const double width = std::min({20 * half_deviation(cell) + 1, cell.successes + 1.0, cell.trials - cell.successes + 1.0});
      even &= half == 0 || half == cell.trials / 2;
      half = cell.trials / 2;
      values = even ? std::max(values, width) : values + width;
    }
    work += values * (pool * pool + kSorting);
  }
  return work;
}

std::vector<double> honest_means(const CountTable& table, std::span<const double> thresholds, bool first,
                                 Executor& executor) {
  const auto prompts = table.prompt_count();
  const auto chunks = (prompts + kChunk - 1) / kChunk;
  std::vector<std::vector<double>> parts(chunks, std::vector<double>(thresholds.size()));
  executor.run(chunks, [&](std::size_t chunk) {
    HalfLaws laws;
    for (auto i = chunk * kChunk; i < std::min(prompts, (chunk + 1) * kChunk); ++i) {
      const auto honest = honest_coverage(table.row(i), thresholds, first, laws);
      for (std::size_t t = 0; t < honest.size(); ++t) parts[chunk][t] += honest[t];
    }
  });
  std::vector<double> means(thresholds.size());
  for (const auto& part : parts) {
    for (std::size_t t = 0; t < means.size(); ++t) means[t] += part[t];
  }
  for (double& mean : means) mean = std::min(1.0, mean / static_cast<double>(prompts));  // sums of probabilities round
  return means;
}

// One random split of every cell, at every threshold.
struct SplitScores {
  double honest = 0;         // coverage of the per-prompt choices
  double best_chosen = 0;    // scoring-half coverage of the choosing half's best policy, ties averaged
  double best_scoring = 0;   // largest scoring-half coverage
};

class Splitter {
 public:
  Splitter(const CountTable& table, std::span<const double> thresholds)
      : table_(table), thresholds_(thresholds), law_(table.cells.size()), needs_(table.cells.size()) {
    for (std::size_t c = 0; c < table.cells.size(); ++c) {
      const bool wide = half_deviation(table.cells[c]) > kWideHalf;
      law_[c] = wide ? nullptr : &laws_.of(table.cells[c]);
      cost_ += wide ? kDrawCost : 1;
      needs_[c] = needs_of(table.cells[c].trials);
    }
  }

  double cost() const { return cost_; }  // of one split, in look-ups

  std::vector<SplitScores> split(std::uint64_t seed, std::uint64_t replicate, bool with_choice) const {
    FastRandom random(seed, kSplitStream, replicate);
    const auto pool = table_.pool_size();
    std::vector<std::vector<std::int64_t>> chosen(thresholds_.size(), std::vector<std::int64_t>(pool));
    auto scored = chosen;
    std::vector<double> honest(thresholds_.size());
    std::vector<CellCount> half(pool), rest(pool);
    for (std::size_t i = 0; i < table_.prompt_count(); ++i) {
      draw(random, i, half, rest);
      for (std::size_t t = 0; t < thresholds_.size(); ++t) {
        for (std::size_t m = 0; m < pool; ++m) {
          const auto& needed = (*needs_[i * pool + m])[t];
          chosen[t][m] += covers(half[m], needed.half);
          scored[t][m] += covers(rest[m], needed.rest);
        }
        if (with_choice) honest[t] += choice_covers(half, rest, thresholds_[t]);
      }
    }
    std::vector<SplitScores> out;
    for (std::size_t t = 0; t < thresholds_.size(); ++t) out.push_back(scores(honest[t], chosen[t], scored[t]));
    return out;
  }

 private:
  struct Needed {
    std::uint32_t half, rest;
  };
  using Needs = std::vector<Needed>;  // by threshold

  const Needs* needs_of(std::uint32_t trials) {
    auto& needs = made_[trials];
    if (needs.empty()) {
      for (const double tau : thresholds_) needs.push_back({need(tau, trials / 2), need(tau, trials - trials / 2)});
    }
    return &needs;
  }

  void draw(FastRandom& random, std::size_t prompt, std::vector<CellCount>& half, std::vector<CellCount>& rest) const {
    const auto pool = table_.pool_size();
    for (std::size_t m = 0; m < pool; ++m) {
      const auto cell = table_.row(prompt)[m];
      if (law_[prompt * pool + m] == nullptr) {
        const auto taken = static_cast<std::uint32_t>(
            hypergeometric_draw(random, cell.trials, cell.successes, cell.trials / 2));
        half[m] = {cell.trials / 2, taken};
        rest[m] = {cell.trials - cell.trials / 2, cell.successes - taken};
        continue;
      }
      const auto& law = *law_[prompt * pool + m];
      const double u = uniform(random);
      const auto at = std::upper_bound(law.cumulative.begin(), law.cumulative.end() - 1, u);
      const auto successes = law.from + static_cast<std::uint32_t>(at - law.cumulative.begin());
      half[m] = {law.half, successes};
      rest[m] = {cell.trials - law.half, cell.successes - successes};
    }
  }

  static double choice_covers(const std::vector<CellCount>& half, const std::vector<CellCount>& rest, double tau) {
    const auto product = [](std::uint32_t a, std::uint32_t b) { return std::uint64_t{a} * b; };
    std::size_t best = 0;
    double covering = 0, tied = 0;
    for (std::size_t m = 0; m < half.size(); ++m) {
      const auto mine = product(half[m].successes, half[best].trials), most = product(half[best].successes, half[m].trials);
      if (mine < most) continue;
      if (mine > most) covering = tied = 0;
      if (mine > most) best = m;
      tied += 1;
      covering += covers(rest[m], need(tau, rest[m].trials));
    }
    return covering / tied;
  }

  SplitScores scores(double honest, const std::vector<std::int64_t>& chosen,
                     const std::vector<std::int64_t>& scored) const {
    const auto prompts = static_cast<double>(table_.prompt_count());
    const auto best = *std::max_element(chosen.begin(), chosen.end());
    double sum = 0, tied = 0;
    for (std::size_t m = 0; m < chosen.size(); ++m) {
      if (chosen[m] != best) continue;
      sum += static_cast<double>(scored[m]);
      tied += 1;
    }
    return {honest / prompts, sum / tied / prompts,
            static_cast<double>(*std::max_element(scored.begin(), scored.end())) / prompts};
  }

  const CountTable& table_;
  std::span<const double> thresholds_;
  HalfLaws laws_;
  std::vector<const HalfLaw*> law_;  // by cell; null: drawn without a table
  double cost_ = 0;
  std::map<std::uint32_t, Needs> made_;
  std::vector<const Needs*> needs_;  // by cell
};

struct Average {
  double sum = 0, squares = 0, count = 0;
  void add(double x) {
    sum += x;
    squares += x * x;
    count += 1;
  }
  double mean() const { return sum / count; }
  Number error() const {
    if (count < 2) return std::nullopt;
    return std::sqrt(std::max(0.0, squares / count - mean() * mean()) / (count - 1));
  }
};

}  // namespace

Number split_half_honest(const CountTable& table, double tau, bool first) {
  const auto split = splittable(table);
  if (split.prompt_count() == 0) return std::nullopt;
  InlineExecutor here;
  return honest_means(split, {&tau, 1}, first, here)[0];
}

std::vector<SplitHalfResult> split_half(const CountTable& table, std::span<const double> thresholds,
                                        const SplitHalfOptions& options, Executor& executor) {
  const auto split = splittable(table);
  std::vector<SplitHalfResult> out(thresholds.size());
  for (std::size_t t = 0; t < out.size(); ++t) {
    out[t].tau = thresholds[t];
    out[t].prompts = static_cast<std::int64_t>(split.prompt_count());
  }
  if (split.prompt_count() == 0) return out;
  const bool exact = exact_work(split) <= kMostExactWork;
  const auto honest = exact ? honest_means(split, thresholds, false, executor) : std::vector<double>();
  const Splitter splitter(split, thresholds);
  const auto affordable = std::clamp(1e8 / splitter.cost(), 20.0, 1e9);
  const auto replicates = static_cast<std::uint32_t>(std::clamp<double>(options.replicates, 1, affordable));
  std::vector<std::vector<SplitScores>> scores(replicates);
  executor.run(replicates, [&](std::size_t r) { scores[r] = splitter.split(options.seed, r, !exact); });
  for (std::size_t t = 0; t < out.size(); ++t) {
    Average chosen, scoring, choice;
    for (const auto& score : scores) {
      chosen.add(score[t].best_chosen);
      scoring.add(score[t].best_scoring);
      choice.add(score[t].honest);
    }
    out[t].honest_exact = exact;
    out[t].honest = exact ? honest[t] : choice.mean();
    out[t].matched = *out[t].honest - chosen.mean();
    out[t].scoring_half = *out[t].honest - scoring.mean();
    out[t].matched_error = chosen.error();
    out[t].scoring_half_error = scoring.error();
  }
  return out;
}

}  // namespace gapwatch::stats
