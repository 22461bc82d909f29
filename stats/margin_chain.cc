#include "stats/margin_chain.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "stats/autocorrelation.h"
#include "stats/margin_bytes.h"
#include "stats/margin_moves.h"
#include "stats/redeal_sampler.h"

namespace gapwatch::stats {
namespace {

constexpr std::uint32_t kStream = 0x4D47;  // margin chains
constexpr std::uint64_t kPilotRounds = 320, kFewestPilotRounds = 40;
// Where correlations fall geometrically, half the samples count at 1/3.
constexpr double kLagCorrelation = 1.0 / 3, kSlowLagCorrelation = 0.4;

// The informative prompts, column by column, ordered by class (then as in the table).
struct Rows {
  std::size_t count = 0, pool = 0;
  std::vector<std::uint32_t> class_of;             // by row
  std::vector<std::vector<std::uint32_t>> counts;  // [policy][row]
  std::vector<std::vector<std::uint32_t>> trials;  // [policy][row]
  std::vector<std::size_t> with_missing;           // rows with a cell without trials
  bool common_trials = true;                       // all of one pattern, few trials
};

Rows informative_rows(const CountTable& table, const PromptClasses& classes) {
  Rows rows;
  rows.pool = classes.pool_size;
  rows.counts.resize(rows.pool);
  rows.trials.resize(rows.pool);
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < classes.class_of_row.size(); ++i) {
    if (!classes.degenerate(classes.classes[classes.class_of_row[i]])) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return classes.class_of_row[a] < classes.class_of_row[b]; });
  rows.count = order.size();
  for (const auto i : order) {
    const auto row = table.row(i);
    rows.class_of.push_back(classes.class_of_row[i]);
    bool missing = false;
    for (std::size_t m = 0; m < rows.pool; ++m) {
      rows.counts[m].push_back(row[m].successes);
      rows.trials[m].push_back(row[m].trials);
      missing = missing || row[m].trials == 0;
      rows.common_trials = rows.common_trials && row[m].trials == rows.trials[m][0] &&
                           row[m].trials <= HeatBath::kCachedTrials;
    }
    if (missing) rows.with_missing.push_back(rows.class_of.size() - 1);
  }
  std::set<std::uint32_t> kinds;
  for (std::size_t m = 0; m < rows.pool && rows.count > 0; ++m) kinds.insert(rows.trials[m][0]);
  constexpr std::size_t kMostKinds = 3;  // each pair of kinds has tables of its own
  rows.common_trials = rows.common_trials && kinds.size() <= kMostKinds && rows.with_missing.empty();
  return rows;
}

class Chain {
 public:
  Chain(const Rows& rows, const PromptClasses& classes, const ScoreSpec& spec,
        const std::vector<PatternScores>& scores, const TableScore& constant, bool long_cycles)
      : rows_(rows),
        classes_(classes),
        spec_(spec),
        scores_(scores),
        constant_(constant),
        long_cycles_(long_cycles),
        sums_(spec, 1),
        row_counts_(rows.pool) {
    if (rows.common_trials && rows.count > 0) {
      std::vector<std::uint32_t> trials;
      for (const auto& column : rows.trials) trials.push_back(column[0]);
      bytes_.emplace(rows.counts, std::move(trials));
      const auto& pattern = scores[classes.classes[rows.class_of[0]].pattern];
      if (ByteTable::can_score(spec, pattern)) bytes_scores_ = &pattern;
    } else {
      counts_ = rows.counts;
    }
    for (std::size_t m = 0; m < rows.pool; ++m) {
      if (std::any_of(rows.trials[m].begin(), rows.trials[m].end(), [](auto n) { return n > 0; })) {
        columns_.push_back(m);
      }
    }
  }

  std::uint64_t moves_a_round() const { return columns_.size() / 2 * (rows_.count / 2); }

  void round(FastRandom& random) {
    if (turn_ == 0) {
      for (std::size_t k = columns_.size(); k > 1; --k)
        std::swap(columns_[k - 1], columns_[bounded(random, k)]);
    }
    Matching matching(columns_.size(), turn_);
    for (std::size_t k = 0, l = 0; matching.next(k, l);) {
      update_columns(random, std::min(columns_[k], columns_[l]), std::max(columns_[k], columns_[l]));
    }
    turn_ = (turn_ + 1) % Matching::turns(columns_.size());
    if (!long_cycles_) return;
    for (std::size_t k = 0; k < rows_.count; ++k) move_along_cycle(random);
  }

