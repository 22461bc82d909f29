// Tables held in bytes against the same tables scored count by count: the sums must be the same integers.
#include <gtest/gtest.h>

#include "base/random.h"
#include "stats/byte_scores.h"
#include "stats/margin_bytes.h"

namespace gapwatch::stats {
namespace {

constexpr double kTaus[] = {0.05, 0.1, 0.2, 0.3, 0.75, 1.0};

struct Case {
  std::size_t pool, prompts;
  std::uint32_t trials;
};

// Counts by policy, then prompt: few, many, none and all successes among them.
std::vector<std::vector<std::uint32_t>> random_counts(const Case& c, std::uint64_t seed) {
  CounterRandom random(seed);
  std::vector<std::vector<std::uint32_t>> counts(c.pool, std::vector<std::uint32_t>(c.prompts));
  for (std::size_t i = 0; i < c.prompts; ++i) {
    const double rate = beta_draw(random, 0.4, 0.5);
    for (auto& policy : counts) policy[i] = binomial_draw(random, c.trials, rate);
  }
  return counts;
}

struct Scored {
  PromptClasses classes;
  ScoreSpec spec;
  TrialPattern pattern;

  explicit Scored(const Case& c) : pattern(make_pattern(std::vector<std::uint32_t>(c.pool, c.trials))) {
    classes.pool_size = c.pool;
    classes.prompts = c.prompts;
    classes.patterns = {pattern};
    spec = make_score_spec(classes, kTaus);
  }
  TableScore one_by_one(const std::vector<std::vector<std::uint32_t>>& counts) const {
    ScoreAccumulator sums(spec, 1);
    const PatternScores scores(spec, pattern);
    std::vector<std::uint32_t> row(counts.size());
    for (std::size_t i = 0; i < counts[0].size(); ++i) {
      for (std::size_t m = 0; m < counts.size(); ++m) row[m] = counts[m][i];
      sums.add(0, scores, row.data());
    }
    TableScore out = empty_score(spec);
    sums.drain(0, out);
    return out;
  }
};

void expect_equal(const TableScore& got, const TableScore& want) {
  EXPECT_EQ(got.value, want.value);
  EXPECT_EQ(got.best_value, want.best_value);
  EXPECT_EQ(got.policy, want.policy);
  EXPECT_EQ(got.any, want.any);
  EXPECT_EQ(got.all, want.all);
  EXPECT_EQ(got.uncovered_pairs, want.uncovered_pairs);
}

constexpr Case kCases[] = {{1, 9, 16}, {2, 1, 1}, {5, 240, 16}, {3, 2'100, 32}, {22, 600, 7}};

TEST(ByteScores, ScoresAsCountByCount) {
  for (const auto& c : kCases) {
    const Scored scored(c);
    ASSERT_TRUE(ByteScores::can(scored.spec, scored.pattern));
    ByteScores bytes(scored.spec, scored.pattern);
    std::vector<std::vector<std::vector<std::uint32_t>>> tables;
    for (std::size_t r = 0; r < 3; ++r) tables.push_back(random_counts(c, r));
    for (std::size_t i = 0; i < c.prompts; ++i) {
      for (std::size_t r = 0; r < tables.size(); ++r) {
        for (std::size_t m = 0; m < c.pool; ++m)
          bytes.counts(m)[r] = static_cast<std::uint8_t>(tables[r][m][i]);
      }
      bytes.add();
    }
    for (std::size_t r = 0; r < tables.size(); ++r) {
      TableScore got = empty_score(scored.spec);
      bytes.drain(r, got);
      expect_equal(got, scored.one_by_one(tables[r]));
    }
  }
}

TEST(ByteScores, LeavesOtherTablesToOthers) {
  const Scored many({23, 4, 16}), long_ones({3, 4, 33});
  EXPECT_FALSE(ByteScores::can(many.spec, many.pattern));
  EXPECT_FALSE(ByteScores::can(long_ones.spec, long_ones.pattern));
  EXPECT_FALSE(ByteScores::can(many.spec, make_pattern({16, 0, 16})));
  EXPECT_FALSE(ByteScores::can(many.spec, make_pattern({16, 8})));
}

TEST(ByteTable, MovesKeepTheMarginsAndScoresFollow) {
  for (const auto& c : kCases) {
    if (c.pool < 2) continue;
    const Scored scored(c);
    auto counts = random_counts(c, 7);
    ByteTable table(counts, scored.pattern.trials);
    FastRandom random(1);
    std::size_t moved = 0;
    for (int round = 0; round < 20; ++round) {
      const std::size_t a = bounded(random, c.pool - 1), turn = bounded(random, Matching::turns(c.prompts));
      table.update(random, turn, a, a + 1);
      std::uint64_t column = 0, before = 0;
      for (std::size_t i = 0; i < c.prompts; ++i) {
        ASSERT_EQ(table.count(a, i) + table.count(a + 1, i), counts[a][i] + counts[a + 1][i])
            << "prompt " << i;
        ASSERT_LE(table.count(a, i), c.trials);
        ASSERT_LE(table.count(a + 1, i), c.trials);
        moved += table.count(a, i) != counts[a][i];
        column += table.count(a, i);
        before += counts[a][i];
        counts[a][i] = table.count(a, i);
        counts[a + 1][i] = table.count(a + 1, i);
      }
      ASSERT_EQ(column, before);
    }
    EXPECT_TRUE(moved > 0 || c.prompts == 1);
    TableScore got = empty_score(scored.spec);
    table.add_score(scored.spec, PatternScores(scored.spec, scored.pattern), got);
    expect_equal(got, scored.one_by_one(counts));
  }
}

}  // namespace
}  // namespace gapwatch::stats
