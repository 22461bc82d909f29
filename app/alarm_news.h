// AlarmNews: sends every alarm to its monitor's webhook, once.
//
// How far an alarm's news has come is kept with the counts (state::Delivery). That it is being sent is made
// durable before the first byte goes, so that after a crash it is never sent a second time; what a receiver
// refused, or could not be asked, is tried again, after 1 s, then twice as long each time up to 5 minutes.
//
// Threads: the counting thread's. Nothing here waits for the network.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/webhook.h"
#include "base/clock.h"
#include "exporters/report_model.h"
#include "state/ledger.h"

namespace gapwatch::app {

class AlarmNews {
 public:
  explicit AlarmNews(const Clock& clock) : clock_(clock) {}

  // Takes up what ended, and begins what is due. `reports` of the monitors that are shown, in any order;
  // `make_durable` writes a checkpoint.
  void follow(state::Ledger& ledger, const std::vector<std::shared_ptr<const exporters::MonitorReport>>& reports,
              const std::function<Status()>& make_durable);

 private:
  struct UnderWay {
    std::string monitor;
    std::uint64_t alarm = 0;
  };
  struct Wait {
    std::chrono::steady_clock::time_point until{};
    std::chrono::milliseconds next{1'000};
  };
  void finish(state::Ledger& ledger, const PostEnd& end);
  bool due(const std::string& monitor) const;

  const Clock& clock_;
  std::unique_ptr<Webhook> webhook_;  // made with the first message
  std::map<std::string, UnderWay> under_way_;  // by the message's key
  std::map<std::string, Wait> waits_;  // by monitor
};

}  // namespace gapwatch::app
