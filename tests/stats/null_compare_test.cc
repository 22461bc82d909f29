// Samples of a null against what a sorted list of them says.
#include "stats/null_compare.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace gapwatch::stats {
namespace {

TEST(NullCompare, QuantilesAndTailsAreThoseOfTheSortedSamples) {
  std::mt19937 random(11);
  for (const std::size_t count : {1u, 2u, 19u, 20u, 21u, 199u, 2'000u}) {
    for (const int most : {0, 3, 40, 1'000'000}) {  // few values: many ties
      std::vector<std::int64_t> samples(count);
      for (auto& x : samples) x = std::uniform_int_distribution<std::int64_t>(0, most)(random);
      const std::int64_t observed = samples[count / 2];
      const auto got = compare_with_samples(observed, samples, 10);
      std::sort(samples.begin(), samples.end());
      const auto at = [&](std::size_t place) { return static_cast<double>(samples[std::max<std::size_t>(place, 1) - 1]) / 10; };
      EXPECT_EQ(got.p05, at((count + 19) / 20)) << count << " samples up to " << most;
      EXPECT_EQ(got.p95, at((19 * count + 19) / 20)) << count << " samples up to " << most;
      const auto upper = samples.end() - std::lower_bound(samples.begin(), samples.end(), observed);
      const auto lower = std::upper_bound(samples.begin(), samples.end(), observed) - samples.begin();
      EXPECT_EQ(got.p_upper, (1.0 + static_cast<double>(upper)) / (1.0 + static_cast<double>(count)));
      EXPECT_EQ(got.p_lower, (1.0 + static_cast<double>(lower)) / (1.0 + static_cast<double>(count)));
    }
  }
}

}  // namespace
}  // namespace gapwatch::stats
