#include "stats/subpools.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "stats/rates.h"

namespace gapwatch::stats {
namespace {

constexpr std::size_t kLowBits = 6;  // subsets of the first six policies are walked in vectors
constexpr std::size_t kLow = std::size_t{1} << kLowBits;

// What the subsets of the first policies give one distinct prompt. A prompt's weight is how often it
// occurs; maxima are scaled by it beforehand.
struct alignas(64) LowTables {
  double miss[kLow];  // product of 1 - p over the subset
  double best[kLow];  // weight * largest p
};

struct DistinctPrompts {
  std::vector<std::vector<double>> rates;  // by prompt, by policy
  std::vector<double> weights;
};

DistinctPrompts distinct(const CountTable& table) {
  std::vector<std::vector<double>> rows;
  for (std::size_t i = 0; i < table.prompt_count(); ++i) {
    auto& row = rows.emplace_back();
    for (const CellCount cell : table.row(i)) row.push_back(raw_rate(cell));
  }
  std::sort(rows.begin(), rows.end());
  DistinctPrompts out;
  for (auto& row : rows) {
    if (!out.rates.empty() && out.rates.back() == row) {
      out.weights.back() += 1;
    } else {
      out.rates.push_back(std::move(row));
      out.weights.push_back(1);
    }
  }
  return out;
}

class SubsetSums {
 public:
  SubsetSums(const CountTable& table, Executor& executor)
      : pool_(table.pool_size()),
        low_bits_(std::min(pool_, kLowBits)),
        high_bits_(pool_ - low_bits_),
        prompts_(distinct(table)),
        count_(static_cast<double>(table.prompt_count())),
        union_((std::size_t{1} << pool_)),
        ceiling_(union_.size()) {
    make_low_tables();
    const std::size_t highs = std::size_t{1} << high_bits_;
    const std::size_t jobs = std::min<std::size_t>(highs, 64), each = highs / jobs;
    executor.run(jobs, [&](std::size_t job) { walk(job * each, (job + 1) * each); });
  }

  double union_of(std::size_t mask) const { return union_[mask]; }
  double ceiling_of(std::size_t mask) const { return ceiling_[mask]; }

 private:
  void make_low_tables() {
    low_.resize(prompts_.rates.size());
    for (std::size_t i = 0; i < low_.size(); ++i) {
      auto& tables = low_[i];
      tables.miss[0] = 1;
      tables.best[0] = 0;
      for (std::size_t mask = 1; mask < kLow; ++mask) {
        const auto m = static_cast<std::size_t>(std::countr_zero(mask));
        const double p = m < low_bits_ ? prompts_.rates[i][m] : 0;
        tables.miss[mask] = tables.miss[mask & (mask - 1)] * (1 - p);
        tables.best[mask] = std::max(tables.best[mask & (mask - 1)], prompts_.weights[i] * p);
      }
    }
  }

  // The high masks [from, to): level[b] holds every prompt's product and maximum over the mask's bits
  // from b up, so the next mask changes two levels on average.
  void walk(std::size_t from, std::size_t to) {
    const auto prompts = low_.size();
    std::vector<std::vector<double>> miss(high_bits_ + 1, prompts_.weights);
    std::vector<std::vector<double>> best(high_bits_ + 1, std::vector<double>(prompts));
    for (std::size_t high = from; high < to; ++high) {
      const auto changed = high == from ? high_bits_ : static_cast<std::size_t>(std::countr_zero(high)) + 1;
      for (std::size_t b = changed; b-- > 0;) {
        const bool in = (high >> b) & 1;
        for (std::size_t i = 0; i < prompts; ++i) {
          const double p = in ? prompts_.rates[i][low_bits_ + b] : 0;
          miss[b][i] = miss[b + 1][i] * (1 - p);
          best[b][i] = std::max(best[b + 1][i], prompts_.weights[i] * p);
        }
      }
      add_up(high, miss[0], best[0]);
    }
  }

  void add_up(std::size_t high, const std::vector<double>& high_miss, const std::vector<double>& high_best) {
    alignas(64) double miss[kLow] = {}, best[kLow] = {};
    for (std::size_t i = 0; i < low_.size(); ++i) {
      const auto& low = low_[i];
      const double scale = high_miss[i], floor = high_best[i];
      for (std::size_t l = 0; l < kLow; ++l) {
        miss[l] += scale * low.miss[l];
        best[l] += floor > low.best[l] ? floor : low.best[l];
      }
    }
    for (std::size_t l = 0; l < (std::size_t{1} << low_bits_); ++l) {
      const auto mask = (high << low_bits_) | l;
      ceiling_[mask] = best[l] / count_;
      // One policy has no premium, not even a rounding one.
      union_[mask] = std::popcount(mask) <= 1 ? ceiling_[mask] : std::max(ceiling_[mask], 1 - miss[l] / count_);
    }
  }

