#include "stats/rise.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/random.h"
#include "stats/rates.h"

namespace gapwatch::stats {
namespace {

constexpr std::size_t kExactPolicies = 12;
constexpr std::uint32_t kRiseStream = 0x52495345;  // "RISE"

bool covered(CellCount cell, double tau) { return covers(cell, need(tau, cell.trials)); }

// ---- Every subset, M <= 12 ----

// By mask of policies: prompts that some of them covers. `exactly` counts prompts by the mask of the
// policies that cover them; a subset misses those whose mask lies in its complement.
std::vector<std::int64_t> oracle_by_subset(std::vector<std::int64_t> exactly, std::int64_t prompts) {
  const auto subsets = exactly.size();
  for (std::size_t bit = 1; bit < subsets; bit <<= 1) {
    for (std::size_t mask = 0; mask < subsets; ++mask) {
      if (mask & bit) exactly[mask] += exactly[mask ^ bit];
    }
  }
  std::vector<std::int64_t> oracle(subsets);
  for (std::size_t mask = 0; mask < subsets; ++mask) oracle[mask] = prompts - exactly[(subsets - 1) & ~mask];
  return oracle;
}

// By mask: prompts whose mean rate over the subset's cells with trials reaches tau.
std::vector<std::int64_t> mixture_by_subset(const CountTable& table, double tau) {
  const std::size_t pool = table.pool_size(), subsets = std::size_t{1} << pool;
  std::vector<std::int64_t> mixture(subsets);
  std::vector<double> sum(subsets), present(subsets);
  for (std::size_t i = 0; i < table.prompt_count(); ++i) {
    const auto row = table.row(i);
    for (std::size_t mask = 1; mask < subsets; ++mask) {
      const auto cell = row[static_cast<std::size_t>(std::countr_zero(mask))];
      sum[mask] = sum[mask & (mask - 1)] + raw_rate(cell);
      present[mask] = present[mask & (mask - 1)] + (cell.trials > 0);
      mixture[mask] += present[mask] > 0 && sum[mask] / present[mask] >= tau - 1e-12;
    }
  }
  return mixture;
}

std::vector<SizeGap> every_subset(const CountTable& table, double tau, const RiseOptions& options) {
  const std::size_t pool = table.pool_size(), subsets = std::size_t{1} << pool;
  const auto prompts = table.prompt_count();
  std::vector<std::int64_t> exactly(subsets), alone(pool);
  for (std::size_t i = 0; i < prompts; ++i) {
    std::size_t mask = 0;
    for (std::size_t m = 0; m < pool; ++m) {
      const bool covers_it = covered(table.row(i)[m], tau);
      mask |= std::size_t{covers_it} << m;
      alone[m] += covers_it;
    }
    ++exactly[mask];
  }
  const auto oracle = oracle_by_subset(std::move(exactly), static_cast<std::int64_t>(prompts));
  const bool with_mixture = subsets * prompts <= options.mixture_work;
  const auto mixture = with_mixture ? mixture_by_subset(table, tau) : std::vector<std::int64_t>();
  std::vector<SizeGap> sizes(pool);
  std::vector<std::int64_t> gaps(pool), above_mixture(pool);
  for (std::size_t mask = 1; mask < subsets; ++mask) {
    const auto size = static_cast<std::size_t>(std::popcount(mask)) - 1;
    std::int64_t best = 0;
    for (auto left = mask; left != 0; left &= left - 1) {
      best = std::max(best, alone[static_cast<std::size_t>(std::countr_zero(left))]);
    }
    gaps[size] += oracle[mask] - best;
    if (with_mixture) above_mixture[size] += oracle[mask] - mixture[mask];
    ++sizes[size].subsets;
  }
  for (std::size_t s = 0; s < pool; ++s) {
    const double of = static_cast<double>(sizes[s].subsets) * static_cast<double>(prompts);
    sizes[s].size = s + 1;
    sizes[s].gap = static_cast<double>(gaps[s]) / of;
    if (with_mixture) sizes[s].oracle_minus_mixture = static_cast<double>(above_mixture[s]) / of;
  }
  return sizes;
}

// ---- Some subsets, M > 12 ----

class SubsetSampler {
 public:
  SubsetSampler(const CountTable& table, double tau, const RiseOptions& options)
      : table_(table), tau_(tau), words_((table.prompt_count() + 63) / 64), bits_(table.pool_size() * words_),
        alone_(table.pool_size()), seed_(options.seed) {
    for (std::size_t i = 0; i < table.prompt_count(); ++i) {
      for (std::size_t m = 0; m < table.pool_size(); ++m) {
        const bool covers_it = covered(table.row(i)[m], tau);
        bits_[m * words_ + i / 64] |= std::uint64_t{covers_it} << (i % 64);
        alone_[m] += covers_it;
      }
    }
    // Some 10^9 word operations at most.
    const auto pool = static_cast<double>(table.pool_size()), prompts = static_cast<double>(table.prompt_count());
    const double affordable = 1e9 / (pool * pool / 2 * static_cast<double>(words_) + 1);
    samples_ = static_cast<std::uint32_t>(std::clamp(affordable, 20.0, static_cast<double>(options.samples)));
    with_mixture_ = samples_ * pool * pool / 2 * prompts <= static_cast<double>(options.mixture_work);
  }

