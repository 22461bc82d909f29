// The pool that a command goes by where it is given data: prompts, policies, draws, difficulty, quality.
#pragma once

#include <string>
#include <vector>

#include "base/executor.h"
#include "base/result.h"
#include "config/settings.h"
#include "stats/power_tables.h"

namespace gapwatch::app {

struct PoolInput {
  std::vector<std::string> inputs;  // files of events, or one state folder
  std::string config, input_format;
  std::string monitor;  // needed where the input has several
};

struct FoundPool {
  config::Monitor monitor;
  stats::PowerPool pool;                    // of the complete prompts, at least one
  std::vector<std::uint64_t> prompt_trials;  // of these
};

// Refuses an input that cannot be read, has no such monitor, or nothing complete.
Result<FoundPool> pool_from_input(const PoolInput& input, Executor& executor);

}  // namespace gapwatch::app
