#include "stats/rates.h"

#include "tests/support/golden.h"

namespace gapwatch::stats {
namespace {

using testing::Golden;
using testing::number;

constexpr double kIntervalEnd = 1e-8;  // tests/golden/README.md

class GoldenRates : public ::testing::TestWithParam<const char*> {};

TEST_P(GoldenRates, Cells) {
  const Golden golden(testing::golden_path(GetParam()));
  const auto moments = golden.expected("prior_moments");
  const BetaPrior prior{number(moments["alpha"]), number(moments["beta"])};
  for (const auto field : golden.expected("cells").get_object()) {
    const std::string key(field.key);
    SCOPED_TRACE(key);
    const auto slash = key.find('/');
    const CellCount cell{static_cast<std::uint32_t>(std::stoul(key.substr(slash + 1))),
                         static_cast<std::uint32_t>(std::stoul(key.substr(0, slash)))};
    const auto want = field.value;
    EXPECT_NEAR(raw_rate(cell), number(want["phat"]), testing::kExact);
    EXPECT_NEAR(posterior_mean(cell, prior), number(want["posterior_mean"]), testing::kExact);
    const auto fitted = posterior_interval(cell, prior);
    EXPECT_NEAR(fitted.low, number(want["posterior_lo"]), kIntervalEnd);
    EXPECT_NEAR(fitted.high, number(want["posterior_hi"]), kIntervalEnd);
    const auto uniform = posterior_interval(cell, {1, 1});
    EXPECT_NEAR(uniform.low, number(want["beta11_lo"]), kIntervalEnd);
    EXPECT_NEAR(uniform.high, number(want["beta11_hi"]), kIntervalEnd);
    const auto exact = clopper_pearson(cell);
    EXPECT_NEAR(exact.low, number(want["cp_lo"]), kIntervalEnd);
    EXPECT_NEAR(exact.high, number(want["cp_hi"]), kIntervalEnd);
    EXPECT_NEAR(clopper_pearson_upper(cell), number(want["cp_upper95"]), kIntervalEnd);
    EXPECT_NEAR(clopper_pearson_lower(cell), number(want["cp_lower95"]), kIntervalEnd);
  }
}
INSTANTIATE_TEST_SUITE_P(Files, GoldenRates, ::testing::ValuesIn(testing::kTableFiles));

TEST(GoldenWorkedExamples, ClopperPearson) {
  const Golden golden(testing::golden_path("worked_examples"));
  const auto expected = golden.expected("clopper_pearson").get_array().value();
  std::size_t at = 0;
  for (const auto pair : golden.input("clopper_pearson").get_array()) {
    const CellCount cell{static_cast<std::uint32_t>(pair.at(1).get_uint64().value()),
                         static_cast<std::uint32_t>(pair.at(0).get_uint64().value())};
    const auto want = expected.at(at++).value();
    const auto limits = clopper_pearson(cell);
    EXPECT_NEAR(limits.low, number(want["lo"]), kIntervalEnd);
    EXPECT_NEAR(limits.high, number(want["hi"]), kIntervalEnd);
    EXPECT_NEAR(clopper_pearson_upper(cell), number(want["upper95"]), kIntervalEnd);
    EXPECT_NEAR(clopper_pearson_lower(cell), number(want["lower95"]), kIntervalEnd);
  }
}

TEST(GoldenWorkedExamples, PosteriorNeed) {
  const Golden golden(testing::golden_path("worked_examples"));
  const auto input = golden.input("smoothed_need");
  const BetaPrior prior{number(input["alpha"]), number(input["beta"])};
  const auto expected = golden.expected("smoothed_need").get_array().value();
  std::size_t at = 0;
  for (const auto pair : input["pairs"].get_array()) {
    const auto trials = static_cast<std::uint32_t>(pair.at(1).get_uint64().value());
    const auto needed = posterior_need(number(pair.at(0)), trials, prior);
    EXPECT_EQ(needed, expected.at(at++).get_uint64().value());
    EXPECT_GE(posterior_mean({trials, needed}, prior), number(pair.at(0)) - 1e-9);
    EXPECT_LT(posterior_mean({trials, needed - 1}, prior), number(pair.at(0)));
  }
}

TEST(Rates, ExtremeCellsHaveFiniteIntervals) {
  for (const std::uint32_t n : {0u, 1u, 2u, 100u, 100'000u}) {
    for (const std::uint32_t s : {0u, n / 2, n}) {
      for (const BetaPrior prior : {BetaPrior{1, 1}, BetaPrior{0.5, 0.5}, BetaPrior{3e-7, 7e-7}, BetaPrior{1e6, 1e6}}) {
        const auto posterior = posterior_interval({n, s}, prior);
        EXPECT_TRUE(posterior.low >= 0 && posterior.low <= posterior.high && posterior.high <= 1)
            << s << " of " << n << ": " << posterior.low << " " << posterior.high;
        const auto exact = clopper_pearson({n, s});
        EXPECT_TRUE(exact.low >= 0 && exact.low <= exact.high && exact.high <= 1);
      }
    }
  }
  EXPECT_EQ(clopper_pearson({0, 0}), (Interval{0, 1}));
}

}  // namespace
}  // namespace gapwatch::stats