  const TableStatistics& statistics() {
    score_ = constant_;
    if (bytes_scores_ != nullptr) {
      bytes_->add_score(spec_, *bytes_scores_, score_);
    } else {
      add_rows();
    }
    statistics_of(score_, rows_.pool, classes_.prompts, statistics_);
    return statistics_;
  }

 private:
  void add_rows() {
    for (std::size_t i = 0, since = 0; i < rows_.count; ++i) {
      for (std::size_t m = 0; m < rows_.pool; ++m)
        row_counts_[m] = bytes_ ? bytes_->count(m, i) : counts_[m][i];
      sums_.add(0, scores_[classes_.classes[rows_.class_of[i]].pattern], row_counts_.data());
      if (++since == ScoreAccumulator::kMaxRows || i + 1 == rows_.count) {
        sums_.drain(0, score_);
        sums_.clear();
        since = 0;
      }
    }
  }

  void update_columns(FastRandom& random, std::size_t a, std::size_t b) {
    const std::size_t turn = bounded(random, Matching::turns(rows_.count));
    if (bytes_) {
      bytes_->update(random, turn, a, b);
      return;
    }
    std::uint32_t *x = counts_[a].data(), *y = counts_[b].data();
    const std::uint32_t *n = rows_.trials[a].data(), *o = rows_.trials[b].data();
    Matching matching(rows_.count, turn);
    for (std::size_t i = 0, j = 0; matching.next(i, j);) {
      if (n[i] == 0 || o[i] == 0 || n[j] == 0 || o[j] == 0) continue;
      const Margins2x2 m{n[i], o[i], n[j], o[j], x[i] + y[i], x[j] + y[j], x[i] + x[j]};
      const auto drawn = bath_.draw(random, m, x[i]);
      x[i] = drawn;
      y[i] = m.row_i - drawn;
      x[j] = m.column_a - drawn;
      y[j] = m.row_j - x[j];
    }
  }

  // One draw along a cycle of 2r cells, r >= 3, chosen without looking at the counts.
  void move_along_cycle(FastRandom& random) {
    const std::size_t most = std::min(columns_.size(), rows_.count);
    std::size_t length = 3;
    while (length < most && (random() & 1) != 0) ++length;
    if (length > most || !choose_cycle(random, length)) return;
    std::int64_t low = std::numeric_limits<std::int64_t>::min(),
                 high = std::numeric_limits<std::int64_t>::max();
    for (const auto& [i, up, down] : cycle_) {
      const std::int64_t c = counts_[up][i], n = rows_.trials[up][i], d = counts_[down][i],
                         o = rows_.trials[down][i];
      if (n == 0 || o == 0) return;
      low = std::max({low, -c, d - o});
      high = std::min({high, n - c, d});
    }
    const auto ratio = [&](std::int64_t step) {
      double product = 1;
      for (const auto& [i, up, down] : cycle_) {
        const double c = static_cast<double>(counts_[up][i] + step),
                     d = static_cast<double>(counts_[down][i] - step);
        product *= (rows_.trials[up][i] - c) / (c + 1) * d / (rows_.trials[down][i] - d + 1);
      }
      return product;
    };
    const std::int64_t step = cycle_step(random, low, high, ratio);
    for (const auto& [i, up, down] : cycle_) {
      counts_[up][i] = static_cast<std::uint32_t>(counts_[up][i] + step);
      counts_[down][i] = static_cast<std::uint32_t>(counts_[down][i] - step);
    }
  }

  template <typename Ratio>
  std::int64_t cycle_step(FastRandom& random, std::int64_t low, std::int64_t high, Ratio ratio) {
    const auto deviation = [&](std::int64_t step) {
      double curvature = 0;
      const auto part = [](double count, double trials) {
        return 1 / (count + 1) + 1 / (trials - count + 1);
      };
      for (const auto& [i, up, down] : cycle_) {
        curvature += part(static_cast<double>(counts_[up][i] + step), rows_.trials[up][i]) +
                     part(static_cast<double>(counts_[down][i] - step), rows_.trials[down][i]);
      }
      return 1 / std::sqrt(curvature);
    };
    const auto log_weight = [&](std::int64_t step) {
      double sum = 0;
      for (const auto& [i, up, down] : cycle_) {
        const auto c = static_cast<std::uint64_t>(counts_[up][i] + step),
                   d = static_cast<std::uint64_t>(counts_[down][i] - step);
        sum -= log_factorial(c) + log_factorial(rows_.trials[up][i] - c) + log_factorial(d) +
               log_factorial(rows_.trials[down][i] - d);
      }
      return sum;
    };
    return draw_log_concave(random, low, high, 0, scratch_, ratio, log_weight, deviation);
  }

