#include "stats/bounds.h"

#include <cmath>

#include "stats/rates.h"
#include "tests/support/golden.h"

namespace gapwatch::stats {
namespace {

using testing::Golden;
using testing::number;

void expect_bounds(const CurseBounds& bounds, simdjson::dom::element want) {
  EXPECT_NEAR(bounds.hoeffding, number(want["hoeffding"]), testing::kExact);
  EXPECT_NEAR(bounds.kearns_saul, number(want["kearns_saul"]), testing::kExact);
  EXPECT_NEAR(bounds.bernstein, number(want["bernstein"]), testing::kExact);
  EXPECT_NEAR(bounds.exact_independent, number(want["exact_independent"]), testing::kExact);
}

TEST(Bounds, GoldenPrompts) {
  for (const auto* file : testing::kTableFiles) {
    SCOPED_TRACE(file);
    const Golden golden(testing::golden_path(file));
    for (const auto want : golden.expected("winners_curse").get_array()) {
      const auto trials = static_cast<std::uint32_t>(want["k"].get_uint64().value());
      expect_bounds(winners_curse(testing::numbers(want["p"]), trials), want);
    }
  }
}

TEST(Bounds, GoldenWorkedExamples) {
  const Golden golden(testing::golden_path("worked_examples"));
  std::size_t at = 0;
  const auto curse = golden.expected("winners_curse").get_array().value();
  for (const auto input : golden.input("winners_curse").get_array()) {
    expect_bounds(winners_curse(testing::numbers(input["p"]), static_cast<std::uint32_t>(input["k"].get_uint64().value())),
                  curse.at(at++));
  }
  at = 0;
  const auto tied = testing::numbers(golden.expected("tied_max_bias"));
  for (const auto row : golden.input("tied_max_bias").get_array()) {
    const auto input = testing::numbers(row);
    EXPECT_NEAR(tied_bias(input[0], static_cast<std::size_t>(input[1]), static_cast<std::uint32_t>(input[2])), tied[at++],
                testing::kExact);
  }
  at = 0;
  const auto proxies = testing::numbers(golden.expected("kearns_saul"));
  for (const double p : testing::numbers(golden.input("kearns_saul"))) {
    // At 1e-12 the reference cancels: (1 - 2p) / (2 ln((1-p)/p)) is 0.0180956034, not ...5889.
    EXPECT_NEAR(kearns_saul_proxy(p), proxies[at++], p == 1e-12 ? 2e-8 : testing::kExact) << p;
  }
}

TEST(Bounds, BoundsAreAboveTheExactBias) {
  for (const double p : {0.02, 0.1, 0.3, 0.5, 0.8}) {
    for (const std::uint32_t n : {1u, 4u, 16u, 100u}) {
      for (const std::size_t pool : {2u, 5u, 40u}) {
        const auto bounds = winners_curse(std::vector<double>(pool, p), n);
        EXPECT_LE(bounds.exact_independent, bounds.hoeffding);
        EXPECT_LE(bounds.exact_independent, bounds.kearns_saul);
        EXPECT_LE(bounds.exact_independent, bounds.bernstein);
        EXPECT_LE(bounds.kearns_saul, bounds.hoeffding + 1e-15);
        EXPECT_NEAR(bounds.exact_independent, tied_bias(p, pool, n), 1e-15);
      }
    }
  }
}

TEST(Bounds, Degenerate) {
  EXPECT_EQ(winners_curse({}, 10).hoeffding, 0);
  EXPECT_EQ(tied_bias(0.5, 3, 0), 0);
  EXPECT_EQ(tied_bias(0.5, 1, 10), 0);
  EXPECT_EQ(tied_bias(1, 5, 10), 0);
}

TEST(ConservativeFloor, ByHand) {
  CountTable table;
  table.policies = {"a", "b"};
  table.cells = {{10'000, 5'000}, {10'000, 5'000}, {4, 4}, {4, 0}};
  const double r = std::sqrt(std::log(2) / 20'000);
  EXPECT_NEAR(*conservative_premium_floor(table), (0.75 - r - (0.5 + r)) / 2, 1e-12);
  const std::vector<PairedCount> paired{{10, 10}, {4, 4}};
  EXPECT_NEAR(*conservative_premium_floor(table, paired), (1 - r - (0.5 + r)) / 2, 1e-12);
  EXPECT_FALSE(conservative_premium_floor({}));
}

}  // namespace
}  // namespace gapwatch::stats
