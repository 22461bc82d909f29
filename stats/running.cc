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

  // By lane: -1 where the cell reaches the threshold, else 0.
  Needs met(std::size_t group, CellCount cell) const {
    const auto need = needs(group, cell.trials);
    Needs met;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      met[lane] = static_cast<std::int32_t>(cell.successes) >= need[lane] ? -1 : 0;
    }
    return met;
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

struct PoolSums::RowTotals {
  std::uint64_t trials = 0, successes = 0;
  std::uint32_t with_success = 0;
  std::uint32_t fewest = std::numeric_limits<std::uint32_t>::max(), most = 0;
  bool some_certain = false;  // a cell without a failure
  bool complete = false;
};

PoolSums::RowTotals PoolSums::totals(std::span<const CellCount> cells, const Completeness& rule) {
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

// What the terms of a whole row are made of, gathered cell by cell in the pool's order.
struct PoolSums::RowRates {
  double best = 0, sum = 0, all_miss = 1;
  std::int64_t with_success = 0, present = 0;

  void take(CellCount cell, double p) {
    best = p > best ? p : best;
    sum += p;
    all_miss *= 1 - p;
    with_success += cell.successes > 0;
    present += cell.trials > 0;
  }
  // One policy's successes are no coincidence of two: exactly no premium.
  double any() const { return with_success <= 1 ? best : std::max(best, 1 - all_miss); }
  double mean() const { return sum / static_cast<double>(present); }
};

void PoolSums::add(const PromptView& prompt) { apply(prompt, totals(prompt.cells, spec_.completeness), 1); }

void PoolSums::remove(const PromptView& prompt) { apply(prompt, totals(prompt.cells, spec_.completeness), -1); }

void PoolSums::apply(const PromptView& prompt, const RowTotals& row, int sign) {
  assert(prompt.cells.size() == spec_.pool_size);
  if (!row.complete) {
    partial += row.trials > 0 ? sign : 0;
    return;
  }
  add_row(prompt, row, sign);
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

void PoolSums::replace(const PromptView& before, const PromptView& after) {
  const auto was = totals(before.cells, spec_.completeness), is = totals(after.cells, spec_.completeness);
  if (!was.complete || !is.complete) {
    apply(before, was, -1);
    apply(after, is, 1);
    return;
  }
  add_row(before, was, -1);
  add_row(after, is, 1);
  for (std::size_t m = 0; m < after.cells.size(); ++m) {
    const auto was_n = before.cells[m].trials, is_n = after.cells[m].trials;
    if (was_n == is_n) continue;
    if (was_n > 0) cells_by_trials.add(was_n, -1);
    if (is_n > 0) cells_by_trials.add(is_n, 1);
  }
  replace_rates(before.cells, after.cells);
  replace_coverage(before.cells, after.cells);
}

// The plain counts of a complete prompt.
void PoolSums::add_row(const PromptView& prompt, const RowTotals& row, int sign) {
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
}

void PoolSums::add_row_rates(const RowRates& row, int sign) {
  add_signed(ceiling, row.best, sign);
  add_signed(union_product, row.any(), sign);
  add_signed(frechet_upper, std::min(1.0, row.sum), sign);
  add_signed(rauc_oracle, terms_->in_band(row.best), sign);
  const double mean = row.mean();
  add_signed(rauc_mixture, terms_->in_band(mean), sign);
  for (std::size_t t = 0; t < at.size(); ++t) at[t].mixture += mean >= terms_->tau(t) - 1e-12 ? sign : 0;
}

namespace {
constexpr std::size_t kBlock = 32;  // in passes: arithmetic in vectors, then sums one by one
}  // namespace

void PoolSums::add_rates(std::span<const CellCount> cells, int sign) {
  RowRates row;
  for (std::size_t from = 0; from < cells.size(); from += kBlock) {
    const auto count = std::min(kBlock, cells.size() - from);
    double p[kBlock], area[kBlock];
    for (std::size_t m = 0; m < count; ++m) p[m] = rate_of(cells[from + m]);
    for (std::size_t m = 0; m < count; ++m) area[m] = terms_->in_band(p[m]);
    for (std::size_t m = 0; m < count; ++m) {
      row.take(cells[from + m], p[m]);
      add_signed(rate[from + m], p[m], sign);
      add_signed(rauc[from + m], area[m], sign);
    }
  }
  add_row_rates(row, sign);
}

void PoolSums::replace_rates(std::span<const CellCount> before, std::span<const CellCount> after) {
  RowRates was, is;
  for (std::size_t from = 0; from < after.size(); from += kBlock) {
    const auto count = std::min(kBlock, after.size() - from);
    double old_p[kBlock], p[kBlock];
    for (std::size_t m = 0; m < count; ++m) old_p[m] = rate_of(before[from + m]);
    for (std::size_t m = 0; m < count; ++m) p[m] = rate_of(after[from + m]);
    for (std::size_t m = 0; m < count; ++m) {
      was.take(before[from + m], old_p[m]);
      is.take(after[from + m], p[m]);
      if (before[from + m] == after[from + m]) continue;
      rate[from + m].add(fixed_term(p[m]) - fixed_term(old_p[m]));
      rauc[from + m].add(fixed_term(terms_->in_band(p[m])) - fixed_term(terms_->in_band(old_p[m])));
    }
  }
  add_row_rates(was, -1);
  add_row_rates(is, 1);
}

void PoolSums::add_coverage(std::span<const CellCount> cells, int sign) {
  auto* lanes_of = covered_.data();
  for (std::size_t group = 0; group < terms_->groups(); ++group) {
    Lanes covering{};
    for (const CellCount cell : cells) {
      const auto met = terms_->met(group, cell);
      Lanes& covered = *lanes_of++;
      for (std::size_t lane = 0; lane < met.size(); ++lane) {
        covering[lane] -= met[lane];
        covered[lane] += met[lane] & sign;
      }
    }
    add_covering(group, covering, cells.size(), sign);
  }
}

void PoolSums::replace_coverage(std::span<const CellCount> before, std::span<const CellCount> after) {
  auto* lanes_of = covered_.data();
  for (std::size_t group = 0; group < terms_->groups(); ++group) {
    Lanes were_covering{}, covering{};
    for (std::size_t m = 0; m < after.size(); ++m) {
      const auto was_met = terms_->met(group, before[m]), met = terms_->met(group, after[m]);
      Lanes& covered = *lanes_of++;
      for (std::size_t lane = 0; lane < met.size(); ++lane) {
        were_covering[lane] -= was_met[lane];
        covering[lane] -= met[lane];
        covered[lane] += was_met[lane] - met[lane];
      }
    }
    add_covering(group, were_covering, after.size(), -1);
    add_covering(group, covering, after.size(), 1);
  }
}

void PoolSums::add_covering(std::size_t group, const Lanes& covering, std::size_t cells, int sign) {
  for (std::size_t lane = 0; lane < terms_->lanes(group); ++lane) {
    auto& sums = at[group * PromptTerms::kLanes + lane];
    sums.oracle += covering[lane] > 0 ? sign : 0;
    sums.all += covering[lane] == static_cast<std::int32_t>(cells) ? sign : 0;
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
  if (!PoolSums::totals(prompt.cells, spec_.completeness).complete) return;
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
