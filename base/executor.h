// Work split over threads, in a way that cannot change its result.
//
// Pure code takes an Executor and calls run(count, job): job(0..count-1) are independent, write
// only their own output, and are combined by the caller in index order. So the same numbers come
// out for any number of threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>

namespace gapwatch {

class Executor {
 public:
  virtual ~Executor() = default;
  // Runs job(i) for every i in [0, count), in any order, and returns when all are done. Where one throws, not all
  // of the others run, and the first exception comes out of run().
  virtual void run(std::size_t count, const std::function<void(std::size_t)>& job) = 0;
  virtual std::size_t threads() const = 0;
};

// In the calling thread, in order.
class InlineExecutor final : public Executor {
 public:
  void run(std::size_t count, const std::function<void(std::size_t)>& job) override {
    for (std::size_t i = 0; i < count; ++i) job(i);
  }
  std::size_t threads() const override { return 1; }
};

// Thrown out of run() by an executor that was told to stop; whoever told it catches it.
struct Stopped {};

// Runs nothing more once `stopping` is set: run() then throws Stopped.
class StoppableExecutor final : public Executor {
 public:
  StoppableExecutor(Executor& inner, const std::atomic<bool>& stopping) : inner_(inner), stopping_(stopping) {}
  void run(std::size_t count, const std::function<void(std::size_t)>& job) override {
    inner_.run(count, [&](std::size_t i) {
      if (!stopping_) job(i);
    });
    if (stopping_) throw Stopped{};
  }
  std::size_t threads() const override { return inner_.threads(); }

 private:
  Executor& inner_;
  const std::atomic<bool>& stopping_;
};

// At most `threads` at work, the caller among them; fewer where the system gives no more; 0: one per core. run() may be called
// by one thread at a time.
std::unique_ptr<Executor> make_thread_executor(std::size_t threads);

}  // namespace gapwatch
