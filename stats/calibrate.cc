#include "stats/calibrate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace gapwatch::stats {

namespace {

enum Stream : std::uint32_t { kStreamSeed = 0xca11, kRoutingDraws, kShiftedOutcomes };

constexpr double kNever = std::numeric_limits<double>::infinity();

// Responses until the alarm, by process; kNever.
struct Alarms {
  std::array<double, 4> at{kNever, kNever, kNever, kNever};
  std::uint64_t responses = 0;
};

class Arrivals {
 public:
  Arrivals(const CalibrationScenario& scenario, Simulation simulation, std::uint64_t seed)
      : scenario_(scenario),
        simulation_(std::move(simulation)),
        random_(seed, kRoutingDraws),
        outcome_(seed, kShiftedOutcomes),
        last_(scenario.stream.prompts, scenario.routing == Routing::kWinStayPerBatch ? 0 : kNobody),
        answered_(scenario.stream.prompts, 0),
        propensities_(scenario.stream.policies) {
    // Of simulated traffic; the win-stay routers have their own.
    double all = 0;
    for (std::size_t m = 0; m < propensities_.size(); ++m) {
      const bool uneven = scenario.stream.traffic == SimulatedTraffic::kUneven;
      all += propensities_[m] = uneven ? 1 / static_cast<double>(m + 1) : 1;
    }
    for (auto& propensity : propensities_) propensity /= all;
  }

  Response next() {
    Response response;
    if (scenario_.routing == Routing::kSimulated) {
      const auto draw = *simulation_.next();
      response = {{draw.prompt}, draw.policy, draw.success, number_, {}};
      if (scenario_.group_shift != 0) response.success = outcome(draw.prompt, draw.policy);
    } else {
      response = scenario_.routing == Routing::kBursty ? bursty() : win_stay();
    }
    if (scenario_.propensities) response.propensities = propensities_;
    ++number_;
    return response;
  }

 private:
  static constexpr std::uint32_t kNobody = std::numeric_limits<std::uint32_t>::max();

  std::uint32_t policies() const { return scenario_.stream.policies; }

  bool outcome(std::uint32_t prompt, std::uint32_t policy) {
    double rate = simulation_.rate(prompt, policy, number_);
    if (scenario_.group_shift != 0 && rate > 0 && rate < 1) {
      const double shift = (policy < policies() / 2 ? 0.5 : -0.5) * scenario_.group_shift;
      rate = 1 / (1 + (1 - rate) / rate * std::exp(-shift));
    }
    return uniform(outcome_) < rate;
  }

  std::uint32_t any_policy() { return static_cast<std::uint32_t>(bounded(random_, policies())); }

  Response bursty() {
    if (burst_left_ == 0) {
      burst_left_ = 1 + bounded(random_, 40);
      burst_prompt_ = static_cast<std::uint32_t>(bounded(random_, scenario_.stream.prompts));
      burst_policy_ = any_policy();
    }
    --burst_left_;
    if (bernoulli(random_, 0.3)) burst_policy_ = any_policy();
    return {{burst_prompt_}, burst_policy_, outcome(burst_prompt_, burst_policy_), number_, {}};
  }

  Response win_stay() {
    const auto prompt = static_cast<std::uint32_t>(bounded(random_, scenario_.stream.prompts));
    auto& last = last_[prompt];  // the policy to stay with
    const double stay = last == kNobody ? 0 : scenario_.stay;
    const std::uint32_t policy = bernoulli(random_, stay) ? last : any_policy();
    std::fill(propensities_.begin(), propensities_.end(), (1 - stay) / policies());
    if (last != kNobody) propensities_[last] += stay;
    const bool success = outcome(prompt, policy);
    last = success ? policy : kNobody;
    if (++answered_[prompt] % kBatchSize == 0 && scenario_.routing == Routing::kWinStayPerBatch) last = 0;
    return {{prompt}, policy, success, number_, {}};
  }

  const CalibrationScenario& scenario_;
  Simulation simulation_;
  FastRandom random_, outcome_;
  std::uint64_t number_ = 0;
  std::vector<std::uint32_t> last_, answered_;
  std::vector<double> propensities_;
  std::uint64_t burst_left_ = 0;
  std::uint32_t burst_prompt_ = 0, burst_policy_ = 0;
};

class Prompts final : public PromptEvidenceSource {
 public:
  explicit Prompts(std::size_t count) : prompts_(count) {}
  PromptEvidence& at(PromptKey prompt) override { return prompts_[prompt.value]; }

