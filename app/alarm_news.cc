#include "app/alarm_news.h"

#include <fmt/format.h>

#include "base/log.h"
#include "exporters/evidence_json.h"

namespace gapwatch::app {
namespace {

constexpr std::chrono::milliseconds kLongestWait{300'000};

std::string alarm_id(const std::string& monitor, std::uint64_t alarm) { return fmt::format("{}/{}", monitor, alarm); }

}  // namespace

bool AlarmNews::due(const std::string& monitor) const {
  const auto wait = waits_.find(monitor);
  return wait == waits_.end() || clock_.steady_now() >= wait->second.until;
}

void AlarmNews::finish(state::Ledger& ledger, const PostResult& result) {
  const auto [monitor, alarm] = *under_way_;
  under_way_.reset();
  auto delivery = state::Delivery::kDelivered;
  if (result.outcome == PostOutcome::kTaken) {
    log::info(fmt::format("monitor {}: alarm {} posted; the webhook {}", monitor, alarm, result.detail));
    waits_.erase(monitor);
  } else if (result.outcome == PostOutcome::kUnknown) {
    delivery = state::Delivery::kUnknown;
    log::error(fmt::format("monitor {}: alarm {} was sent to the webhook and no answer came ({}); it is not sent again",
                           monitor, alarm, result.detail));
  } else {
    delivery = state::Delivery::kPending;
    auto& wait = waits_[monitor];
    log::warn(fmt::format("monitor {}: alarm {} could not be posted to the webhook ({}); trying again in {} s", monitor,
                          alarm, result.detail, wait.next.count() / 1000));
    wait.until = clock_.steady_now() + wait.next;
    wait.next = std::min(2 * wait.next, kLongestWait);
  }
  const auto index = ledger.book().find(monitor);
  // A later alarm has news of its own.
  if (index && ledger.book().at(*index).alarms == alarm) ledger.book().set_delivery(*index, delivery);
}

void AlarmNews::follow(state::Ledger& ledger,
                       const std::vector<std::shared_ptr<const exporters::MonitorReport>>& reports,
                       const std::function<Status()>& make_durable) {
  if (under_way_) {
    const auto result = webhook_->result();
    if (!result) return;
    finish(ledger, *result);
  }
  auto& book = ledger.book();
  for (const auto& report : reports) {
    const auto found = book.find(report->name);
    if (!found) continue;
    const auto index = *found;
    const auto& config = ledger.catalog().monitors()[index]->config;
    const auto alarm = book.at(index).alarms;
    if (book.at(index).delivery != state::Delivery::kPending || config.webhook.empty() || !due(config.name)) continue;
    book.set_delivery(index, state::Delivery::kUnderWay);
    if (!make_durable()) {
      book.set_delivery(index, state::Delivery::kPending);
      return;
    }
    if (!webhook_) webhook_ = std::make_unique<Webhook>();
    const auto id = alarm_id(config.name, alarm);
    webhook_->post({config.webhook, exporters::alarm_json(*report, id), id});
    under_way_ = UnderWay{config.name, alarm};
    return;
  }
}

}  // namespace gapwatch::app
