// Subpools: union, ceiling and premium of every non-empty subset of the pool, and of pools by lineage.
//
// All 2^M - 1 subsets up to M = 20, counted in Gray-code order: neighbours differ in one policy, and a pool is
// cut in a fixed part and a part walked through, so that a subset costs a few vector operations a prompt.
// A subset's mask has bit m for policy m. What it does not say: which subset is the best to run (the largest
// of 2^20 noisy premiums is large by selection).
//
// No row, no policy, or more than 20 policies: no sizes. Threads: pure, the same bits for any number of them. Memory: 24 bytes a
// subset. Cost: (distinct prompts) x 2^M x 0.3 ns on two threads.
// Source: statistics.md section 4; [RG].
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/executor.h"
#include "stats/running.h"

namespace gapwatch::stats {

inline constexpr std::size_t kMaxSubpoolPolicies = 20;

struct SubpoolRange {
  double min = 0, median = 0, mean = 0, max = 0;  // over subsets; the median of an even number is the middle two's mean
};

struct SubpoolSize {
  std::size_t size = 0;
  std::uint64_t subsets = 0;
  SubpoolRange premium, union_product, ceiling;
  Number mean_share;           // mean over subsets of premium / union
  Number share_of_means;       // mean premium / mean union
};

struct Subpools {
  std::vector<SubpoolSize> sizes;                     // 1..M
  std::uint32_t largest_premium = 0;                  // masks; ties go to the smallest mask
  std::uint32_t smallest_premium = 0;                 // among pools of two or more; 0 where there is none
  double largest_premium_value = 0, smallest_premium_value = 0;
  double full_premium = 0;
};
Subpools all_subpools(const CountTable& table, Executor& executor);

// The split of a pool of some of the table's policies, product coupling against its own best policy.
struct PoolCut {
  std::string name;                    // the lineage left out, or "one per lineage"
  std::vector<std::string> policies;
  double union_product = 0, ceiling = 0, premium = 0;
  Number noise_share;
};
PoolCut pool_of(const CountTable& table, const std::vector<std::size_t>& columns, std::string name);

// `groups`: policy -> lineage; a policy without one is its own. Absent lineages are ignored.
// Pools without one lineage, by lineage name; none where it would leave no policy.
std::vector<PoolCut> leave_one_group_out(const CountTable& table, const std::map<std::string, std::string>& groups);
// Of each lineage the policy with the highest mean rate (ties: the first by name).
PoolCut one_per_group(const CountTable& table, const std::map<std::string, std::string>& groups);

// Lineage of each policy, in the table's order.
std::vector<std::string> lineages(const CountTable& table, const std::map<std::string, std::string>& groups);

}  // namespace gapwatch::stats
