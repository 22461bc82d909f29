#include "stats/redeal_sampler.h"

#include <algorithm>
#include <cmath>

#include "base/wide.h"
#include "stats/log_concave.h"

namespace gapwatch::stats {
namespace {

std::vector<double> small_log_factorials() {
  std::vector<double> table(1024, 0.0);
  long double sum = 0;
  for (std::size_t n = 2; n < table.size(); ++n) {
    sum += std::log(static_cast<long double>(n));
    table[n] = static_cast<double>(sum);
  }
  return table;
}

std::uint64_t hypergeometric_wide(FastRandom& random, std::uint64_t total, std::uint64_t successes,
                                  std::uint64_t draws, std::uint64_t low, std::uint64_t high,
                                  std::uint64_t mode, double deviation) {
  const double n = static_cast<double>(total), s = static_cast<double>(successes),
               d = static_cast<double>(draws);
  const auto ratio = [&](std::int64_t x) {
    const double k = static_cast<double>(x);
    return (s - k) * (d - k) / ((k + 1) * (n - s - d + k + 1));
  };
  const auto log_weight = [&](std::int64_t x) {
    const auto k = static_cast<std::uint64_t>(x);
    return -(log_factorial(k) + log_factorial(successes - k) + log_factorial(draws - k) +
             log_factorial(total - successes + k - draws));
  };
  const auto as_signed = [](std::uint64_t x) { return static_cast<std::int64_t>(x); };
  return static_cast<std::uint64_t>(
      draw_wide(random, as_signed(low), as_signed(high), as_signed(mode), deviation, ratio, log_weight));
}

std::uint64_t hypergeometric_from_mode(FastRandom& random, std::uint64_t total, std::uint64_t successes,
                                       std::uint64_t draws) {
  const double n = static_cast<double>(total), s = static_cast<double>(successes),
               d = static_cast<double>(draws);
  const std::uint64_t low = draws + successes > total ? draws + successes - total : 0;
  const std::uint64_t high = std::min(draws, successes);
  const double peak = std::floor((d + 1) * (s + 1) / (n + 2));
  const auto mode = std::clamp(static_cast<std::uint64_t>(peak), low, high);
  const double deviation = std::sqrt(d * (s / n) * (1 - s / n) * (1 - d / n));
  if (deviation > kWideDeviation)
    return hypergeometric_wide(random, total, successes, draws, low, high, mode, deviation);
  const auto choose = [](std::uint64_t a, std::uint64_t b) {
    return log_factorial(a) - log_factorial(b) - log_factorial(a - b);
  };
  const double at_mode =
      std::exp(choose(successes, mode) + choose(total - successes, draws - mode) - choose(total, draws));
  double left = uniform(random) - at_mode, up = at_mode, down = at_mode;
  if (left < 0) return mode;
  std::uint64_t above = mode, below = mode;
  while (above < high || below > low) {
    if (above < high) {
      const double k = static_cast<double>(above);
      up *= (s - k) * (d - k) / ((k + 1) * (n - s - d + k + 1));
      ++above;
      if ((left -= up) < 0) return above;
    }
    if (below > low) {
      const double k = static_cast<double>(below);
      down *= k * (n - s - d + k) / ((s - k + 1) * (d - k + 1));
      --below;
      if ((left -= down) < 0) return below;
    }
    if (up + down < 1e-18 * at_mode) break;
  }
  return mode;  // rounding left less than 1e-15 of mass
}

}  // namespace

double log_factorial(std::uint64_t n) {
  static const std::vector<double> small = small_log_factorials();
  if (n < small.size()) return small[n];
  const double x = static_cast<double>(n), inverse = 1 / x, square = inverse * inverse;
  constexpr double kHalfLogTwoPi = 0.91893853320467274178;
  return (x + 0.5) * std::log(x) - x + kHalfLogTwoPi +
         inverse * (1.0 / 12 - square * (1.0 / 360 - square / 1260));
}

std::uint64_t hypergeometric_draw(FastRandom& random, std::uint64_t total, std::uint64_t successes,
                                  std::uint64_t draws) {
  if (draws == 0 || successes == 0) return 0;
  if (successes == total) return draws;
  if (draws == total) return successes;
  return hypergeometric_from_mode(random, total, successes, draws);
}

std::uint64_t RowSampler::table_bytes(const TrialPattern& pattern, std::uint64_t max_successes) {
  std::uint64_t bytes = 0, rest = pattern.total;
  for (const auto n : pattern.trials) {
    if (n > 0xFFFF) return std::uint64_t{1} << 62;
    bytes += (std::min(rest, max_successes) + 1) * (sizeof(AliasEntry) << alias_bits(n + std::uint64_t{1}));
    rest -= n;
  }
  return bytes;
}

RowSampler::RowSampler(const TrialPattern& pattern, std::uint64_t min_successes, std::uint64_t max_successes,
                       std::span<const double> log_weights)
    : pattern_(&pattern) {
  for (std::size_t m = 0; m < pattern.trials.size(); ++m) {
    if (pattern.trials[m] > 0) order_.push_back(m);
  }
  if (order_.empty()) return;
  last_ = order_.back();
  tables_built_ = fits(pattern, max_successes);
  in_bytes_ = tables_built_ && std::ranges::all_of(pattern.trials, [](auto n) { return n <= ByteScores::kMostTrials; });
  if (tables_built_) build(min_successes, max_successes, log_weights);
}

namespace {

using Masses = std::vector<std::vector<long double>>;

// Binomial masses at rates near the prompts' own, in extended range: the weights without overflow.
std::vector<long double> stage_masses(std::uint32_t trials, double log_odds) {
  const long double w = std::exp(static_cast<long double>(log_odds)), miss = 1 / (1 + w);
  std::vector<long double> mass(trials + std::size_t{1});
  mass[0] = std::pow(miss, static_cast<long double>(trials));
  for (std::uint32_t c = 0; c < trials; ++c) mass[c + 1] = mass[c] * w * (trials - c) / (c + 1);
  return mass;
}

// suffix[j][r]: the weight of r successes among the policies from the j-th on.
Masses suffix_products(const Masses& mass, std::size_t most) {
  Masses suffix(mass.size() + 1);
  suffix.back() = {1.0L};
  for (std::size_t j = mass.size(); j-- > 1;) {
    const auto& after = suffix[j + 1];
    suffix[j].assign(std::min(after.size() + mass[j].size() - 1, most + 1), 0.0L);
    for (std::size_t c = 0; c < mass[j].size(); ++c) {
      for (std::size_t r = 0; r < after.size() && r + c < suffix[j].size(); ++r) {
        suffix[j][r + c] += mass[j][c] * after[r];
      }
    }
  }
  return suffix;
}

}  // namespace

void RowSampler::build(std::uint64_t min_successes, std::uint64_t max_successes,
                       std::span<const double> log_weights) {
  const double mean = 0.5 * static_cast<double>(min_successes + max_successes);
  const double log_odds = std::log((mean + 0.5) / (static_cast<double>(pattern_->total) - mean + 0.5));
  Masses mass;
  for (const auto m : order_) {
    mass.push_back(
        stage_masses(pattern_->trials[m], log_odds + (log_weights.empty() ? 0.0 : log_weights[m])));
  }
  const Masses suffix = suffix_products(mass, max_successes);
  std::uint64_t before = 0;
  for (std::size_t j = 0; j + 1 < order_.size(); ++j) {
    const std::uint32_t n = pattern_->trials[order_[j]];
    const std::uint64_t rest = pattern_->total - before;
    const std::uint64_t least = min_successes > before ? min_successes - before : 0;
    const std::uint64_t most = std::min(max_successes, rest);
    const Stage stage{order_[j], entries_.size(), static_cast<std::uint32_t>(least),
                      alias_bits(n + std::uint64_t{1})};
    entries_.resize(entries_.size() + (most >= least ? (most - least + 1) << stage.bits : 0));
    for (std::uint64_t left = least; left <= most; ++left) {
      AliasEntry* row = entries_.data() + stage.first + ((left - least) << stage.bits);
      build_stage_row(mass[j], suffix[j + 1], left, rest - n, stage.bits, row);
    }
    stages_.push_back(stage);
    before += n;
  }
  if (in_bytes()) packed_.add(entries_);
}

// How many of the `left` successes this policy gets, the later ones having `after` trials.
void RowSampler::build_stage_row(const std::vector<long double>& mass, const std::vector<long double>& later,
                                 std::uint64_t left, std::uint64_t after, std::uint32_t bits,
                                 AliasEntry* row) {
  const std::uint64_t low = left > after ? left - after : 0;
  const std::uint64_t high = std::min<std::uint64_t>(mass.size() - 1, left);
  long double sum = 0;
  for (auto c = low; c <= high; ++c) sum += mass[c] * later[left - c];
  std::vector<double> weights;
  for (auto c = low; c <= high; ++c) {
    weights.push_back(sum > 0 ? static_cast<double>(mass[c] * later[left - c] / sum) : 1.0);
  }
  build_alias_row(weights, static_cast<std::uint32_t>(low), row, bits);
}

void RowSampler::draw_by_inversion(FastRandom& random, std::uint64_t successes, std::uint32_t* counts) const {
  if (order_.empty()) return;
  std::uint64_t rest = pattern_->total, left = successes;
  for (std::size_t j = 0; j + 1 < order_.size(); ++j) {
    const std::uint32_t n = pattern_->trials[order_[j]];
    const auto count = hypergeometric_draw(random, rest, left, n);
    counts[order_[j]] = static_cast<std::uint32_t>(count);
    rest -= n;
    left -= count;
  }
  counts[last_] = static_cast<std::uint32_t>(left);
}

GAPWATCH_WIDE void RowSampler::draw(FastRandom& random, std::uint64_t successes, std::size_t tables, ByteScores& to) const {
  static_assert(ByteScores::kTables <= PackedAlias::kMost);
  PackedAlias::Each<std::uint32_t> left, numbers, at, fraction, entries;
  left.fill(static_cast<std::uint32_t>(successes));
  FastRandom own = random;  // its state in registers
  const auto two_numbers = [&](std::size_t r) {
    const std::uint64_t bits = own();
    numbers[r] = static_cast<std::uint32_t>(bits >> 32);
    numbers[r + 1] = static_cast<std::uint32_t>(bits);
  };
  for (std::size_t r = 0; r < tables; r += 2) two_numbers(r);
  for (std::size_t j = 0; j < stages_.size(); ++j) {
    const Stage stage = stages_[j];  // a copy: bytes that are written could be anything's
    const auto first = static_cast<std::uint32_t>(stage.first);
    for (std::size_t r = 0; r < tables; ++r) {
      at[r] = first + ((left[r] - stage.least) << stage.bits) + PackedAlias::entry_of(numbers[r], stage.bits);
      fraction[r] = PackedAlias::fraction_of(numbers[r], stage.bits);
    }
    if (tables % 2 != 0) at[tables] = first;
    if (j + 1 < stages_.size()) {  // the next numbers are worked out while entries are waited for
      for (std::size_t r = 0; r < tables; r += 2) {
        two_numbers(r);
        entries[r] = packed_[at[r]];
        entries[r + 1] = packed_[at[r + 1]];
      }
    } else {
      for (std::size_t r = 0; r < tables; ++r) entries[r] = packed_[at[r]];
    }
    std::uint8_t* counts = to.counts(stage.policy);
    packed_.pick(entries, at, fraction, tables, counts);
    for (std::size_t r = 0; r < tables; ++r) left[r] -= counts[r];
  }
  random = own;
  std::uint8_t* last = to.counts(last_);
  for (std::size_t r = 0; r < tables; ++r) last[r] = static_cast<std::uint8_t>(left[r]);
}

}  // namespace gapwatch::stats
