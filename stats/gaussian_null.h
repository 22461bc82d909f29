// Both null laws in the normal approximation, with exact moments: for tables too large to sample.
//
// A statistic that is a minimum over policies of prompt sums, min_m sum_i X_im, is approximated by the
// minimum of a normal vector with the exact mean and covariance of the sums:
//   L             X_m = 1{some policy covers, m does not}
//   Pass@1 gap    X_m = max_l p_l - p_m
// Under the re-deal, prompts are independent. Under the margin law they are independent given the tilt b
// fitted to the policy totals, and the vector is then conditioned on those totals. D is a sum of indicators,
// conditioned likewise.
//
// Threads: pure. Cost: moments_feasible() bounds it; 0.1 ms to 10 ms a pattern. Source: sequential.md F and
// G.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/executor.h"
#include "stats/null_classes.h"
#include "stats/null_moments.h"

namespace gapwatch::stats {

// Multiplications that prompt_moments needs for these classes, all patterns together.
double moments_cost(const PromptClasses& classes, std::size_t thresholds);
bool moments_feasible(const PromptClasses& classes, std::size_t thresholds);

// Moments of every class (empty for degenerate ones), in class order.
std::vector<PromptMoments> class_moments(const PromptClasses& classes, std::span<const double> thresholds,
                                         std::span<const double> log_weights, MomentSet set,
                                         Executor& executor);

// The tilt of the margin law: log weights b with E_b[policy totals over informative prompts] = totals. A
// policy that has none or all of what it can have gets +-kBoundary. Absent where Newton's method does not get
// there.
struct MarginTilt {
  std::vector<double> log_weights;
  int steps = 0;
};
constexpr double kTiltBoundary = 40;
std::optional<MarginTilt> fit_margin_tilt(const PromptClasses& classes, std::span<const std::uint64_t> totals,
                                          Executor& executor);

// A normal law of prompt sums.
struct NormalVector {
  std::vector<double> mean;
  Matrix covariance;
};

// Conditions on count sums equal to `totals`. `with_counts` and `count_*` are sums over the same prompts.
NormalVector condition_on_totals(const VectorMoments& sums, std::span<const double> count_mean,
                                 const Matrix& count_covariance, std::span<const double> totals);

// Draws of min_m of a normal vector, by fixed antithetic normals: the same for every call. Ascending.
std::vector<double> minimum_draws(const NormalVector& law, std::size_t draws);

}  // namespace gapwatch::stats
