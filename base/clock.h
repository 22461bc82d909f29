// Time as a seam: the system's, or one a test moves by hand.
#pragma once

#include <atomic>
#include <chrono>

#include "base/ids.h"

namespace gapwatch {

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimeMs now_ms() const = 0;                                    // wall clock, Unix epoch
  virtual std::chrono::steady_clock::time_point steady_now() const = 0;  // never goes back
};

class SystemClock final : public Clock {
 public:
  TimeMs now_ms() const override {
    using namespace std::chrono;
    return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
  }
  std::chrono::steady_clock::time_point steady_now() const override { return std::chrono::steady_clock::now(); }
};

class ManualClock final : public Clock {
 public:
  explicit ManualClock(TimeMs start) : now_ms_(start) {}
  void advance(std::chrono::milliseconds by) { now_ms_ += by.count(); }
  TimeMs now_ms() const override { return now_ms_; }
  std::chrono::steady_clock::time_point steady_now() const override {
    return std::chrono::steady_clock::time_point(std::chrono::milliseconds(now_ms_.load()));
  }

 private:
  std::atomic<TimeMs> now_ms_;
};

}  // namespace gapwatch
