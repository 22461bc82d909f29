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

void AlarmNews::finish(state::Ledger& ledger, const PostEnd& end) {
  const auto [monitor, alarm] = under_way_.at(end.key);
  const auto& result = end.result;
  under_way_.erase(end.key);
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
  while (webhook_) {
    const auto end = webhook_->result();
    if (!end) break;
    finish(ledger, *end);
  }
  auto& book = ledger.book();
  std::vector<std::pair<state::MonitorIndex, Post>> posts;
  for (const auto& report : reports) {
    const auto found = book.find(report->name);
    if (!found) continue;
    const auto& config = ledger.catalog().monitors()[*found]->config;
    if (book.at(*found).delivery != state::Delivery::kPending || config.webhook.empty() || !due(config.name)) continue;
    const auto id = alarm_id(config.name, book.at(*found).alarms);
    posts.push_back({*found, {config.webhook, exporters::alarm_json(*report, id), id}});
    under_way_[id] = {config.name, book.at(*found).alarms};
    book.set_delivery(*found, state::Delivery::kUnderWay);
  }
  const bool durable = posts.empty() || make_durable().ok();
  if (!posts.empty() && !webhook_) webhook_ = std::make_unique<Webhook>();
  for (auto& [index, post] : posts) {
    if (durable) {
      webhook_->post(std::move(post));
    } else {
      under_way_.erase(post.key);
      book.set_delivery(index, state::Delivery::kPending);
    }
  }
}

}  // namespace gapwatch::app
