#include "stats/member_spread.h"

#include <cmath>

#include "tests/support/golden.h"

namespace gapwatch::stats {
namespace {

using testing::Golden;
using testing::number;

// The reference's Monte Carlo within five standard errors of both.
TEST(MemberSpreadTest, Golden) {
  InlineExecutor executor;
  for (const auto* file : testing::kTableFiles) {
    const Golden golden(testing::golden_path(file));
    const auto rows = complete_rows(testing::table_of(golden), {});
    for (const auto field : golden.expected("coverage").get_object()) {
      const std::string key(field.key);
      simdjson::dom::element mean;
      if (golden.root["monte_carlo"]["spread@" + key + ".mean"].get(mean) != simdjson::SUCCESS) continue;
      SCOPED_TRACE(std::string(file) + " " + key);
      constexpr double kSamples = 4'000;
      const auto spread = member_spread(rows, std::stod(key), {.replicates = 4'000, .seed = 3}, executor);
      EXPECT_NEAR(spread->observed, number(field.value["spread"]), testing::kExact);
      const auto monte_carlo = [&](const char* functional) {
        return golden.root["monte_carlo"]["spread@" + key + "." + functional].value();
      };
      const double sd = number(monte_carlo("sd")["mean"]);
      EXPECT_NEAR(spread->mean, number(mean["mean"]), 5 * std::hypot(sd / std::sqrt(kSamples), number(mean["se"])) + 1e-12);
      const auto near_share = [&](double fraction, const char* functional) {
        const double p = number(monte_carlo(functional)["mean"]);
        const double own = std::sqrt((p * (1 - p) + 1 / kSamples) / kSamples);
        EXPECT_NEAR(fraction, p, 5 * std::hypot(own, number(monte_carlo(functional)["se"]))) << functional;
      };
      near_share(spread->fraction_upper, "p_upper");
      near_share(spread->fraction_lower, "p_lower");
    }
  }
}

TEST(MemberSpreadTest, OnePolicyIsCertain) {
  InlineExecutor executor;
  const auto spread = member_spread(testing::random_table({.prompts = 9, .policies = 1}, 1), 0.5, {}, executor);
  EXPECT_EQ(spread->observed, 0);
  EXPECT_EQ(spread->p_upper, 1);
  EXPECT_FALSE(member_spread({}, 0.5, {}, executor));
}

TEST(MemberSpreadTest, TheSameForAnyNumberOfThreads) {
  const auto table = testing::random_table({.prompts = 60, .policies = 5, .trials_from = 3}, 2);
  InlineExecutor one;
  const auto three = make_thread_executor(3);
  const auto a = member_spread(table, 0.5, {.replicates = 200, .seed = 1}, one);
  const auto b = member_spread(table, 0.5, {.replicates = 200, .seed = 1}, *three);
  EXPECT_EQ(a->mean, b->mean);
  EXPECT_EQ(a->p95, b->p95);
  EXPECT_TRUE(a->approximate);
}

}  // namespace
}  // namespace gapwatch::stats
