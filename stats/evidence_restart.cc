#include "stats/evidence_restart.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace gapwatch::stats {

namespace {

// log(exp(a) + exp(b)); either may be -infinity.
double log_add(double a, double b) {
  const double most = std::max(a, b), least = std::min(a, b);
  return std::isinf(least) ? most : most + std::log1p(std::exp(least - most));
}

}  // namespace

void LogWealth::add(double log_e) {
  assert(std::abs(log_e) < 30'000);
  sum_ += std::llrint(log_e * 0x1p48);
}

double LogWealth::since(const LogWealth& earlier) const {
  const Int128 difference = sum_ - earlier.sum_;
  const auto word = static_cast<std::int64_t>(difference);  // the usual case, and ten times as fast
  return (word == difference ? static_cast<double>(word) : static_cast<double>(difference)) * 0x1p-48;
}

LogWealth LogWealth::of(std::int64_t high, std::uint64_t low) {
  LogWealth wealth;
  wealth.sum_ = static_cast<Int128>(high) * (static_cast<Int128>(1) << 64) + static_cast<Int128>(low);
  return wealth;
}

double log_mixture(std::span<const LogWealth> wealth) {
  double most = wealth[0].nats();
  for (const auto& one : wealth) most = std::max(most, one.nats());
  double sum = 0;
  for (const auto& one : wealth) sum += std::exp(one.nats() - most);
  return most + std::log(sum / static_cast<double>(wealth.size()));
}

MixtureGain mixture_gain(std::span<const LogWealth> before, std::span<const double> log_e) {
  assert(before.size() == log_e.size());
  Lanes old_wealth, wealth;
  double old_most = before[0].nats(), most = old_most + log_e[0];
  for (std::size_t k = 0; k < before.size(); ++k) {
    old_wealth[k] = before[k].nats();
    wealth[k] = old_wealth[k] + log_e[k];
    old_most = std::max(old_most, old_wealth[k]);
    most = std::max(most, wealth[k]);
  }
  MixtureGain gain;
  double old_sum = 0, sum = 0;
  for (std::size_t k = 0; k < before.size(); ++k) {
    old_sum += std::exp(old_wealth[k] - old_most);
    sum += gain.share[k] = std::exp(wealth[k] - most);
  }
  for (std::size_t k = 0; k < before.size(); ++k) gain.share[k] /= sum;
  gain.log_gain = most - old_most + std::log(sum / old_sum);
  return gain;
}

double Restart::weight(std::uint64_t step) {
  constexpr double kStart = 30;
  static const double log_start = std::log(kStart);
  const double t = static_cast<double>(step) + kStart;
  const double log_t = std::log(t);
  return log_start / (t * log_t * log_t);
}

double Restart::step(std::span<const double> log_e) {
  assert(log_e.size() <= kLaneCount);
  ++steps;
  const double w = weight(steps), log_w = std::log(w);
  spent += w;
  for (std::size_t k = 0; k < log_e.size(); ++k) log_r[k] = log_add(log_r[k], log_w) + log_e[k];
  const double now = this->log_e(log_e.size());
  log_peak = std::max(log_peak, now);
  return now;
}

double Restart::log_e(std::size_t components) const {
  double most = 0;
  for (std::size_t k = 0; k < components; ++k) most = std::max(most, log_r[k]);
  double sum = 0;
  for (std::size_t k = 0; k < components; ++k) sum += std::exp(log_r[k] - most);
  const double unspent = std::max(0.0, 1 - spent);
  return most + std::log(sum / static_cast<double>(components) + unspent * std::exp(-most));
}

double Restart::p_anytime() const {
  return std::min(1.0, std::exp(-log_peak));
}

}  // namespace gapwatch::stats
