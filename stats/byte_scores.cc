#include "stats/byte_scores.h"

#include <algorithm>

#include "base/wide.h"

namespace gapwatch::stats {
namespace {

template <typename From, typename To>
void move_to(From& from, To& to) {
  for (std::size_t r = 0; r < from.size(); ++r) to[r] += from[r];
  from.fill(0);
}

}  // namespace

bool ByteScores::can(const ScoreSpec& spec, const TrialPattern& pattern) {
  return spec.exact_scale && spec.pool_size <= kMostPoliciesInBytes && pattern.even &&
         pattern.present == spec.pool_size && pattern.trials[0] <= kMostTrials;
}

ByteScores::ByteScores(const ScoreSpec& spec, const TrialPattern& pattern)
    : pool_(spec.pool_size),
      rate_(spec.scale / pattern.trials[0]),
      counts_(pool_),
      thresholds_(spec.thresholds.size()),
      value_(pool_),
      value_sums_(pool_) {
  for (std::size_t t = 0; t < thresholds_.size(); ++t) {
    thresholds_[t].need = static_cast<std::uint8_t>(need(spec.thresholds[t], pattern.trials[0]));
    thresholds_[t].policy.resize(pool_);
    thresholds_[t].policy_sums.resize(pool_);
  }
}

// Loops over bytes without branches, which compilers make vectors of.
GAPWATCH_WIDE void ByteScores::add() {
  Bytes best{};
  for (std::size_t m = 0; m < pool_; ++m) {
    const Bytes& counts = counts_[m];
    for (std::size_t r = 0; r < kTables; ++r) best[r] = std::max(best[r], counts[r]);
    for (std::size_t r = 0; r < kTables; ++r) value_[m][r] += counts[r];
  }
  for (std::size_t r = 0; r < kTables; ++r) best_[r] += best[r];
  for (auto& threshold : thresholds_) add(threshold);
  if (++rows_ == kMostRows) flush();
}

GAPWATCH_WIDE void ByteScores::add(Threshold& to) const {
  const std::uint8_t need = to.need;
  Bytes covering{}, pairs{}, all;
  all.fill(1);
  for (std::size_t m = 0; m < pool_; ++m) {
    const Bytes& counts = counts_[m];
    Bytes& policy = to.policy[m];
    for (std::size_t r = 0; r < kTables; ++r) {
      const std::uint8_t covers = counts[r] >= need ? 0xFF : 0, one = covers & 1;
      pairs[r] = static_cast<std::uint8_t>(pairs[r] + (covering[r] & covers));
      covering[r] += one;
      all[r] &= one;
      policy[r] += one;
    }
  }
  for (std::size_t r = 0; r < kTables; ++r) to.any[r] += std::uint8_t{covering[r] > 0};
  for (std::size_t r = 0; r < kTables; ++r) to.all[r] += all[r];
  for (std::size_t r = 0; r < kTables; ++r) to.pairs[r] += pairs[r];
}

void ByteScores::flush() {
  for (std::size_t m = 0; m < pool_; ++m) move_to(value_[m], value_sums_[m]);
  move_to(best_, best_sums_);
  for (auto& t : thresholds_) {
    for (std::size_t m = 0; m < pool_; ++m) move_to(t.policy[m], t.policy_sums[m]);
    move_to(t.any, t.any_sums);
    move_to(t.all, t.all_sums);
    move_to(t.pairs, t.pair_sums);
  }
  all_rows_ += rows_;
  rows_ = 0;
}

void ByteScores::drain(std::size_t table, TableScore& to) {
  if (rows_ > 0) flush();
  for (std::size_t m = 0; m < pool_; ++m) to.value[m] += value_sums_[m][table] * rate_;
  to.best_value += best_sums_[table] * rate_;
  for (std::size_t t = 0; t < thresholds_.size(); ++t) {
    const Threshold& from = thresholds_[t];
    std::uint64_t covered = 0;
    for (std::size_t m = 0; m < pool_; ++m) {
      to.policy[t * pool_ + m] += from.policy_sums[m][table];
      covered += from.policy_sums[m][table];
    }
    to.any[t] += from.any_sums[table];
    to.all[t] += from.all_sums[table];
    to.uncovered_pairs[t] += uncovered_pairs(all_rows_, pool_, covered, from.pair_sums[table]);
  }
}

}  // namespace gapwatch::stats
