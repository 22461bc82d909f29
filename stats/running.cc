#include "stats/running.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <tuple>

namespace gapwatch::stats {

// Everything about a prompt's terms that depends on the spec alone.
class PromptTerms {
 public:
  explicit PromptTerms(const SumsSpec& spec)
      : thresholds_(spec.thresholds),
        low_(spec.band_low),
        scale_(spec.band_high > spec.band_low ? 1 / (spec.band_high - spec.band_low)
                                              : std::numeric_limits<double>::max()) {
    needed_.reserve(thresholds_.size() * kTabled);
    for (const double tau : thresholds_) {
      for (std::uint32_t n = 0; n < kTabled; ++n) needed_.push_back(n == 0 ? kNever : need(tau, n));
    }
  }

  // The need of every number of trials at one threshold; never met by an empty cell.
  class Needs {
   public:
    Needs(double tau, const std::uint32_t* tabled) : tau_(tau), tabled_(tabled) {}
    bool covers(CellCount cell) const {
      const auto needed = cell.trials < kTabled ? tabled_[cell.trials] : need(tau_, cell.trials);
      return cell.successes >= needed;
    }

   private:
    double tau_;
    const std::uint32_t* tabled_;
  };
  Needs needs(std::size_t threshold) const {
    return {thresholds_[threshold], needed_.data() + threshold * kTabled};
  }
  double tau(std::size_t threshold) const { return thresholds_[threshold]; }

  // The position of a rate in the band, 0 below it and 1 above: its share of the area under the
  // reliability curve.
  FixedTerm in_band(double rate) const {
    return fixed_term(std::clamp((rate - low_) * scale_, 0.0, 1.0));
  }

 private:
  static constexpr std::uint32_t kTabled = 1025;
  static constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max();
  std::vector<double> thresholds_;
  double low_, scale_;
  std::vector<std::uint32_t> needed_;  // by threshold, then by trials
};

namespace {

double rate_of(CellCount cell) {
  return cell.trials == 0 ? 0 : static_cast<double>(cell.successes) / static_cast<double>(cell.trials);
}

struct RowTotals {
  std::uint64_t trials = 0, successes = 0;
  std::uint32_t with_success = 0;
  bool some_certain = false;  // a cell without a failure
  bool complete = false;
};

RowTotals totals(std::span<const CellCount> cells, const Completeness& rule) {
  RowTotals row;
  std::uint32_t fewest = std::numeric_limits<std::uint32_t>::max();
  for (const CellCount cell : cells) {
    row.trials += cell.trials;
    row.successes += cell.successes;
    row.with_success += cell.successes > 0;
    row.some_certain |= cell.trials > 0 && cell.successes == cell.trials;
    fewest = std::min(fewest, cell.trials);
  }
  row.complete = row.trials > 0 && (rule.missing_as_fail || (fewest > 0 && fewest >= rule.min_trials));
  return row;
}

void add_signed(FixedSum& sum, FixedTerm term, int sign) { sum.add(sign > 0 ? term : -term); }

}  // namespace

PoolSums::PoolSums(const SumsSpec& spec)
    : rate(spec.pool_size),
      rauc(spec.pool_size),
      at(spec.thresholds.size()),
      spec_(spec),
      terms_(std::make_shared<PromptTerms>(spec)) {
  for (auto& sums : at) sums.policy.resize(spec.pool_size);
}

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
               fixed_term(static_cast<double>(prompt.paired.any_success) / static_cast<double>(prompt.paired.aligned)),
               sign);
  }
  add_rates(prompt.cells, sign);
  add_coverage(prompt.cells, sign);
}

void PoolSums::add_rates(std::span<const CellCount> cells, int sign) {
  double best = 0, sum = 0, all_miss = 1;
  std::uint32_t with_success = 0, present = 0, run_trials = 0;
  std::int64_t run = 0;
  for (std::size_t m = 0; m < cells.size(); ++m) {
    const double p = rate_of(cells[m]);
    best = std::max(best, p);
    sum += p;
    all_miss *= 1 - p;
    with_success += p > 0;
    present += cells[m].trials > 0;
    add_signed(rate[m], fixed_term(p), sign);
    add_signed(rauc[m], terms_->in_band(p), sign);
    if (cells[m].trials != run_trials) {
      if (run_trials != 0) cells_by_trials.add(run_trials, sign * run);
      run_trials = cells[m].trials;
      run = 0;
    }
    ++run;
  }
  if (run_trials != 0) cells_by_trials.add(run_trials, sign * run);
  // One policy's successes are no coincidence of two: exactly no premium.
  const double any = with_success <= 1 ? best : std::max(best, 1 - all_miss);
  add_signed(ceiling, fixed_term(best), sign);
  add_signed(union_product, fixed_term(any), sign);
  add_signed(frechet_upper, fixed_term(std::min(1.0, sum)), sign);
  add_signed(rauc_oracle, terms_->in_band(best), sign);
  const double mean = sum / static_cast<double>(present);
  add_signed(rauc_mixture, terms_->in_band(mean), sign);
  for (std::size_t t = 0; t < at.size(); ++t) at[t].mixture += mean >= terms_->tau(t) - 1e-12 ? sign : 0;
}

void PoolSums::add_coverage(std::span<const CellCount> cells, int sign) {
  for (std::size_t t = 0; t < at.size(); ++t) {
    const auto needs = terms_->needs(t);
    auto* policy = at[t].policy.data();
    bool some = false, all = true;
    for (std::size_t m = 0; m < cells.size(); ++m) {
      const bool covered = needs.covers(cells[m]);
      some |= covered;
      all &= covered;
      policy[m] += covered ? sign : 0;
    }
    at[t].oracle += some ? sign : 0;
    at[t].all += all ? sign : 0;
  }
}

bool PoolSums::same_sums(const PoolSums& other) const {
  const auto parts = [](const PoolSums& s) {
    return std::tie(s.spec_, s.complete, s.partial, s.all_fail, s.all_pass, s.trials, s.cells_by_trials, s.certain,
                    s.dead, s.lone, s.positive, s.paired_prompts, s.ceiling, s.union_product, s.union_paired,
                    s.frechet_upper, s.rate, s.rauc, s.rauc_oracle, s.rauc_mixture, s.at);
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
    for (std::size_t m = 0; m < rate.size(); ++m) at[t].policy[m] += other.at[t].policy[m];
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
  add_signed(rate, fixed_term(mean), sign);
  for (std::size_t t = 0; t < misrouted.size(); ++t) {
    const auto needs = routed.terms_->needs(t);
    double missed = 0;
    bool some = false, all = true;
    for (std::size_t m = 0; m < weights.size(); ++m) {
      const bool covered = needs.covers(prompt.cells[m]);
      some |= covered;
      all &= covered;
      missed += covered ? 0 : weights[m];
    }
    if (some && !all) add_signed(misrouted[t], fixed_term(missed), sign);
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
