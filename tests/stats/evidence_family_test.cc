#include "stats/evidence_family.h"

#include <cmath>
#include <random>

namespace gapwatch::stats {
namespace {

std::vector<double> random_log_e(std::mt19937_64& random, std::size_t count) {
  std::vector<double> log_e(count);
  for (auto& one : log_e) one = static_cast<double>(random() % 1000) / 100 - 3;
  return log_e;
}

// The definition: the smallest mean over all sets that hold it.
TEST(EvidenceFamily, ClosedAveragingIsTheSmallestMeanOfAnySet) {
  std::mt19937_64 random(1);
  for (std::size_t count = 1; count <= 9; ++count) {
    const auto log_e = random_log_e(random, count);
    const auto adjusted = closed_average(log_e);
    for (std::size_t i = 0; i < count; ++i) {
      double smallest = INFINITY;
      for (unsigned set = 0; set < 1u << count; ++set) {
        if ((set >> i & 1) == 0) continue;
        double sum = 0, size = 0;
        for (std::size_t j = 0; j < count; ++j) {
          if ((set >> j & 1) != 0) sum += std::exp(log_e[j]), ++size;
        }
        smallest = std::min(smallest, sum / size);
      }
      EXPECT_NEAR(adjusted[i], std::log(smallest), 1e-12) << count << " " << i;
    }
  }
}

TEST(EvidenceFamily, ClosedAveragingAsksNoMoreThanBonferroniWhereTheOthersBreakEven) {
  const std::vector<double> log_e{std::log(80.0), 0, 0, 0};
  EXPECT_GT(closed_average(log_e)[0], std::log(20.0));
  EXPECT_NEAR(closed_average(log_e)[0], std::log(83.0 / 4), 1e-12);
}

// The definition: with k the largest number for which the k-th largest is at least K / (k alpha), the k largest.
TEST(EvidenceFamily, EBenjaminiHochbergTakesTheLargestSetThatHolds) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 200; ++round) {
    const auto count = 1 + random() % 9;
    const auto log_e = random_log_e(random, count);
    const auto adjusted = e_benjamini_hochberg(log_e);
    for (const double alpha : {0.01, 0.05, 0.3}) {
      auto sorted = log_e;
      std::sort(sorted.begin(), sorted.end(), std::greater<>());
      double cut = INFINITY;
      for (std::size_t k = 1; k <= count; ++k) {
        const double need = static_cast<double>(count) / (static_cast<double>(k) * alpha);
        if (std::exp(sorted[k - 1]) >= need) cut = sorted[k - 1];
      }
      for (std::size_t i = 0; i < count; ++i) {
        EXPECT_EQ(adjusted[i] >= -std::log(alpha), log_e[i] >= cut) << log_e[i] << " " << cut;
      }
    }
  }
}

TEST(EvidenceFamily, NothingGivesNothing) {
  EXPECT_TRUE(closed_average({}).empty());
  EXPECT_TRUE(e_benjamini_hochberg({}).empty());
}

TEST(EvidenceFamily, OneAloneKeepsItsOwn) {
  const std::vector<double> log_e{1.5};
  EXPECT_EQ(closed_average(log_e), log_e);
  EXPECT_EQ(e_benjamini_hochberg(log_e), log_e);
}

}  // namespace
}  // namespace gapwatch::stats
