#include "app/evaluator.h"

#include <sys/resource.h>

#include <exception>

#include "base/log.h"

namespace gapwatch::app {

Evaluator::Evaluator(const Clock& clock, std::size_t threads)
    : clock_(clock), threads_(threads), started_(clock.steady_now()), thread_([this] { work(); }) {}

Evaluator::~Evaluator() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

std::optional<std::chrono::steady_clock::duration> Evaluator::due(const state::MonitorMoment& moment,
                                                                       bool idle) const {
  const std::lock_guard lock(mutex_);
  if (busy_ || moment.sums.pool.complete == 0) return std::nullopt;
  const auto last = last_.find(moment.config.name);
  if (last == last_.end()) {
    const bool soon = !idle && clock_.steady_now() - started_ < moment.config.evaluate_every;
    if (soon) return std::nullopt;
    return std::chrono::steady_clock::duration::max();
  }
  const bool other_pool = last->second.pool != moment.pool;
  if (!other_pool && last->second.sums == moment.sums && (!idle || last->second.since_check == 0)) return std::nullopt;
  const auto interval = other_pool ? std::min(moment.config.evaluate_every, std::chrono::milliseconds(1'000))
                                   : moment.config.evaluate_every;
  const auto waited = clock_.steady_now() - (last->second.started + interval);
  if (waited < waited.zero()) return std::nullopt;
  return waited;
}

void Evaluator::deliver(state::MonitorMoment moment, std::shared_ptr<const state::TableSnapshot> snapshot) {
  {
    const std::lock_guard lock(mutex_);
    const auto last = last_.find(moment.config.name);
    const bool check = last == last_.end() || last->second.pool != moment.pool || last->second.sums == moment.sums ||
                       last->second.since_check + 1 >= kCheckEvery;
    const int since_check = check ? 0 : last->second.since_check + 1;
    last_[moment.config.name] = {clock_.steady_now(), moment.sums, moment.pool, since_check};
    job_ = Job{std::move(moment), std::move(snapshot), clock_.now_ms(), check};
    busy_ = true;
  }
  wake_.notify_all();
}

std::optional<Evaluated> Evaluator::result(const std::string& monitor) const {
  const std::lock_guard lock(mutex_);
  const auto at = results_.find(monitor);
  if (at == results_.end()) return std::nullopt;
  return at->second;
}

std::uint64_t Evaluator::finished() const {
  const std::lock_guard lock(mutex_);
  return finished_;
}

void Evaluator::forget() {
  const std::lock_guard lock(mutex_);
  last_.clear();
  results_.clear();
  ++era_;
}

Evaluated Evaluator::evaluated(Job job, const std::optional<Evaluated>& before, Executor& executor) const {
  const auto start = clock_.steady_now();
  const bool check = job.check || !before || before->snapshot->table.policies != job.snapshot->table.policies;
  Evaluated done;
  done.live_nulls = std::make_shared<const stats::NullResults>(live_nulls(*job.snapshot, job.moment, executor));
  done.evaluation = std::make_shared<const stats::Evaluation>(
      evaluate(*job.snapshot, job.moment, executor, check ? nullptr : before->evaluation.get()));
  done.snapshot = std::move(job.snapshot);
  done.prior = {done.evaluation->prior.alpha, done.evaluation->prior.beta};
  done.at = job.at;
  done.checked_at = check ? job.at : before->checked_at;
  done.seconds = std::chrono::duration<double>(clock_.steady_now() - start).count();
  done.moment = std::move(job.moment);
  return done;
}

void Evaluator::work() {
  setpriority(PRIO_PROCESS, 0, 10);  // on Linux: of this thread, and of the workers it starts
  const auto workers = make_thread_executor(threads_);
  StoppableExecutor executor(*workers, stopping_);
  for (;;) {
    Job job;
    std::uint64_t era = 0;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stopping_ || job_; });
      if (stopping_) return;
      job = std::move(*job_);
      job_.reset();
      era = era_;
    }
    Evaluated done;
    try {
      const auto before = result(job.moment.config.name);
      done = evaluated(std::move(job), before, executor);
    } catch (const Stopped&) {
      return;
    } catch (const std::exception& failure) {  // memory, most likely
      log::error(std::string("an evaluation failed, and the monitor's last one stays on show: ") + failure.what() +
                 "; fewer nulls.replicates or thresholds take less memory");
      const std::lock_guard lock(mutex_);
      busy_ = false;
      ++finished_;
      continue;
    }
    const std::lock_guard lock(mutex_);
    if (era == era_) results_[done.moment.config.name] = done;
    busy_ = false;
    ++finished_;
  }
}

}  // namespace gapwatch::app
