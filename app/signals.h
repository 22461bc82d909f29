// Signals as something to wait for.
//
// block_signals() is called first thing in main's thread, before any other thread starts, so that no
// thread is interrupted and wait_for_signal() sees them all.
#pragma once

#include <chrono>
#include <optional>

namespace gapwatch::app {

// SIGINT, SIGTERM and SIGHUP wait to be asked for; SIGPIPE is ignored.
void block_signals();

// The next of these signals, or nothing when `wait` is over.
std::optional<int> wait_for_signal(std::chrono::milliseconds wait);

}  // namespace gapwatch::app
