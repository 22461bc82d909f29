#include "app/signals.h"

#include <csignal>
#include <ctime>

namespace gapwatch::app {
namespace {

sigset_t our_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
  return set;
}

}  // namespace

void block_signals() {
  const auto set = our_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

std::optional<int> wait_for_signal(std::chrono::milliseconds wait) {
  const auto set = our_signals();
  const timespec timeout{wait.count() / 1'000, (wait.count() % 1'000) * 1'000'000};
  const int signal = sigtimedwait(&set, nullptr, &timeout);
  if (signal < 0) return std::nullopt;
  return signal;
}

}  // namespace gapwatch::app