  std::size_t pool_, low_bits_, high_bits_;
  DistinctPrompts prompts_;
  double count_;
  std::vector<LowTables> low_;
  std::vector<double> union_, ceiling_;  // by mask
};

SubpoolRange range_of(std::vector<double>& values) {
  SubpoolRange out;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  out.median = values.size() % 2 == 1 ? *middle : (*middle + *std::max_element(values.begin(), middle)) / 2;
  out.min = *std::min_element(values.begin(), values.end());
  out.max = *std::max_element(values.begin(), values.end());
  for (const double v : values) out.mean += v;
  out.mean /= static_cast<double>(values.size());
  return out;
}

SubpoolSize size_of(std::size_t size, const SubsetSums& sums, std::size_t masks) {
  std::vector<double> premium, any, ceiling;
  SubpoolSize out;
  out.size = size;
  double shares = 0, with_union = 0;
  for (std::size_t mask = 1; mask < masks; ++mask) {
    if (static_cast<std::size_t>(std::popcount(mask)) != size) continue;
    any.push_back(sums.union_of(mask));
    ceiling.push_back(sums.ceiling_of(mask));
    premium.push_back(any.back() - ceiling.back());
    if (any.back() > 0) {
      shares += premium.back() / any.back();
      with_union += 1;
    }
  }
  out.subsets = premium.size();
  out.premium = range_of(premium);
  out.union_product = range_of(any);
  out.ceiling = range_of(ceiling);
  if (with_union > 0) out.mean_share = shares / with_union;
  if (out.union_product.mean > 0) out.share_of_means = out.premium.mean / out.union_product.mean;
  return out;
}

}  // namespace

Subpools all_subpools(const CountTable& table, Executor& executor) {
  Subpools out;
  const auto pool = table.pool_size();
  if (pool == 0 || pool > kMaxSubpoolPolicies || table.prompt_count() == 0) return out;
  const SubsetSums sums(table, executor);
  const std::size_t masks = std::size_t{1} << pool;
  for (std::size_t size = 1; size <= pool; ++size) out.sizes.push_back(size_of(size, sums, masks));
  constexpr double kSame = 1e-12;  // rounding does not make a winner
  out.largest_premium_value = -1;
  for (std::size_t mask = 1; mask < masks; ++mask) {
    const double premium = sums.union_of(mask) - sums.ceiling_of(mask);
    if (premium > out.largest_premium_value + kSame) {
      out.largest_premium_value = premium;
      out.largest_premium = static_cast<std::uint32_t>(mask);
    }
    if (std::popcount(mask) < 2) continue;
    if (out.smallest_premium == 0 || premium < out.smallest_premium_value - kSame) {
      out.smallest_premium_value = premium;
      out.smallest_premium = static_cast<std::uint32_t>(mask);
    }
  }
  out.full_premium = sums.union_of(masks - 1) - sums.ceiling_of(masks - 1);
  return out;
}

PoolCut pool_of(const CountTable& table, const std::vector<std::size_t>& columns, std::string name) {
  PoolCut out;
  out.name = std::move(name);
  SumsSpec spec;
  spec.pool_size = columns.size();
  spec.completeness.missing_as_fail = true;  // rows that count were chosen before
  PoolSums sums(spec);
  std::vector<CellCount> cells(columns.size());
  for (const auto m : columns) out.policies.push_back(table.policies[m]);
  std::int64_t prompts_without_trials = 0;
  for (std::size_t i = 0; i < table.prompt_count(); ++i) {
    for (std::size_t j = 0; j < columns.size(); ++j) cells[j] = table.row(i)[columns[j]];
    sums.add({cells, {}});
    prompts_without_trials += std::all_of(cells.begin(), cells.end(), [](CellCount c) { return c.trials == 0; });
  }
  sums.complete += prompts_without_trials;  // they stay prompts: nothing covers, all rates 0
  const auto summary = summarize(sums, spec);
  if (summary.complete == 0 || columns.empty()) return out;
  out.union_product = summary.union_product;
  out.ceiling = summary.ceiling;
  out.premium = summary.premium_product;
  out.noise_share = split_gap(summary, "product", "", summary.pass_at_1[summary.best_single]).noise_share;
  return out;
}

std::vector<std::string> lineages(const CountTable& table, const std::map<std::string, std::string>& groups) {
  std::vector<std::string> out;
  for (const auto& policy : table.policies) {
    const auto at = groups.find(policy);
    out.push_back(at == groups.end() ? policy : at->second);
  }
  return out;
}

std::vector<PoolCut> leave_one_group_out(const CountTable& table, const std::map<std::string, std::string>& groups) {
  std::vector<PoolCut> out;
  const auto of = lineages(table, groups);
  for (const auto& group : std::set<std::string>(of.begin(), of.end())) {
    std::vector<std::size_t> columns;
    for (std::size_t m = 0; m < of.size(); ++m) {
      if (of[m] != group) columns.push_back(m);
    }
    if (!columns.empty() && table.prompt_count() > 0) out.push_back(pool_of(table, columns, group));
  }
  return out;
}

PoolCut one_per_group(const CountTable& table, const std::map<std::string, std::string>& groups) {
  std::vector<double> mean(table.pool_size());
  for (std::size_t i = 0; i < table.prompt_count(); ++i) {
    for (std::size_t m = 0; m < mean.size(); ++m) mean[m] += raw_rate(table.row(i)[m]);
  }
  const double rounding = 1e-12 * static_cast<double>(table.prompt_count());
  std::map<std::string, std::size_t> best;
  const auto of = lineages(table, groups);
  for (std::size_t m = 0; m < mean.size(); ++m) {
    const auto [at, first] = best.try_emplace(of[m], m);
    if (!first && mean[m] > mean[at->second] + rounding) at->second = m;
  }
  std::vector<std::size_t> columns;
  for (const auto& [group, m] : best) columns.push_back(m);
  std::sort(columns.begin(), columns.end());
  return pool_of(table, columns, "one per lineage");
}

}  // namespace gapwatch::stats