 private:
  std::vector<PromptEvidence> prompts_;
};

Alarms run_stream(const CalibrationScenario& scenario, const CalibrationOptions& options,
                  Simulation simulation, std::uint64_t seed) {
  Arrivals arrivals(scenario, std::move(simulation), seed);
  EvidenceOptions evidence = options.evidence;
  evidence.sampling.seed = seed;
  EvidenceEngine engine(evidence);
  PartitionEvidence partition;
  Prompts prompts(scenario.stream.prompts);
  Restart plain, margin;
  Alarms alarms;
  const double needed = -std::log(options.alpha);
  const auto cells = static_cast<double>(scenario.stream.prompts * scenario.stream.policies);
  const auto length = static_cast<std::uint64_t>(scenario.responses_per_cell * cells);
  const auto look = [&](std::size_t process, double log_e) {
    if (log_e >= needed && alarms.at[process] == kNever) {
      alarms.at[process] = static_cast<double>(alarms.responses) / cells;
    }
  };
  const auto heard = [&](std::size_t process) { return alarms.at[process] != kNever; };
  const bool no_plain = !evidence.plain, no_margin = evidence.margin == MarginDesign::kOff;
  while (alarms.responses < length) {
    const Response response = arrivals.next();
    ++alarms.responses;
    const auto& closed = engine.add(partition, prompts.at(response.prompt), response, prompts);
    if (!closed.plain && !closed.margin) continue;
    if (closed.plain) {
      plain.step(*closed.plain);
      look(0, log_mixture(partition.plain));
      look(1, plain.log_e(kComponents));
    }
    if (closed.margin) {
      margin.step(*closed.margin);
      look(2, log_mixture(partition.margin));
      look(3, margin.log_e(kMarginComponents));
    }
    if (options.stop_at_alarm && (no_plain || (heard(0) && heard(1))) &&
        (no_margin || (heard(2) && heard(3))))
      break;
  }
  return alarms;
}

AlarmCalibration summary(const std::vector<Alarms>& all, std::size_t process, double change_at) {
  AlarmCalibration result;
  std::vector<double> delays;
  for (const auto& alarms : all) {
    const double at = alarms.at[process];
    ++result.streams;
    result.alarms += at != kNever;
    if (at < change_at) {
      ++result.before_change;
    } else {
      delays.push_back(at - change_at);
    }
  }
  result.rate = static_cast<double>(result.alarms) / static_cast<double>(result.streams);
  result.rate_interval = clopper_pearson(
      {static_cast<std::uint32_t>(result.streams), static_cast<std::uint32_t>(result.alarms)});
  if (delays.empty()) return result;
  std::sort(delays.begin(), delays.end());
  const auto count = static_cast<double>(delays.size());
  const double reach = 0.98 * std::sqrt(count);  // 1.96 standard deviations of a binomial with p = 1/2
  const auto at_rank = [&](double rank) {
    return delays[static_cast<std::size_t>(std::clamp(rank, 0.0, count - 1))];
  };
  const double median = (at_rank(std::floor((count - 1) / 2)) + at_rank(std::ceil((count - 1) / 2))) / 2;
  if (median != kNever) result.median_delay = median;
  const Interval interval{at_rank(std::floor(count / 2 - reach)), at_rank(std::ceil(count / 2 + reach))};
  if (interval.high != kNever) result.median_interval = interval;
  return result;
}

Status check(const CalibrationScenario& scenario, const CalibrationOptions& options) {
  if (options.streams == 0 || options.streams > 10'000'000)
    return refuse("streams must be from 1 to 10000000");
  constexpr std::uint64_t kMostCells = 10'000'000;
  const auto policies = scenario.stream.policies;
  if (policies < 2) return refuse("one policy alone has nothing to differ from; a pool needs two or more");
  if (scenario.stream.prompts > kMostCells / policies) {
    return refuse("a simulated stream may have 10000000 cells (prompts x policies) at most");
  }
  if (!(options.alpha > 0 && options.alpha < 1)) return refuse("alpha must lie between 0 and 1");
  if (!(scenario.responses_per_cell > 0)) return refuse("a stream needs some responses per cell");
  if (!(scenario.change_at >= 0 && scenario.change_at < scenario.responses_per_cell)) {
    return refuse("the change must come before the end of the stream");
  }
  if (!(scenario.stay >= 0 && scenario.stay <= 1))
    return refuse("the probability to stay must be from 0 to 1");
  if (scenario.propensities && scenario.routing == Routing::kBursty)
    return refuse("bursty traffic has no propensities");
  if (scenario.propensities && scenario.routing == Routing::kSimulated &&
      scenario.stream.traffic == SimulatedTraffic::kRounds) {
    return refuse("propensities are known for random and uneven traffic and for win-stay routers only");
  }
  if (options.evidence.block_batches == 0 || options.evidence.block_batches > kMaxBlockRows) {
    return refuse("a block has 1 to 16 batches");
  }
  return {};
}

}  // namespace

Result<Calibration> calibrate(const CalibrationScenario& scenario, const CalibrationOptions& options,
                              Executor& executor) {
  if (auto status = check(scenario, options); !status) return status.error();
  SimulationOptions stream = scenario.stream;
  stream.draws = 0;
  const auto cells = static_cast<double>(stream.prompts * stream.policies);
  stream.effects_from = static_cast<std::uint64_t>(std::ceil(scenario.change_at * cells));
  if (const auto made = Simulation::make(stream); !made) return made.error();
  std::vector<Alarms> all(options.streams);
  executor.run(options.streams, [&](std::size_t i) {
    SimulationOptions own = stream;
    own.seed = CounterRandom(options.seed, kStreamSeed, i)();
    all[i] = run_stream(scenario, options, Simulation::make(own).value(), own.seed);
    if (options.on_stream) options.on_stream();
  });
  Calibration result;
  for (const auto& alarms : all) result.responses += alarms.responses;
  result.plain = summary(all, 0, scenario.change_at);
  result.plain_restart = summary(all, 1, scenario.change_at);
  result.margin = summary(all, 2, scenario.change_at);
  result.margin_restart = summary(all, 3, scenario.change_at);
  return result;
}

}  // namespace gapwatch::stats
