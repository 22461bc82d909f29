#include "stats/running.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>
#include <tuple>

namespace gapwatch::stats {

// Everything about a prompt's terms that depends on the spec alone. Thresholds are taken four at a
// time, so that a cell meets four needs in one vector comparison.
class PromptTerms {
 public:
  static constexpr std::size_t kLanes = 4;
  using Needs = std::array<std::int32_t, kLanes>;

  explicit PromptTerms(const SumsSpec& spec)
      : thresholds_(spec.thresholds),
        low_(spec.band_low),
        scale_(spec.band_high > spec.band_low ? 1 / (spec.band_high - spec.band_low)
                                              : std::numeric_limits<double>::max()) {
    tabled_.reserve(groups() * kTabled);
    for (std::size_t group = 0; group < groups(); ++group) {
      for (std::uint32_t n = 0; n < kTabled; ++n) tabled_.push_back(compute(group, n));
    }
  }

  std::size_t groups() const { return (thresholds_.size() + kLanes - 1) / kLanes; }
  std::size_t lanes(std::size_t group) const { return std::min(kLanes, thresholds_.size() - group * kLanes); }
  double tau(std::size_t threshold) const { return thresholds_[threshold]; }

  // The needs of `trials` at one group's thresholds; never met by an empty cell, nor in a lane too many.
  Needs needs(std::size_t group, std::uint32_t trials) const {
    return trials < kTabled ? tabled_[group * kTabled + trials] : compute(group, trials);
  }

  // The position of a rate in the band, 0 below it and 1 above: its share of the area under the
  // reliability curve.
  double in_band(double rate) const {
    const double at = (rate - low_) * scale_;
    const double above = at > 0 ? at : 0;
    return above < 1 ? above : 1;
  }

 private:
  static constexpr std::uint32_t kTabled = 1025;
  static constexpr std::int32_t kNever = std::numeric_limits<std::int32_t>::max();

  Needs compute(std::size_t group, std::uint32_t trials) const {
    Needs needs;
    needs.fill(kNever);
    if (trials == 0) return needs;
    for (std::size_t lane = 0; lane < lanes(group); ++lane) {
      needs[lane] = static_cast<std::int32_t>(need(thresholds_[group * kLanes + lane], trials));
    }
    return needs;
  }

