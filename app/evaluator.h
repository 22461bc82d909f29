// Evaluator: runs the slow part of every monitor on a schedule, on snapshots, beside the stream.
//
// Every evaluation has the null laws by the normal approximation. They are sampled, as the check on it and as
// `gapwatch report` does, every kCheckEvery evaluations, and once the stream rests.
//
// Between batches the counting thread asks due() of every monitor and, where it is, hands over a copy
// of the table with deliver(). Results are read by any thread.
//
// Threads: a thread of its own, and workers, all of lower priority than counting. due() and deliver() are the counting thread's.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "app/reporting.h"
#include "base/clock.h"
#include "base/executor.h"

namespace gapwatch::app {

inline constexpr int kCheckEvery = 10;

struct Evaluated {
  std::shared_ptr<const state::TableSnapshot> snapshot;
  std::shared_ptr<const stats::Evaluation> evaluation;
  state::MonitorMoment moment;  // what was evaluated
  std::shared_ptr<const stats::NullResults> live_nulls;
  stats::BetaPrior prior;
  TimeMs at = 0;          // when the snapshot was taken
  TimeMs checked_at = 0;  // when the one was taken that the evaluation's nulls are of
  double seconds = 0;   // how long it took
};

class Evaluator {
 public:
  Evaluator(const Clock& clock, std::size_t threads);
  ~Evaluator();

  // For how long this monitor's table has been wanted; nothing where it is not: something is under way, its
  // interval has not passed, or nothing changed since its last evaluation. A changed pool does not wait; the
  // first evaluation waits for the stream to be `idle`, an interval at most, so that a backlog is not
  // evaluated on its way. While nothing changes, the check on what was evaluated is wanted.
  std::optional<std::chrono::steady_clock::duration> due(const state::MonitorMoment& moment, bool idle) const;
  void deliver(state::MonitorMoment moment, std::shared_ptr<const state::TableSnapshot> snapshot);

  // The latest of a monitor; nothing before its first.
  std::optional<Evaluated> result(const std::string& monitor) const;
  // Counts finished evaluations.
  std::uint64_t finished() const;
  // Forgets every result, and the one under way: the monitors are others now.
  void forget();

 private:
  struct Job {
    state::MonitorMoment moment;
    std::shared_ptr<const state::TableSnapshot> snapshot;
    TimeMs at = 0;
    bool check = true;
  };
  struct Last {
    std::chrono::steady_clock::time_point started;
    state::MonitorSums sums;
    std::vector<std::string> pool;
    int since_check = 0;  // evaluations
  };
  void work();
  Evaluated evaluated(Job job, const std::optional<Evaluated>& before, Executor& executor) const;

  const Clock& clock_;
  const std::size_t threads_;
  const std::chrono::steady_clock::time_point started_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::optional<Job> job_;
  bool busy_ = false;
  std::atomic<bool> stopping_{false};
  std::uint64_t finished_ = 0, era_ = 0;  // forget() begins an era
  std::map<std::string, Last> last_;
  std::map<std::string, Evaluated> results_;
  std::thread thread_;
};

}  // namespace gapwatch::app
