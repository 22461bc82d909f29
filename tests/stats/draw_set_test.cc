#include "stats/draw_set.h"

#include <map>
#include <random>

namespace gapwatch::stats {
namespace {

using Model = std::map<std::uint64_t, DrawOutcome>;

std::uint64_t some_index(std::mt19937_64& random) {
  switch (random() % 5) {
    case 0:
      return random() % 64;
    case 1:
      return random() % 400;
    case 2:
      return 60 + random() % 10;
    case 3:
      return 1'000'000'000'000 + random() % 5;
    default:
      return random() % 3 == 0 ? ~std::uint64_t{0} - random() % 3 : random() % 6'000;
  }
}

void expect_same(const DrawSet& set, const Model& model) {
  Model found;
  std::uint64_t last = 0;
  bool ascending = true, first = true;
  set.for_each([&](std::uint64_t draw, DrawOutcome outcome) {
    ascending &= first || draw > last;
    first = false;
    last = draw;
    found[draw] = outcome;
  });
  EXPECT_TRUE(ascending);
  EXPECT_EQ(found, model);
  EXPECT_EQ(set.empty(), model.empty());
  for (const auto& [draw, outcome] : model) EXPECT_EQ(set.get(draw), outcome);
}

TEST(DrawSet, RandomExchangesAgainstAMap) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    DrawSet set;
    Model model;
    for (int step = 0; step < 400; ++step) {
      const auto draw = some_index(random);
      const auto outcome = static_cast<DrawOutcome>(random() % 4);
      const auto at = model.find(draw);
      EXPECT_EQ(set.exchange(draw, outcome), at == model.end() ? DrawOutcome::kAbsent : at->second);
      if (outcome == DrawOutcome::kAbsent) {
        model.erase(draw);
      } else {
        model[draw] = outcome;
      }
    }
    expect_same(set, model);
    DrawSet copy = set;
    expect_same(copy, model);
    copy.exchange(3, DrawOutcome::kSuccess);
    expect_same(set, model);
    DrawSet moved = std::move(set);
    expect_same(moved, model);
    DrawSet assigned;
    assigned.exchange(1'000, DrawOutcome::kFailure);
    assigned = moved;
    expect_same(assigned, model);
    for (const auto& [draw, outcome] : model) EXPECT_EQ(assigned.exchange(draw, DrawOutcome::kAbsent), outcome);
    EXPECT_TRUE(assigned.empty());
    moved.clear();
    expect_same(moved, {});
  }
}

TEST(DrawSet, FarIndicesDoNotCostMemory) {
  DrawSet set;
  for (std::uint64_t i = 0; i < 100; ++i) set.exchange(i * 1'000'000'007, DrawOutcome::kSuccess);
  EXPECT_LT(set.heap_bytes(), 100u * 64);
  DrawSet dense;
  for (std::uint64_t i = 0; i < 64'000; ++i) dense.exchange(i, DrawOutcome::kFailure);
  EXPECT_LT(dense.heap_bytes(), 64'000u / 2) << "two bits a draw, and growth";
  EXPECT_TRUE(dense.far().empty());
}

TEST(DrawSet, DrawsThatFillInBecomeDense) {
  DrawSet set;
  Model model;
  for (std::uint64_t i = 3'000; i-- > 0;) {  // the last index first
    set.exchange(i, DrawOutcome::kSuccess);
    model[i] = DrawOutcome::kSuccess;
  }
  expect_same(set, model);
}

PairedCount naive_paired(const std::vector<Model>& cells) {
  PairedCount count;
  if (cells.empty()) return count;
  for (const auto& [draw, ignored] : cells[0]) {
    bool all = true, any = false;
    for (const auto& cell : cells) {
      const auto at = cell.find(draw);
      const auto outcome = at == cell.end() ? DrawOutcome::kAbsent : at->second;
      all &= outcome == DrawOutcome::kSuccess || outcome == DrawOutcome::kFailure;
      any |= outcome == DrawOutcome::kSuccess;
    }
    count.aligned += all;
    count.any_success += all && any;
  }
  return count;
}

TEST(PairedCountTest, AgainstANaiveCount) {
  for (std::uint64_t seed = 1; seed <= 80; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto policies = 1 + random() % 5;
    std::vector<Model> models(policies);
    std::vector<DrawSet> sets(policies);
    for (int step = 0; step < 600; ++step) {
      const auto draw = some_index(random);
      const auto m = random() % policies;
      const auto outcome = static_cast<DrawOutcome>(1 + random() % 3);
      for (std::size_t other = 0; other < policies; ++other) {
        if (other != m && random() % 3 == 0) continue;
        sets[other].exchange(draw, outcome);
        models[other][draw] = outcome;
      }
    }
    std::vector<const DrawSet*> pool;
    for (const auto& set : sets) pool.push_back(&set);
    const auto expected = naive_paired(models);
    const auto count = paired_count(pool);
    EXPECT_EQ(count.aligned, expected.aligned);
    EXPECT_EQ(count.any_success, expected.any_success);
    pool.push_back(nullptr);
    EXPECT_EQ(paired_count(pool).aligned, 0u);
  }
  EXPECT_EQ(paired_count({}).aligned, 0u);
}

}  // namespace
}  // namespace gapwatch::stats