  std::vector<double> thresholds_;
  double low_, scale_;
  std::vector<Needs> tabled_;  // by group, then by trials
};

namespace {

// successes / trials, and 0 / 1 for a missing cell. Counts fit in 31 bits.
double rate_of(CellCount cell) {
  const auto trials = static_cast<std::int32_t>(cell.trials + (cell.trials == 0));
  return static_cast<double>(static_cast<std::int32_t>(cell.successes)) / static_cast<double>(trials);
}

struct RowTotals {
  std::uint64_t trials = 0, successes = 0;
  std::uint32_t with_success = 0;
  std::uint32_t fewest = std::numeric_limits<std::uint32_t>::max(), most = 0;
  bool some_certain = false;  // a cell without a failure
  bool complete = false;
};

RowTotals totals(std::span<const CellCount> cells, const Completeness& rule) {
  RowTotals row;
  for (const CellCount cell : cells) {
    row.trials += cell.trials;
    row.successes += cell.successes;
    row.with_success += cell.successes > 0;
    row.some_certain |= cell.trials > 0 && cell.successes == cell.trials;
    row.fewest = std::min(row.fewest, cell.trials);
    row.most = std::max(row.most, cell.trials);
  }
  row.complete = row.trials > 0 && (rule.missing_as_fail || (row.fewest > 0 && row.fewest >= rule.min_trials));
  return row;
}

// sign is 1 or -1. Rounding is symmetric, so what was added is taken away.
void add_signed(FixedSum& sum, double term, double sign) { sum.add(fixed_term(sign * term)); }

}  // namespace

PoolSums::PoolSums(const SumsSpec& spec)
    : rate(spec.pool_size),
      rauc(spec.pool_size),
      at(spec.thresholds.size()),
      spec_(spec),
      terms_(std::make_shared<PromptTerms>(spec)),
      covered_(terms_->groups() * spec.pool_size) {}

void PoolSums::apply(const PromptView& prompt, int sign) {
  assert(prompt.cells.size() == spec_.pool_size);
  const auto row = totals(prompt.cells, spec_.completeness);
  if (!row.complete) {
    partial += row.trials > 0 ? sign : 0;
    return;
  }
  complete += sign;
  all_fail += row.successes == 0 ? sign : 0;
  all_pass += row.successes == row.trials ? sign : 0;
  trials += sign * static_cast<std::int64_t>(row.trials);
  certain += row.some_certain ? sign : 0;
  dead += row.with_success == 0 ? sign : 0;
  lone += !row.some_certain && row.with_success == 1 ? sign : 0;
  positive += !row.some_certain && row.with_success > 1 ? sign : 0;
  if (prompt.paired.aligned > 0) {
    paired_prompts += sign;
    add_signed(union_paired,
               static_cast<double>(prompt.paired.any_success) / static_cast<double>(prompt.paired.aligned),
               sign);
  }
  if (row.fewest == row.most) {
    cells_by_trials.add(row.most, sign * static_cast<std::int64_t>(prompt.cells.size()));
  } else {
    for (const CellCount cell : prompt.cells) {
      if (cell.trials > 0) cells_by_trials.add(cell.trials, sign);
    }
  }
  add_rates(prompt.cells, sign);
  add_coverage(prompt.cells, sign);
}

void PoolSums::add_rates(std::span<const CellCount> cells, int sign) {
  constexpr std::size_t kBlock = 32;  // in two passes: arithmetic in vectors, then sums one by one
  const PromptTerms& terms = *terms_;
  double best = 0, sum = 0, all_miss = 1;
  std::int64_t with_success = 0, missing = 0;
  for (std::size_t from = 0; from < cells.size(); from += kBlock) {
    const auto count = std::min(kBlock, cells.size() - from);
    double p[kBlock], area[kBlock];
    for (std::size_t m = 0; m < count; ++m) p[m] = rate_of(cells[from + m]);
    for (std::size_t m = 0; m < count; ++m) area[m] = terms.in_band(p[m]);
    for (std::size_t m = 0; m < count; ++m) {
      best = p[m] > best ? p[m] : best;
      sum += p[m];
      all_miss *= 1 - p[m];
      add_signed(rate[from + m], p[m], sign);
      add_signed(rauc[from + m], area[m], sign);
    }
    for (std::size_t m = 0; m < count; ++m) {
      with_success += cells[from + m].successes > 0;
      missing += cells[from + m].trials == 0;
    }
  }
  // One policy's successes are no coincidence of two: exactly no premium.
  const double any = with_success <= 1 ? best : std::max(best, 1 - all_miss);
  add_signed(ceiling, best, sign);
  add_signed(union_product, any, sign);
  add_signed(frechet_upper, std::min(1.0, sum), sign);
  add_signed(rauc_oracle, terms.in_band(best), sign);
  const double mean = sum / static_cast<double>(static_cast<std::int64_t>(cells.size()) - missing);
  add_signed(rauc_mixture, terms.in_band(mean), sign);
  for (std::size_t t = 0; t < at.size(); ++t) at[t].mixture += mean >= terms.tau(t) - 1e-12 ? sign : 0;
}

void PoolSums::add_coverage(std::span<const CellCount> cells, int sign) {
  constexpr auto kLanes = PromptTerms::kLanes;
  auto* lanes_of = covered_.data();
  for (std::size_t group = 0; group < terms_->groups(); ++group) {
    Lanes covering{};
    for (const CellCount cell : cells) {
      const auto needs = terms_->needs(group, cell.trials);
      const auto successes = static_cast<std::int32_t>(cell.successes);
      Lanes& covered = *lanes_of++;
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const std::int32_t mask = successes >= needs[lane] ? -1 : 0;
        covering[lane] -= mask;
        covered[lane] += mask & sign;
      }
    }
    for (std::size_t lane = 0; lane < terms_->lanes(group); ++lane) {
      auto& sums = at[group * kLanes + lane];
      sums.oracle += covering[lane] > 0 ? sign : 0;
      sums.all += covering[lane] == static_cast<std::int32_t>(cells.size()) ? sign : 0;
    }
  }
}

std::int64_t PoolSums::covered(std::size_t threshold, std::size_t policy) const {
  constexpr auto kLanes = PromptTerms::kLanes;
  return covered_[threshold / kLanes * spec_.pool_size + policy][threshold % kLanes];
}

