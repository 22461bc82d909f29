// A state folder as it was last made durable, for looking into it.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "config/settings.h"
#include "state/ledger.h"
#include "state/store.h"

namespace gapwatch::app {

struct OpenedState {
  config::Settings settings;
  std::unique_ptr<state::Store> store;
  std::unique_ptr<state::Ledger> ledger;  // with all partitions taken on
};

// Takes no lock and changes nothing, so a daemon may hold the folder. The monitors are those of `settings`,
// or one for each eval and scorer. Refuses what is no state folder.
Result<std::unique_ptr<OpenedState>> open_state(const std::string& path, config::Settings settings = {});

}  // namespace gapwatch::app
