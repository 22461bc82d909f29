// Published figures on real pools of scored draws.
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <set>

#include "base/executor.h"
#include "stats/checks.h"
#include "stats/correlation.h"
#include "stats/prefix_paths.h"
#include "stats/strata.h"
#include "stats/subpools.h"
#include "tests/support/golden.h"

namespace gapwatch::stats {
namespace {

std::string unpacked(const std::string& path) {
  std::string text;
  const gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) return text;
  char buffer[1 << 16];
  for (int got = 0; (got = gzread(file, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<std::size_t>(got));
  gzclose(file);
  return text;
}

// A stream of draw events as a table and its draws, prompts and policies by name.
struct Pool {
  explicit Pool(const std::string& name) {
    std::string path = GAPWATCH_SHARED_DIR "/data/";
    path += name;
    path += ".jsonl.gz";
    const simdjson::padded_string text(unpacked(path));
    simdjson::dom::parser parser;
    std::map<std::pair<std::string, std::string>, std::vector<std::pair<std::uint64_t, bool>>> cells;
    std::set<std::string> prompts, policies;
    for (const auto event : parser.parse_many(text)) {
      const std::string prompt(event["prompt"].get_string().value()), policy(event["policy"].get_string().value());
      prompts.insert(prompt);
      policies.insert(policy);
      cells[{prompt, policy}].emplace_back(event["draw"].get_uint64().value(), event["correct"].get_uint64().value() == 1);
    }
    table.policies.assign(policies.begin(), policies.end());
    table.prompts.assign(prompts.begin(), prompts.end());
    draws.pool_size = policies.size();
    for (const auto& prompt : prompts) {
      for (const auto& policy : policies) {
        CellCount count;
        DrawSet& set = sets.emplace_back();
        for (const auto& [draw, correct] : cells[{prompt, policy}]) {
          set.exchange(draw, correct ? DrawOutcome::kSuccess : DrawOutcome::kFailure);
          ++count.trials;
          count.successes += correct;
        }
        table.cells.push_back(count);
        draws.cells.push_back(&set);
      }
      paired.push_back(paired_count(draws.row(paired.size())));
    }
  }

  CountTable table;
  std::deque<DrawSet> sets;
  DrawTable draws;
  std::vector<PairedCount> paired;
};

const Pool& math500() {
  static const Pool pool("math500");
  return pool;
}

const std::map<std::string, std::string>& lineage() {
  static const std::map<std::string, std::string> groups = [] {
    std::map<std::string, std::string> made;
    for (const auto& policy : math500().table.policies) {
      if (policy.find("qwen") != std::string::npos) made[policy] = "qwen";
    }
    return made;
  }();
  return groups;
}

PoolSummary summary_of(const Pool& pool, const std::vector<double>& thresholds) {
  SumsSpec spec;
  spec.pool_size = pool.table.pool_size();
  spec.thresholds = thresholds;
  return summarize(sum_table(pool.table, spec, pool.paired), spec);
}

TEST(Math500, TheSplitOfTheGap) {
  const auto summary = summary_of(math500(), {0.1});
  EXPECT_EQ(summary.complete, 500);
  EXPECT_EQ(summary.trials_total, 165'000);
  EXPECT_NEAR(summary.ceiling, 0.836866666667, 1e-9);
  EXPECT_NEAR(*summary.union_paired, 0.8732, 1e-9);
  EXPECT_NEAR(summary.union_product, 0.874410831292, 1e-9);
  EXPECT_NEAR(summary.frechet_upper, 0.8884, 1e-9);
  EXPECT_EQ(math500().table.policies[summary.best_single], "qwen2.5-32b");
  const double best = summary.pass_at_1[summary.best_single];
  EXPECT_NEAR(best, 0.772666666667, 1e-9);
  const auto split = split_gap(summary, "paired", "qwen2.5-32b", best);
  EXPECT_NEAR(*split.total, 0.100533333333, 1e-9);
  EXPECT_NEAR(*split.noise_share, 0.361405835544, 1e-9);
  EXPECT_NEAR(summary.positive_fraction, 120.0 / 500, 1e-12);
  EXPECT_NEAR(*summary.conditional_premium, 0.156434, 1e-6);
  EXPECT_EQ(summary.certain, 350);
  EXPECT_EQ(summary.dead, 27);
  EXPECT_EQ(summary.lone, 3);
  EXPECT_NEAR(summary.coverage[0].gap, 0.072, 1e-12);
  EXPECT_NEAR(summary.coverage[0].disagreement, 0.692, 1e-12);
}

TEST(Math500, NoiseShareGrowsWithTheDraws) {
  const std::uint32_t ks[] = {1, 2, 5, 10, 20, 30};
  const double published[] = {0, 0.118, 0.225, 0.32, 0.34, 0.361};
  const auto path = prefix_path(math500().draws, ks);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_NEAR(*path[i].noise_share_paired, published[i], 0.0051) << "k = " << ks[i];
  }
}

// The paired noise share of some of the policies, against their own best.
double paired_share(const std::vector<std::string>& policies) {
  const auto& pool = math500();
  SumsSpec spec;
  spec.pool_size = policies.size();
  PoolSums sums(spec);
  for (std::size_t i = 0; i < pool.table.prompt_count(); ++i) {
    std::vector<CellCount> cells;
    std::vector<const DrawSet*> draws;
    for (std::size_t m = 0; m < pool.table.pool_size(); ++m) {
      if (std::find(policies.begin(), policies.end(), pool.table.policies[m]) == policies.end()) continue;
      cells.push_back(pool.table.row(i)[m]);
      draws.push_back(pool.draws.row(i)[m]);
    }
    sums.add({cells, paired_count(draws)});
  }
  const auto summary = summarize(sums, spec);
  return *split_gap(summary, "paired", "", summary.pass_at_1[summary.best_single]).noise_share;
}

TEST(Math500, Lineages) {
  const auto cuts = leave_one_group_out(math500().table, lineage());
  EXPECT_EQ(cuts.size(), 8u);
  for (const auto& cut : cuts) {
    const double share = paired_share(cut.policies);
    EXPECT_GE(share, 0.345) << cut.name;
    EXPECT_LE(share, 0.475) << cut.name;
    if (cut.name == "qwen") {
      EXPECT_NEAR(share, 0.47, 0.005);
      EXPECT_EQ(cut.policies.size(), 7u);
    }
  }
  EXPECT_NEAR(paired_share(one_per_group(math500().table, lineage()).policies), 0.343, 0.0006);
  EXPECT_NEAR(paired_share({"qwen2.5-7b", "qwen2.5-14b", "qwen2.5-32b"}), 0.44, 0.0051);
}

TEST(Math500, EffectivePoolThinSupportBestOfK) {
  EXPECT_NEAR(*rate_correlation(math500().table).effective_pool_size, 2.1, 0.051);
  const auto strata = thin_support(math500().table, 3, Support::kFirstDraw, math500().draws);
  EXPECT_NEAR(*strata.thin.fraction, 0.278, 1e-9);
  EXPECT_NEAR(*strata.thin.paired_split.noise_share, 0.430, 0.0006);
  // Best of all 30 draws: some draw of some policy is right.
  const auto summary = summary_of(math500(), {});
  EXPECT_NEAR(1 - static_cast<double>(summary.dead) / static_cast<double>(summary.complete), 0.946, 1e-12);
}

TEST(RealPools, EveryStatisticIsDefined) {
  for (const auto* name : {"humanevalplus_base", "humanevalplus_plus"}) {
    const Pool pool(name);
    const auto summary = summary_of(pool, {0.1, 0.5});
    EXPECT_GT(summary.complete, 100) << name;
    EXPECT_TRUE(summary.union_paired);
    EXPECT_GE(*summary.premium_paired, 0);
    for (const auto& check : assumption_checks(pool.table, pool.draws)) EXPECT_TRUE(check.value) << check.name;
  }
}

TEST(Subpools, AMillionOfTwentyPolicies) {
  // Eleven real policies and nine again in another order of prompts.
  CountTable table;
  table.policies = testing::policy_names(20);
  const auto& real = math500().table;
  for (std::size_t i = 0; i < 500; ++i) {
    for (std::size_t m = 0; m < 20; ++m) table.cells.push_back(real.row(m < 11 ? i : (i * 7 + 3) % 500)[m % 11]);
  }
  InlineExecutor executor;
  const auto pools = all_subpools(table, executor);
  EXPECT_EQ(pools.sizes[9].subsets, 184'756u);
  EXPECT_GE(pools.largest_premium_value, pools.full_premium);
}

}  // namespace
}  // namespace gapwatch::stats