bool PoolSums::same_sums(const PoolSums& other) const {
  const auto parts = [](const PoolSums& s) {
    return std::tie(s.spec_, s.complete, s.partial, s.all_fail, s.all_pass, s.trials, s.cells_by_trials, s.certain,
                    s.dead, s.lone, s.positive, s.paired_prompts, s.ceiling, s.union_product, s.union_paired,
                    s.frechet_upper, s.rate, s.rauc, s.rauc_oracle, s.rauc_mixture, s.at, s.covered_);
  };
  return parts(*this) == parts(other);
}

void PoolSums::merge(const PoolSums& other) {
  if (other.terms_ == nullptr) return;
  if (terms_ == nullptr) {
    *this = other;
    return;
  }
  assert(spec_ == other.spec_);
  for (const auto field : {&PoolSums::complete, &PoolSums::partial, &PoolSums::all_fail, &PoolSums::all_pass,
                           &PoolSums::trials, &PoolSums::certain, &PoolSums::dead, &PoolSums::lone,
                           &PoolSums::positive, &PoolSums::paired_prompts}) {
    this->*field += other.*field;
  }
  for (const auto field : {&PoolSums::ceiling, &PoolSums::union_product, &PoolSums::union_paired,
                           &PoolSums::frechet_upper, &PoolSums::rauc_oracle, &PoolSums::rauc_mixture}) {
    (this->*field).add(other.*field);
  }
  cells_by_trials.merge(other.cells_by_trials);
  for (std::size_t m = 0; m < rate.size(); ++m) {
    rate[m].add(other.rate[m]);
    rauc[m].add(other.rauc[m]);
  }
  for (std::size_t t = 0; t < at.size(); ++t) {
    at[t].oracle += other.at[t].oracle;
    at[t].all += other.at[t].all;
    at[t].mixture += other.at[t].mixture;
  }
  for (std::size_t i = 0; i < covered_.size(); ++i) {
    for (std::size_t lane = 0; lane < covered_[i].size(); ++lane) covered_[i][lane] += other.covered_[i][lane];
  }
}

RouterSums::RouterSums(const SumsSpec& spec)
    : routed(spec), misrouted(spec.thresholds.size()), spec_(spec) {}

void RouterSums::apply(const PromptView& prompt, RouterWeights weights, int sign) {
  if (weights.empty()) return;
  assert(weights.size() == prompt.cells.size());
  if (sign > 0) {
    routed.add(prompt);
  } else {
    routed.remove(prompt);
  }
  if (!totals(prompt.cells, spec_.completeness).complete) return;
  double mean = 0;
  for (std::size_t m = 0; m < weights.size(); ++m) mean += weights[m] * rate_of(prompt.cells[m]);
  add_signed(rate, mean, sign);
  const auto& terms = *routed.terms_;
  for (std::size_t t = 0; t < misrouted.size(); ++t) {
    double missed = 0;
    std::size_t covering = 0;
    for (std::size_t m = 0; m < weights.size(); ++m) {
      const auto needed = terms.needs(t / PromptTerms::kLanes, prompt.cells[m].trials)[t % PromptTerms::kLanes];
      const bool covered = static_cast<std::int32_t>(prompt.cells[m].successes) >= needed;
      covering += covered;
      missed += covered ? 0 : weights[m];
    }
    if (covering > 0 && covering < weights.size()) add_signed(misrouted[t], missed, sign);
  }
}

void RouterSums::merge(const RouterSums& other) {
  if (other.routed.terms_ == nullptr) return;
  if (routed.terms_ == nullptr) {
    *this = other;
    return;
  }
  routed.merge(other.routed);
  rate.add(other.rate);
  for (std::size_t t = 0; t < misrouted.size(); ++t) misrouted[t].add(other.misrouted[t]);
}

PoolSums sum_table(const CountTable& table, const SumsSpec& spec, std::span<const PairedCount> paired) {
  PoolSums sums(spec);
  for (std::size_t i = 0; i < table.prompt_count(); ++i) {
    sums.add({table.row(i), paired.empty() ? PairedCount{} : paired[i]});
  }
  return sums;
}

}  // namespace gapwatch::stats
