// Both null laws on a real pool: LiveCodeBench code generation, 16 models x 349 problems x 10 draws.
#include "stats/nulls.h"
#include "tests/support/null_golden.h"

namespace gapwatch::testing {
namespace {

std::string lcb_path() {
  return GAPWATCH_SHARED_DIR "/golden/lcb_generation_349x16.json";
}

TEST(NullLcb, SamplesAgreeWithinFourStandardErrors) {
  const Golden golden(lcb_path());
  expect_golden_samples(golden, table_of(golden), 8'000, 4'000);
}

TEST(NullLcb, ExactProbabilitiesAndMomentsAgree) {
  const Golden golden(lcb_path());
  const SampledLaw complete(complete_rows(table_of(golden), {}), numbers(golden.input("taus")));
  expect_golden_exact(complete, golden.expected("redeal_exact"), 50'000);
}

// Where quality differs the re-deal misleads: its p is near 1, that of the margin law near 0.
TEST(NullLcb, TheTwoNullsDisagreeWhereModelsDifferInQuality) {
  const Golden golden(lcb_path());
  const auto executor = make_thread_executor(2);
  const std::vector<double> tau{0.1};
  const auto results =
      stats::compare_with_nulls(complete_rows(table_of(golden), {}), tau, {1'000, 100}, *executor);
  const auto& gap = results.thresholds[0].gap;
  EXPECT_NEAR(gap.redeal->observed, 0.124, 0.0005);
  EXPECT_NEAR(gap.redeal->mean, 0.149, 0.001);
  EXPECT_GT(gap.redeal->p_upper, 0.99);
  EXPECT_NEAR(gap.margin->mean, 0.035, 0.001);
  EXPECT_LT(gap.margin->p_upper, 0.002);
}

}  // namespace
}  // namespace gapwatch::testing
