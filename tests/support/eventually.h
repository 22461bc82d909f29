// Waiting for what another thread or process does in its own time.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace gapwatch::testing {

// Asks until `done` or two minutes are over.
inline bool eventually(const std::function<bool()>& done) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

}  // namespace gapwatch::testing
