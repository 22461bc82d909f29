#include "stats/multiple_testing.h"

#include "tests/support/golden.h"

namespace gapwatch::stats {
namespace {

using testing::Golden;

void expect_adjusted(const std::vector<double>& p, const std::vector<double>& expected) {
  const auto adjusted = benjamini_hochberg(p);
  ASSERT_EQ(adjusted.size(), expected.size());
  for (std::size_t i = 0; i < p.size(); ++i) EXPECT_NEAR(adjusted[i], expected[i], 1e-9 * (1e-6 + expected[i])) << i;
}

TEST(BenjaminiHochberg, Golden) {
  for (const auto* file : testing::kTableFiles) {
    const Golden golden(testing::golden_path(file));
    expect_adjusted(testing::numbers(golden.expected("bh")["p"]), testing::numbers(golden.expected("bh")["adjusted"]));
  }
  const Golden golden(testing::golden_path("worked_examples"));
  expect_adjusted(testing::numbers(golden.input("bh")), testing::numbers(golden.expected("bh")));
}

TEST(BenjaminiHochberg, NothingAndOne) {
  EXPECT_TRUE(benjamini_hochberg({}).empty());
  const double p = 0.3;
  EXPECT_EQ(benjamini_hochberg({&p, 1})[0], 0.3);
}

}  // namespace
}  // namespace gapwatch::stats