  // Distinct prompts, half of them from those with missing cells; distinct policies. False: not distinct.
  bool choose_cycle(FastRandom& random, std::size_t length) {
    for (std::size_t k = 0; k < length; ++k) {
      std::swap(columns_[k], columns_[k + bounded(random, columns_.size() - k)]);
    }
    cycle_.clear();
    for (std::size_t k = 0; k < length; ++k) {
      const std::size_t row = (random() & 1) != 0
                                  ? rows_.with_missing[bounded(random, rows_.with_missing.size())]
                                  : bounded(random, rows_.count);
      for (const auto& step : cycle_) {
        if (step.row == row) return false;
      }
      cycle_.push_back({row, columns_[k], columns_[(k + 1) % length]});
    }
    return true;
  }

  struct CycleStep {
    std::size_t row, up, down;
  };
  const Rows& rows_;
  const PromptClasses& classes_;
  const ScoreSpec& spec_;
  const std::vector<PatternScores>& scores_;
  const TableScore& constant_;
  bool long_cycles_;
  std::optional<ByteTable> bytes_;                  // where the rows have the same trials, few
  const PatternScores* bytes_scores_ = nullptr;     // where it can score itself
  std::vector<std::vector<std::uint32_t>> counts_;  // else; by policy, then row
  std::vector<std::size_t> columns_;
  std::size_t turn_ = 0;  // of the tournament of policies, each of which begins in an order of its own
  ScoreAccumulator sums_;
  TableScore score_;
  TableStatistics statistics_;
  std::vector<std::uint32_t> row_counts_;
  std::vector<CycleStep> cycle_;
  std::vector<double> scratch_;
  HeatBath bath_;
};

// The first lag at which every series' autocorrelation has fallen to what is allowed it.
std::uint64_t spacing_of(const NullSamples& pilot, std::size_t chains) {
  std::uint64_t spacing = 1;
  const auto look = [&](const std::vector<std::int64_t>& series, double allowed) {
    const Autocorrelation correlation(series, chains);
    if (correlation.constant()) return;
    std::uint64_t lag = 1;
    while (lag < correlation.max_lag() && correlation.at(lag) > allowed) ++lag;
    spacing = std::max(spacing, lag);
  };
  for (std::size_t t = 0; t < pilot.gap.size(); ++t) {
    look(pilot.gap[t], kLagCorrelation);
    look(pilot.disagreement[t], kLagCorrelation);
  }
  look(pilot.pass_at_1_gap, kSlowLagCorrelation);
  return spacing;
}

// Samples, spacing and burn-in that stay within the moves allowed.
void plan(std::uint64_t moves, std::uint64_t spacing, const MarginChainOptions& options,
          MarginChainResult& out, std::uint32_t& samples) {
  out.rounds_per_sample = spacing;
  const std::uint64_t rounds = options.max_moves / moves;
  out.rounds_per_sample = std::clamp<std::uint64_t>(rounds / (2 * samples), 1, out.rounds_per_sample);
  constexpr std::uint32_t kFewest = 100;
  if (rounds < samples)
    samples = std::min(samples, std::max<std::uint32_t>(kFewest, static_cast<std::uint32_t>(rounds)));
  out.burn_in_rounds = std::max<std::uint64_t>(16, 10 * out.rounds_per_sample);
  if (rounds < 2 * samples) out.burn_in_rounds = 16;
}

void measure(MarginChainResult& out, std::size_t samples) {
  for (std::size_t t = 0; t < out.samples.gap.size(); ++t) {
    out.autocorrelation_time =
        std::max({out.autocorrelation_time, autocorrelation_time(out.samples.gap[t], out.chains),
                  autocorrelation_time(out.samples.disagreement[t], out.chains)});
  }
  out.effective_samples = static_cast<double>(samples) / out.autocorrelation_time;
}

}  // namespace

