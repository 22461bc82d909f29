#include "stats/coverage.h"

#include <algorithm>

namespace gapwatch::stats {
namespace {

double rate_under(CellCount cell, const std::optional<BetaPrior>& prior) {
  if (cell.trials == 0) return 0;
  return prior ? posterior_mean(cell, *prior) : raw_rate(cell);
}

std::uint32_t need_under(double tau, std::uint32_t trials, const std::optional<BetaPrior>& prior) {
  return prior ? posterior_need(tau, trials, *prior) : need(tau, trials);
}

// Mean over the cells that have trials.
double mixture_rate(std::span<const CellCount> row, const std::optional<BetaPrior>& prior) {
  double sum = 0, present = 0;
  for (const CellCount cell : row) {
    sum += rate_under(cell, prior);
    present += cell.trials > 0;
  }
  return present > 0 ? sum / present : 0;
}

std::int64_t count_covered_by_some(const CountTable& table, double tau) {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < table.prompt_count(); ++i) {
    const auto row = table.row(i);
    count += std::any_of(row.begin(), row.end(), [&](CellCount c) { return covers(c, need(tau, c.trials)); });
  }
  return count;
}

}  // namespace

std::optional<CoverageSummary> coverage_at(const CountTable& table, double tau, std::optional<BetaPrior> prior) {
  const auto prompts = table.prompt_count();
  if (prompts == 0) return std::nullopt;
  std::int64_t some = 0, all = 0, mixture = 0;
  std::vector<std::int64_t> covered(table.pool_size());
  for (std::size_t i = 0; i < prompts; ++i) {
    const auto row = table.row(i);
    std::size_t covering = 0;
    for (std::size_t m = 0; m < row.size(); ++m) {
      const bool covers_it = covers(row[m], need_under(tau, row[m].trials, prior));
      covered[m] += covers_it;
      covering += covers_it;
    }
    some += covering > 0;
    all += covering == row.size();
    mixture += mixture_rate(row, prior) >= tau - 1e-12;
  }
  const auto n = static_cast<double>(prompts);
  const auto best = std::max_element(covered.begin(), covered.end());
  CoverageSummary out;
  out.tau = tau;
  out.best_policy = static_cast<std::size_t>(best - covered.begin());
  out.oracle = static_cast<double>(some) / n;
  out.best = static_cast<double>(*best) / n;
  out.mixture = static_cast<double>(mixture) / n;
  out.gap = static_cast<double>(some - *best) / n;
  out.disagreement = static_cast<double>(some - all) / n;
  if (some > all) out.break_even_error = static_cast<double>(some - *best) / static_cast<double>(some - all);
  out.oracle_minus_mixture = static_cast<double>(some - mixture) / n;
  for (const auto count : covered) out.policy.push_back(static_cast<double>(count) / n);
  return out;
}

BandArea band_area(const CountTable& table, double low, double high, std::optional<BetaPrior> prior) {
  BandArea area;
  area.prompts = table.prompt_count();
  area.policy.resize(table.pool_size());
  if (area.prompts == 0) return area;
  const auto in_band = [&](double rate) { return std::clamp((rate - low) / (high - low), 0.0, 1.0); };
  for (std::size_t i = 0; i < area.prompts; ++i) {
    const auto row = table.row(i);
    double most = 0;
    for (std::size_t m = 0; m < row.size(); ++m) {
      const double rate = rate_under(row[m], prior);
      most = std::max(most, rate);
      area.policy[m] += in_band(rate);
    }
    area.oracle += in_band(most);
    area.mixture += in_band(mixture_rate(row, prior));
  }
  const auto n = static_cast<double>(area.prompts);
  for (double& sum : area.policy) sum /= n;
  area.oracle /= n;
  area.mixture /= n;
  const auto best = std::max_element(area.policy.begin(), area.policy.end());
  area.best = *best;
  area.best_policy = static_cast<std::size_t>(best - area.policy.begin());
  return area;
}

std::optional<MixingFloor> mixing_floor(const CountTable& table, double tau) {
  const auto prompts = table.prompt_count();
  const auto here = coverage_at(table, tau);
  if (!here) return std::nullopt;
  const double all_of_it = static_cast<double>(table.pool_size()) * tau;
  MixingFloor out;
  if (all_of_it <= 1 + 1e-12) {
    out.floor = static_cast<double>(count_covered_by_some(table, all_of_it)) / static_cast<double>(prompts);
  }
  out.certificate = out.floor - here->best;
  return out;
}

}  // namespace gapwatch::stats
