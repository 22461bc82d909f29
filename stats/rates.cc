#include "stats/rates.h"

#include <algorithm>
#include <boost/math/distributions/beta.hpp>
#include <cmath>

namespace gapwatch::stats {
namespace {

// Rounding and overflow give a limit value, never an exception: parameters are positive and finite.
using Policy = boost::math::policies::policy<
    boost::math::policies::domain_error<boost::math::policies::ignore_error>,
    boost::math::policies::overflow_error<boost::math::policies::ignore_error>,
    boost::math::policies::evaluation_error<boost::math::policies::ignore_error>>;

double beta_quantile(double alpha, double beta, double probability) {
  const double q = boost::math::quantile(boost::math::beta_distribution<double, Policy>(alpha, beta), probability);
  return std::isfinite(q) ? std::clamp(q, 0.0, 1.0) : (probability < 0.5 ? 0.0 : 1.0);
}

double lower_limit(CellCount cell, double tail) {
  if (cell.successes == 0) return 0;
  return beta_quantile(cell.successes, static_cast<double>(cell.trials - cell.successes) + 1, tail);
}

double upper_limit(CellCount cell, double tail) {
  if (cell.successes == cell.trials) return 1;
  return beta_quantile(static_cast<double>(cell.successes) + 1, cell.trials - cell.successes, 1 - tail);
}

}  // namespace

double posterior_mean(CellCount cell, BetaPrior prior) {
  return (prior.alpha + cell.successes) / (prior.alpha + prior.beta + cell.trials);
}

Interval posterior_interval(CellCount cell, BetaPrior prior, double level) {
  const double alpha = prior.alpha + cell.successes;
  const double beta = prior.beta + (cell.trials - cell.successes);
  return {beta_quantile(alpha, beta, (1 - level) / 2), beta_quantile(alpha, beta, (1 + level) / 2)};
}

Interval clopper_pearson(CellCount cell, double level) {
  return {lower_limit(cell, (1 - level) / 2), upper_limit(cell, (1 - level) / 2)};
}

double clopper_pearson_upper(CellCount cell, double level) { return upper_limit(cell, 1 - level); }
double clopper_pearson_lower(CellCount cell, double level) { return lower_limit(cell, 1 - level); }

std::uint32_t posterior_need(double tau, std::uint32_t trials, BetaPrior prior) {
  const double bound = std::ceil(tau * (prior.alpha + prior.beta + trials) - prior.alpha - 1e-9);
  return static_cast<std::uint32_t>(std::clamp(bound, 0.0, static_cast<double>(trials) + 1));
}

}  // namespace gapwatch::stats