  SizeGap size(std::size_t s) const {
    const auto pool = table_.pool_size();
    SizeGap out;
    out.size = s;
    std::int64_t gaps = 0, above = 0;
    const auto take = [&](std::span<const std::size_t> subset) {
      ++out.subsets;
      const auto oracle = oracle_of(subset);
      std::int64_t best = 0;
      for (const auto m : subset) best = std::max(best, alone_[m]);
      gaps += oracle - best;
      if (with_mixture_) above += oracle - mixture_of(subset);
    };
    std::vector<std::size_t> order(pool);
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (s == 1) {
      for (const auto& m : order) take({&m, 1});
    } else if (s == pool) {
      take(order);
    } else {
      out.sampled = true;
      for (std::uint32_t draw = 0; draw < samples_; ++draw) {
        FastRandom random(seed_, kRiseStream, s * 1'000'003 + draw);
        for (std::size_t j = 0; j < s; ++j) std::swap(order[j], order[j + bounded(random, pool - j)]);
        take(std::span(order).first(s));
      }
    }
    const double of = static_cast<double>(out.subsets) * static_cast<double>(table_.prompt_count());
    out.gap = static_cast<double>(gaps) / of;
    if (with_mixture_) out.oracle_minus_mixture = static_cast<double>(above) / of;
    return out;
  }

 private:
  std::int64_t oracle_of(std::span<const std::size_t> subset) const {
    std::int64_t count = 0;
    for (std::size_t w = 0; w < words_; ++w) {
      std::uint64_t any = 0;
      for (const auto m : subset) any |= bits_[m * words_ + w];
      count += std::popcount(any);
    }
    return count;
  }
  std::int64_t mixture_of(std::span<const std::size_t> subset) const {
    std::int64_t count = 0;
    for (std::size_t i = 0; i < table_.prompt_count(); ++i) {
      const auto row = table_.row(i);
      double sum = 0, present = 0;
      for (const auto m : subset) {
        sum += raw_rate(row[m]);
        present += row[m].trials > 0;
      }
      count += present > 0 && sum / present >= tau_ - 1e-12;
    }
    return count;
  }

  const CountTable& table_;
  double tau_;
  std::size_t words_;
  std::vector<std::uint64_t> bits_;  // by policy: prompts it covers
  std::vector<std::int64_t> alone_;
  std::uint64_t seed_;
  std::uint32_t samples_ = 0;
  bool with_mixture_ = false;
};

}  // namespace

Rise rise(const CountTable& table, double tau, const RiseOptions& options) {
  Rise out;
  const auto pool = table.pool_size();
  if (table.prompt_count() == 0) return out;
  if (pool <= kExactPolicies) {
    out.sizes = every_subset(table, tau, options);
  } else {
    const SubsetSampler sampler(table, tau, options);
    for (std::size_t s = 1; s <= pool; ++s) out.sizes.push_back(sampler.size(s));
  }
  if (pool >= 2) out.rise = out.sizes.back().gap - out.sizes[1].gap;
  return out;
}

}  // namespace gapwatch::stats
