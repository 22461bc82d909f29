// Calibration of the alarm by simulation: how often it is false, and how soon it comes.
//
// Many independent streams of a scenario go through the evidence engine, one partition each, and are looked
// at after every closed e-value. Reported for each null, with and without restarts: the share of streams that
// ever alarmed (e >= 1/alpha) with its exact binomial interval, and the median number of responses per cell
// until the alarm, with the interval that its order statistics give. On streams where the null holds the
// share is the false-alarm rate under continuous looking.
//
// All from (seed, stream): the same numbers on any number of threads.
// Threads: pure; streams are split over `executor`. Cost: about 1 us a response.
// Source: sequential.md, "Type I" and "Time to detection".
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>

#include "base/executor.h"
#include "base/result.h"
#include "stats/evidence.h"
#include "stats/rates.h"
#include "stats/simulate.h"

namespace gapwatch::stats {

// Who decides which policy answers next.
enum class Routing {
  kSimulated,  // as the stream's traffic says, without regard to outcomes
  kBursty,     // runs of up to 40 responses on one prompt, mostly of one policy
  kWinStay,    // after a success on a prompt stay with that policy with probability `stay`, else at random
  kWinStayPerBatch,  // the same, but on every prompt each eight responses begin anew with the first policy
};

struct CalibrationScenario {
  SimulationOptions stream;  // `draws` is ignored; its seed is replaced by the stream's own
  // Half of the policies (rounded down) this much better than the others, on the logit scale.
  double group_shift = 0;
  Routing routing = Routing::kSimulated;
  double stay = 1;                 // of the win-stay routers, in [0, 1]
  bool propensities = false;       // the routing probabilities are logged
  double responses_per_cell = 64;  // length of a stream
  // The stream's effects set in after this many responses per cell; before, its effects_before hold.
  double change_at = 0;
};

struct CalibrationOptions {
  std::uint64_t streams = 200;
  std::uint64_t seed = 1;
  double alpha = 0.05;
  EvidenceOptions evidence;
  // End a stream once every process watched has alarmed. Does not change any number.
  bool stop_at_alarm = true;
  std::function<void()> on_stream;  // called after each stream, from any thread; may be empty
};

struct AlarmCalibration {
  std::uint64_t streams = 0, alarms = 0;
  std::uint64_t before_change = 0;  // of the alarms
  double rate = 0;                  // alarms / streams
  Interval rate_interval;           // Clopper-Pearson, 95%
  // Responses per cell from the change to the alarm, over streams without an alarm before the change; absent:
  // half of these or more never alarmed.
  std::optional<double> median_delay;
  std::optional<Interval> median_interval;  // 95%; absent likewise where its upper end was not reached
};

// By process.
struct Calibration {
  AlarmCalibration plain, plain_restart, margin, margin_restart;
  std::uint64_t responses = 0;  // simulated in all
};

// Refuses a scenario that makes no sense, or of more than 10 million cells.
Result<Calibration> calibrate(const CalibrationScenario& scenario, const CalibrationOptions& options,
                              Executor& executor);

}  // namespace gapwatch::stats
