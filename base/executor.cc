#include "base/executor.h"

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace gapwatch {
namespace {

class ThreadExecutor final : public Executor {
 public:
  explicit ThreadExecutor(std::size_t threads) {
    try {
      for (std::size_t i = 1; i < threads; ++i) workers_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
      // The system has no more threads: those there are do the work.
    }
  }

  ~ThreadExecutor() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (auto& worker : workers_) worker.join();
  }

  void run(std::size_t count, const std::function<void(std::size_t)>& job) override {
    if (count == 1) return job(0);  // nobody else need wake up
    {
      const std::lock_guard lock(mutex_);
      job_ = &job;
      count_ = count;
      next_ = 0;
      ++round_;
      busy_ = workers_.size();
    }
    wake_.notify_all();
    drain();
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [this] { return busy_ == 0; });
    job_ = nullptr;
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

  std::size_t threads() const override { return workers_.size() + 1; }

 private:
  void drain() {
    try {
      for (std::size_t i = next_++; i < count_; i = next_++) (*job_)(i);
    } catch (...) {
      next_ = count_;
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
  }

  void work() {
    std::size_t seen = 0;
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return stopping_ || round_ != seen; });
        if (stopping_) return;
        seen = round_;
      }
      drain();
      const std::lock_guard lock(mutex_);
      if (--busy_ == 0) idle_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, idle_;
  std::vector<std::thread> workers_;
  const std::function<void(std::size_t)>* job_ = nullptr;
  std::size_t count_ = 0, round_ = 0, busy_ = 0;
  std::atomic<std::size_t> next_{0};
  std::exception_ptr failure_;  // the first of a round
  bool stopping_ = false;
};

}  // namespace

std::unique_ptr<Executor> make_thread_executor(std::size_t threads) {
  if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
  return std::make_unique<ThreadExecutor>(threads);
}

}  // namespace gapwatch