bool needs_long_cycles(const PromptClasses& classes) {
  constexpr std::size_t kEnough = 3;
  // Prompts of one pattern miss the same policies: three of them stand for all.
  std::vector<std::uint64_t> prompts(classes.patterns.size(), 0);
  for (const auto& c : classes.classes) prompts[c.pattern] += classes.degenerate(c) ? 0 : c.prompts;
  std::vector<std::vector<std::size_t>> missing;  // by prompt: policies without trials
  for (std::size_t p = 0; p < classes.patterns.size(); ++p) {
    std::vector<std::size_t> policies;
    for (std::size_t m = 0; m < classes.pool_size; ++m) {
      if (classes.patterns[p].trials[m] == 0) policies.push_back(m);
    }
    if (!policies.empty())
      missing.insert(missing.end(), std::min<std::uint64_t>(prompts[p], kEnough), policies);
  }
  std::vector<std::ptrdiff_t> prompt_of(classes.pool_size, -1);
  std::vector<char> seen;
  const auto match = [&](auto&& self, std::size_t prompt) -> bool {
    for (const auto policy : missing[prompt]) {
      if (seen[policy]) continue;
      seen[policy] = 1;
      if (prompt_of[policy] < 0 || self(self, static_cast<std::size_t>(prompt_of[policy]))) {
        prompt_of[policy] = static_cast<std::ptrdiff_t>(prompt);
        return true;
      }
    }
    return false;
  };
  std::size_t matched = 0;
  for (std::size_t p = 0; p < missing.size() && matched < kEnough; ++p) {
    seen.assign(classes.pool_size, 0);
    matched += match(match, p) ? 1 : 0;
  }
  return matched >= kEnough;
}

namespace {

// Runs the chains towards equilibrium; gives the spacing of their samples after that.
std::uint64_t run_pilots(std::vector<Chain>& pilots, std::uint64_t rounds, const ScoreSpec& spec,
                         std::uint64_t seed, Executor& executor) {
  const std::uint64_t own = rounds / pilots.size(), burn = own / 5, kept = own - burn;
  NullSamples trace(spec.thresholds.size(), kept * pilots.size());
  executor.run(pilots.size(), [&](std::size_t k) {
    FastRandom random(seed, kStream, (1ull << 32) | k);
    for (std::uint64_t r = 0; r < own; ++r) {
      pilots[k].round(random);
      if (r >= burn) trace.put(k * kept + r - burn, pilots[k].statistics());
    }
  });
  return spacing_of(trace, pilots.size());
}

// Independent chains from where the pilots are, each giving its share of the samples.
void run_chains(const std::vector<Chain>& pilots, std::uint64_t seed, std::size_t samples,
                MarginChainResult& out, Executor& executor) {
  const std::size_t share = samples / out.chains;
  executor.run(out.chains, [&](std::size_t k) {
    FastRandom random(seed, kStream, k);
    Chain chain = pilots[k % pilots.size()];
    for (std::uint64_t r = 0; r < out.burn_in_rounds; ++r) chain.round(random);
    for (std::size_t s = share * k; s < share * (k + 1); ++s) {
      for (std::uint64_t r = 0; r < out.rounds_per_sample; ++r) chain.round(random);
      out.samples.put(s, chain.statistics());
    }
  });
}

}  // namespace

MarginChainResult sample_margin(const CountTable& table, const PromptClasses& classes, const ScoreSpec& spec,
                                const MarginChainOptions& options, Executor& executor) {
  const Rows rows = informative_rows(table, classes);
  const TableScore constant = constant_score(spec, classes);
  std::vector<PatternScores> scores;
  const bool look_up = classes.patterns.size() * 16 <= classes.prompts || classes.patterns.size() <= 1'000;
  for (const auto& pattern : classes.patterns) scores.emplace_back(spec, pattern, look_up);
  MarginChainResult out{NullSamples(spec.thresholds.size(), 0)};
  out.long_cycles = needs_long_cycles(classes);
  std::vector<Chain> pilots;
  pilots.emplace_back(rows, classes, spec, scores, constant, out.long_cycles);
  const std::uint64_t moves = pilots[0].moves_a_round();
  if (rows.count < 2 || moves == 0) {  // nothing can move
    out.chains = 1;
    out.samples = NullSamples(spec.thresholds.size(), options.samples);
    for (std::uint32_t k = 0; k < options.samples; ++k) out.samples.put(k, pilots[0].statistics());
    measure(out, options.samples);
    return out;
  }
  out.chains = std::clamp<std::uint32_t>(options.chains, 1, options.samples);
  const std::uint64_t rounds =
      std::clamp<std::uint64_t>(options.max_moves / 4 / moves, kFewestPilotRounds, kPilotRounds);
  if (rounds == kPilotRounds) pilots.push_back(pilots[0]);
  const std::uint64_t spacing = run_pilots(pilots, rounds, spec, options.seed, executor);
  std::uint32_t samples = options.samples;
  plan(moves, spacing, options, out, samples);
  samples = (samples + out.chains - 1) / out.chains * out.chains;
  out.samples = NullSamples(spec.thresholds.size(), samples);
  run_chains(pilots, options.seed, samples, out, executor);
  out.sweeps_per_sample =
      static_cast<double>(out.rounds_per_sample * moves) / static_cast<double>(rows.count * rows.pool);
  measure(out, samples);
  return out;
}

}  // namespace gapwatch::stats
