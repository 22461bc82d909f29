// Values of single bets, and that each is fair: exact enumeration of every outcome that a null allows.

#include <cmath>
#include <functional>
#include <random>

#include "stats/evidence_batch.h"
#include "stats/evidence_block.h"
#include "stats/evidence_pairs.h"

namespace gapwatch::stats {
namespace {

Batch batch_of(const std::vector<int>& trials, const std::vector<int>& successes) {
  Batch batch;
  for (std::size_t m = 0; m < trials.size(); ++m) {
    for (int j = 0; j < trials[m]; ++j) batch.add(static_cast<std::uint32_t>(m), j < successes[m]);
  }
  return batch;
}

// The same tilts for every component.
BatchLanes tilts_of(const std::vector<double>& tilts) {
  BatchLanes lanes{};
  for (std::size_t j = 0; j < tilts.size(); ++j) lanes[j].fill(tilts[j]);
  return lanes;
}

// Tilts that differ by cell and component, in [-4, 4].
BatchLanes random_tilts(std::mt19937_64& random, double scale) {
  BatchLanes lanes{};
  for (auto& cell : lanes) {
    for (auto& tilt : cell) tilt = scale * (2 * static_cast<double>(random() >> 11) * 0x1p-53 - 1);
  }
  return lanes;
}

double choose(int n, int k) {
  double value = 1;
  for (int j = 1; j <= k; ++j) value = value * (n - k + j) / j;
  return value;
}

// Every way to give `left` successes to cells of `trials`.
void for_each_row(const std::vector<int>& trials, int left,
                  const std::function<void(const std::vector<int>&)>& f, std::vector<int> so_far = {}) {
  if (so_far.size() == trials.size()) {
    if (left == 0) f(so_far);
    return;
  }
  for (int c = 0; c <= std::min(left, trials[so_far.size()]); ++c) {
    so_far.push_back(c);
    for_each_row(trials, left - c, f, so_far);
    so_far.pop_back();
  }
}

double ways(const std::vector<int>& trials, const std::vector<int>& counts) {
  double product = 1;
  for (std::size_t m = 0; m < trials.size(); ++m) product *= choose(trials[m], counts[m]);
  return product;
}

// sequential.md, "Test vectors (by brute force)".
constexpr double kPrinted = 1e-9;

TEST(TiltWeight, IsTheExponential) {
  for (double tilt = -8; tilt <= 8; tilt += 0.01)
    EXPECT_NEAR(tilt_weight(tilt) / std::exp(tilt), 1, 1e-12) << tilt;
  EXPECT_EQ(tilt_weight(0), 1);
  Lanes tilts, weights;
  for (std::size_t k = 0; k < kLaneCount; ++k) tilts[k] = -4 + 0.7 * static_cast<double>(k);
  tilt_weights(tilts, weights);
  for (std::size_t k = 0; k < kLaneCount; ++k) EXPECT_NEAR(weights[k] / std::exp(tilts[k]), 1, 1e-12);
}

TEST(PlainBatch, TestVectors) {
  Lanes log_e;
  plain_batch(batch_of({2, 1, 1}, {1, 0, 1}), tilts_of({.5, 0, -.5}), log_e);
  for (std::size_t k = 0; k < kComponents; ++k) EXPECT_NEAR(std::exp(log_e[k]), 0.6958736409, kPrinted);
  plain_batch(batch_of({3, 2, 2, 1}, {2, 1, 0, 0}), tilts_of({.8, .1, -.4, -.2}), log_e);
  for (std::size_t k = 0; k < kComponents; ++k) EXPECT_NEAR(std::exp(log_e[k]), 2.3095392306, kPrinted);
}

TEST(PlainBatch, PaysOneWithoutInformation) {
  std::mt19937_64 random(1);
  const auto tilts = random_tilts(random, 4);
  Lanes log_e;
  for (const auto& batch :
       {batch_of({4, 4}, {0, 0}), batch_of({4, 4}, {4, 4}), batch_of({0, 8}, {0, 3}), Batch{}}) {
    EXPECT_FALSE(batch.informative());
    plain_batch(batch, tilts, log_e);
    for (std::size_t k = 0; k < kComponents; ++k) EXPECT_EQ(log_e[k], 0);
  }
}

TEST(PlainBatch, IsFairForEveryTotalAndAnyTilts) {
  std::mt19937_64 random(2);
  for (const auto& trials :
       {std::vector{2, 3, 3}, {8, 0, 0}, {1, 1, 1, 1, 1, 1, 1, 1}, {5, 2, 1}, {2, 2, 2, 2}}) {
    for (int total = 0; total <= 8; ++total) {
      const auto tilts = random_tilts(random, 4);
      std::array<double, kComponents> mean{};
      for_each_row(trials, total, [&](const std::vector<int>& counts) {
        Lanes log_e;
        plain_batch(batch_of(trials, counts), tilts, log_e);
        for (std::size_t k = 0; k < kComponents; ++k) {
          mean[k] += ways(trials, counts) / choose(8, total) * std::exp(log_e[k]);
        }
      });
      for (std::size_t k = 0; k < kComponents; ++k) EXPECT_NEAR(mean[k], 1, 1e-9) << total;
    }
  }
}

TEST(PlainEvent, IsFairForEveryRateAndRouting) {
  std::mt19937_64 random(3);
  const auto uniform = [&] { return (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53; };
  for (int round = 0; round < 50; ++round) {
    const std::size_t policies = 2 + random() % 5;
    std::vector<Lanes> tilts(policies);
    std::vector<double> propensities(policies);
    double sum = 0;
    for (auto& p : propensities) sum += p = random() % 4 == 0 ? 0 : uniform();
    propensities[0] += 0.1, sum += 0.1;
    for (auto& p : propensities) p /= sum;
    for (auto& lanes : tilts) {
      for (auto& tilt : lanes) tilt = 8 * uniform() - 4;
    }
    const double estimated = uniform(), true_rate = uniform();
    std::array<double, kComponents> mean{};
    for (std::uint32_t m = 0; m < policies; ++m) {
      if (propensities[m] <= 0) continue;
      for (const bool success : {false, true}) {
        Lanes log_e;
        plain_event(tilts, propensities, m, success, estimated, log_e);
        for (std::size_t k = 0; k < kComponents; ++k) {
          mean[k] += propensities[m] * (success ? true_rate : 1 - true_rate) * std::exp(log_e[k]);
        }
      }
    }
    for (std::size_t k = 0; k < kComponents; ++k) EXPECT_NEAR(mean[k], 1, 1e-10);
  }
}

TEST(AdditiveMoments, AreThoseOfTheEnumeratedLaw) {
  const std::vector<int> trials{3, 2, 1, 2};
  const std::vector<double> weights{0.4, 1.7, 5.0, 1.0};
  for (int total = 1; total < 8; ++total) {
    std::vector<double> mean(4), square(4);
    double all = 0;
    std::vector<int> some;
    for_each_row(trials, total, [&](const std::vector<int>& counts) {
      double p = ways(trials, counts);
      for (std::size_t m = 0; m < 4; ++m) p *= std::pow(weights[m], counts[m]);
      all += p;
      for (std::size_t m = 0; m < 4; ++m) mean[m] += p * counts[m], square[m] += p * counts[m] * counts[m];
      some = counts;
    });
    const auto moments = additive_moments(batch_of(trials, some), weights);
    for (std::size_t m = 0; m < 4; ++m) {
      EXPECT_NEAR(moments[m].mean, mean[m] / all, 1e-12) << total;
      EXPECT_NEAR(moments[m].variance, square[m] / all - mean[m] * mean[m] / all / all, 1e-12) << total;
    }
  }
}

// ---- Blocks ----

struct Block {
  std::vector<std::vector<int>> trials, counts;
};

std::vector<double> block_log_e(const Block& block, const std::vector<BatchLanes>& tilts,
                                const BlockSampling& sampling, BlockEvidence& evidence,
                                std::uint64_t number = 0) {
  std::vector<Batch> batches;
  std::vector<TiltedBatch> rows;
  for (std::size_t g = 0; g < block.trials.size(); ++g)
    batches.push_back(batch_of(block.trials[g], block.counts[g]));
  // Cells without trials are not in the batch: their tilts are skipped.
  std::vector<BatchLanes> present(tilts.size());
  for (std::size_t g = 0; g < batches.size(); ++g) {
    for (std::size_t j = 0; j < batches[g].size; ++j) present[g][j] = tilts[g][batches[g].cells[j].policy];
  }
  for (std::size_t g = 0; g < batches.size(); ++g) rows.push_back({&batches[g], &present[g]});
  Lanes log_e;
  evidence.evaluate(rows, sampling, number, log_e);
  return {log_e.begin(), log_e.begin() + kMarginComponents};
}

// Every table with the block's row and policy totals.
void for_each_table(const Block& block, const std::function<void(const std::vector<std::vector<int>>&)>& f) {
  std::vector<int> totals(block.trials[0].size(), 0);
  for (const auto& row : block.counts) {
    for (std::size_t m = 0; m < row.size(); ++m) totals[m] += row[m];
  }
  std::vector<std::vector<int>> table;
  const std::function<void(std::size_t, const std::vector<int>&)> fill = [&](std::size_t g,
                                                                             const std::vector<int>& left) {
    if (g == block.trials.size()) {
      if (left == std::vector<int>(left.size(), 0)) f(table);
      return;
    }
    int successes = 0;
    for (const int c : block.counts[g]) successes += c;
    for_each_row(block.trials[g], successes, [&](const std::vector<int>& counts) {
      auto rest = left;
      for (std::size_t m = 0; m < counts.size(); ++m) {
        if ((rest[m] -= counts[m]) < 0) return;
      }
      table.push_back(counts);
      fill(g + 1, rest);
      table.pop_back();
    });
  };
  fill(0, totals);
}

double ways(const std::vector<std::vector<int>>& trials, const std::vector<std::vector<int>>& counts) {
  double product = 1;
  for (std::size_t g = 0; g < trials.size(); ++g) product *= ways(trials[g], counts[g]);
  return product;
}

Block random_block(std::mt19937_64& random, std::size_t rows, std::size_t policies, int responses) {
  Block block;
  while (block.trials.size() < rows) {
    std::vector<int> trials(policies, 0), counts(policies, 0);
    for (int j = 0; j < responses; ++j) {
      const auto m = random() % policies;
      ++trials[m];
      counts[m] += random() % 5 < 2;
    }
    if (!batch_of(trials, counts).informative()) continue;
    block.trials.push_back(trials);
    block.counts.push_back(counts);
  }
  return block;
}

TEST(BlockEvidence, TestVector) {
  const Block block{{{2, 1, 1}, {1, 1, 2}, {1, 2, 1}}, {{1, 0, 1}, {0, 1, 1}, {1, 1, 0}}};
  const std::vector<BatchLanes> tilts{tilts_of({.5, 0, -.5}), tilts_of({0, .3, -.1}),
                                      tilts_of({.2, -.6, .4})};
  BlockEvidence evidence;
  for (const double log_e : block_log_e(block, tilts, {}, evidence))
    EXPECT_NEAR(std::exp(log_e), 0.6293870695, kPrinted);
  EXPECT_TRUE(evidence.exact());
}

TEST(BlockEvidence, ExactValueIsTheBruteForceOne) {
  std::mt19937_64 random(4);
  BlockEvidence evidence;
  for (int round = 0; round < 60; ++round) {
    const std::size_t rows = 1 + random() % 4, policies = 2 + random() % 4;
    const Block block = random_block(random, rows, policies, rows > 3 ? 4 : 6);
    std::vector<BatchLanes> tilts;
    for (std::size_t g = 0; g < rows; ++g) tilts.push_back(random_tilts(random, 4));
    const auto log_e = block_log_e(block, tilts, {}, evidence);
    ASSERT_TRUE(evidence.exact());
    for (std::size_t k = 0; k < kMarginComponents; ++k) {
      const auto bet = [&](const std::vector<std::vector<int>>& counts) {
        double sum = 0;
        for (std::size_t g = 0; g < rows; ++g) {
          for (std::size_t m = 0; m < policies; ++m) sum += tilts[g][m][k] * counts[g][m];
        }
        return std::exp(sum);
      };
      double plain = 0, tilted = 0;
      for_each_table(block, [&](const std::vector<std::vector<int>>& counts) {
        plain += ways(block.trials, counts);
        tilted += ways(block.trials, counts) * bet(counts);
      });
      EXPECT_NEAR(log_e[k], std::log(bet(block.counts) * plain / tilted), 1e-9)
          << "round " << round << " lane " << k;
    }
  }
}

TEST(BlockEvidence, IsFairGivenItsTotals) {
  std::mt19937_64 random(5);
  BlockEvidence evidence;
  for (int round = 0; round < 12; ++round) {
    Block block = random_block(random, 3, 3, 6);
    std::vector<BatchLanes> tilts;
    for (int g = 0; g < 3; ++g) tilts.push_back(random_tilts(random, 4));
    std::array<double, kMarginComponents> mean{};
    double all = 0;
    for_each_table(block, [&](const std::vector<std::vector<int>>& counts) {
      const double p = ways(block.trials, counts);
      all += p;
      const auto log_e = block_log_e({block.trials, counts}, tilts, {}, evidence);
      for (std::size_t k = 0; k < kMarginComponents; ++k) mean[k] += p * std::exp(log_e[k]);
    });
    for (const double m : mean) EXPECT_NEAR(m / all, 1, 1e-9) << round;
  }
}

// The sampled e-value's mean over tables and random keys is 1 at any length of the chain, even a short one.
TEST(BlockEvidence, SampledIsFairGivenItsTotals) {
  std::mt19937_64 random(6);
  BlockEvidence evidence;
  const Block block = random_block(random, 2, 3, 4);
  std::vector<BatchLanes> tilts{random_tilts(random, 1.5), random_tilts(random, 1.5)};
  for (const std::uint32_t steps : {0u, 1u, 5u}) {
    BlockSampling sampling;
    sampling.always = true;
    sampling.tables = 3;
    sampling.steps_per_cell = steps;
    double all = 0, mean = 0, square = 0;
    constexpr int kKeys = 4'000;
    for_each_table(block, [&](const std::vector<std::vector<int>>& counts) {
      const double p = ways(block.trials, counts);
      all += p;
      for (int key = 0; key < kKeys; ++key) {
        const double e = std::exp(block_log_e({block.trials, counts}, tilts, sampling, evidence,
                                              static_cast<std::uint64_t>(key))[2]);
        EXPECT_LE(e, 4 + 1e-9);
        mean += p * e;
        square += p * e * e;
      }
    });
    ASSERT_FALSE(evidence.exact());
    mean /= all * kKeys;
    const double deviation = std::sqrt(std::max(0.0, square / all / kKeys - mean * mean));
    EXPECT_NEAR(mean, 1, 4 * deviation / std::sqrt(kKeys) + 1e-9) << steps;
  }
}

TEST(BlockEvidence, SampledApproachesExact) {
  std::mt19937_64 random(7);
  BlockEvidence evidence;
  for (int round = 0; round < 5; ++round) {
    const Block block = random_block(random, 4, 4, 8);
    std::vector<BatchLanes> tilts;
    for (int g = 0; g < 4; ++g) tilts.push_back(random_tilts(random, 0.6));
    const auto exact = block_log_e(block, tilts, {}, evidence);
    BlockSampling sampling;
    sampling.always = true;
    sampling.tables = 4'000;
    sampling.steps_per_cell = 30;
    const auto sampled = block_log_e(block, tilts, sampling, evidence, 3);
    for (std::size_t k = 0; k < kMarginComponents; ++k) EXPECT_NEAR(sampled[k], exact[k], 0.15) << k;
  }
}

TEST(BlockEvidence, SameKeySameBits) {
  std::mt19937_64 random(8);
  const Block block = random_block(random, 5, 8, 8);
  const std::vector<BatchLanes> tilts(5, random_tilts(random, 2));
  BlockEvidence one, other;
  block_log_e(random_block(random, 3, 9, 8), tilts, {}, other, 1);  // what the scratch holds does not matter
  EXPECT_EQ(block_log_e(block, tilts, {}, one, 7), block_log_e(block, tilts, {}, other, 7));
  EXPECT_NE(block_log_e(block, tilts, {}, one, 7), block_log_e(block, tilts, {}, one, 8));
  EXPECT_FALSE(one.exact());
}

// A constant added to all tilts of a policy, or of a row, bets on nothing that the margins leave open.
TEST(BlockEvidence, CommonTiltsCancel) {
  std::mt19937_64 random(9);
  BlockEvidence evidence;
  const Block block = random_block(random, 4, 3, 8);
  std::vector<BatchLanes> tilts;
  for (int g = 0; g < 4; ++g) tilts.push_back(random_tilts(random, 2));
  const auto before = block_log_e(block, tilts, {}, evidence);
  for (auto& row : tilts) {
    for (std::size_t m = 0; m < 3; ++m) {
      for (auto& tilt : row[m]) tilt += 0.5 * static_cast<double>(m) - 0.7;
    }
  }
  const auto after = block_log_e(block, tilts, {}, evidence);
  for (std::size_t k = 0; k < kMarginComponents; ++k) EXPECT_NEAR(after[k], before[k], 1e-9);
}

// ---- Pairs ----

TEST(PairPool, TestVector) {
  std::vector<Lanes> tilts(6);
  const double d[] = {.4, -.2, .1, 0, -.7, .3};
  for (std::size_t j = 0; j < 6; ++j) tilts[j].fill(d[j]);
  Lanes log_e;
  pair_pool(tilts, std::array{true, false, true, false, false, true}, log_e);
  for (std::size_t k = 0; k < kMarginComponents; ++k) EXPECT_NEAR(std::exp(log_e[k]), 2.0836473241, kPrinted);
}

TEST(PairPool, IsFairForEveryNumberOfWins) {
  std::mt19937_64 random(10);
  constexpr std::size_t kPairs = 9;
  std::vector<Lanes> tilts(kPairs);
  for (auto& lanes : tilts) {
    for (auto& tilt : lanes) tilt = 16 * static_cast<double>(random() >> 11) * 0x1p-53 - 8;
  }
  std::array<std::array<double, kMarginComponents>, kPairs + 1> sum{};
  for (unsigned mask = 0; mask < 1u << kPairs; ++mask) {
    std::array<bool, kPairs> won;
    for (std::size_t j = 0; j < kPairs; ++j) won[j] = (mask >> j & 1) != 0;
    Lanes log_e;
    pair_pool(tilts, won, log_e);
    for (std::size_t k = 0; k < kMarginComponents; ++k) {
      sum[static_cast<std::size_t>(__builtin_popcount(mask))][k] += std::exp(log_e[k]);
    }
  }
  for (std::size_t wins = 0; wins <= kPairs; ++wins) {
    for (const double s : sum[wins]) EXPECT_NEAR(s / choose(kPairs, static_cast<int>(wins)), 1, 1e-9) << wins;
  }
}

// Pairs of two are the classical 2x2 table.
TEST(PairPool, AreBlocksOfTwoResponses) {
  std::mt19937_64 random(11);
  BlockEvidence evidence;
  for (int round = 0; round < 20; ++round) {
    Block block;
    std::vector<BatchLanes> tilts;
    std::vector<Lanes> differences;
    std::vector<char> wins;
    for (int j = 0; j < 6; ++j) {
      const bool won = random() % 2 == 0;
      block.trials.push_back({1, 1});
      block.counts.push_back({won ? 1 : 0, won ? 0 : 1});
      wins.push_back(won);
      tilts.push_back(random_tilts(random, 3));
      differences.emplace_back();
      for (std::size_t k = 0; k < kLaneCount; ++k)
        differences.back()[k] = tilts.back()[0][k] - tilts.back()[1][k];
    }
    std::array<bool, 6> won;
    std::copy(wins.begin(), wins.end(), won.begin());
    Lanes log_e;
    pair_pool(differences, won, log_e);
    const auto block_e = block_log_e(block, tilts, {}, evidence);
    for (std::size_t k = 0; k < kMarginComponents; ++k) EXPECT_NEAR(log_e[k], block_e[k], 1e-9);
  }
}

TEST(PairQueue, PairsFirstInFirstOut) {
  PairQueue queue;
  EXPECT_FALSE(queue.match(3, true));
  EXPECT_FALSE(queue.match(3, false));
  EXPECT_FALSE(queue.match(3, true));
  auto partner = queue.match(1, false);
  ASSERT_TRUE(partner);
  EXPECT_EQ(partner->policy, 3u);
  EXPECT_TRUE(partner->success);
  EXPECT_FALSE(queue.match(2, true)->success);
  EXPECT_TRUE(queue.match(0, true)->success);
  EXPECT_EQ(queue.waiting, 0u);
  EXPECT_FALSE(queue.match(0, true));
  EXPECT_EQ(queue.match(3, true)->policy, 0u);
}

TEST(PairQueue, KeepsTheOldest64) {
  PairQueue queue;
  for (int j = 0; j < 70; ++j) EXPECT_FALSE(queue.match(0, j % 3 == 0));
  for (int j = 0; j < 64; ++j) {
    const auto partner = queue.match(1, false);
    ASSERT_TRUE(partner);
    EXPECT_EQ(partner->success, j % 3 == 0);
  }
  EXPECT_FALSE(queue.match(1, false));
}

}  // namespace
}  // namespace gapwatch::stats
