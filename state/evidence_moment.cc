#include "state/evidence_moment.h"

#include <algorithm>
#include <map>

#include "state/shard.h"
#include "stats/evidence_attribution.h"

namespace gapwatch::state {
namespace {

NullMoment null_moment(const NullEvidence& null, std::size_t components, double wealth, std::uint64_t closed) {
  return {null.restart.log_e(components), null.restart.log_peak, null.restart.p_anytime(), wealth,
          null.reached,                   null.reached_at,       closed};
}

Result<AttributedCell> cell_of(const stats::AttributedPrompt& found, const Shard& shard,
                               const std::vector<const Row*>& rows, std::uint32_t channel_column) {
  const Row& row = *rows[found.prompt];
  auto count = shard.count_of(row, channel_column);
  if (!count) return count.error();
  return AttributedCell{std::string(row.prompt), found.cell.nats, found.cell.log_odds, found.prompt_nats,
                        count->trials,           count->successes};
}

void keep_top(std::vector<AttributedCell>& cells, std::size_t top) {
  std::stable_sort(cells.begin(), cells.end(), [](const AttributedCell& a, const AttributedCell& b) {
    return a.nats != b.nats ? a.nats > b.nats : a.prompt < b.prompt;
  });
  if (cells.size() > top) cells.resize(top);
}

}  // namespace

EvidenceMoment evidence_moment(const MonitorEvidence& monitor, const std::vector<const MonitorPart*>& parts) {
  stats::EvidenceTotal total;
  stats::StaySum stay;
  for (const auto* part : parts) {
    total.add(part->evidence);
    for (const auto& prompt : part->watched) stay.add(prompt);
  }
  EvidenceMoment moment;
  moment.redeal = null_moment(monitor.redeal, stats::kComponents, total.plain_log_e(), total.counts.plain_closed());
  moment.margin =
      null_moment(monitor.margin, stats::kMarginComponents, total.margin_log_e(), total.counts.margin_closed());
  moment.counts = total.counts;
  moment.stay_z = stay.z();
  moment.state = monitor.state;
  moment.epoch = monitor.epoch;
  moment.alarms = monitor.alarms;
  moment.delivery = monitor.delivery;
  moment.changes = monitor.changes;
  return moment;
}

namespace {

using Shares = std::map<std::string, PolicyEvidenceShare>;  // by policy

// One partition's, whose evidence has columns of its own.
Status add_shares(Shares& shares, std::uint32_t monitor, stats::EvidenceNull null, const Shard& shard,
                  const std::vector<const Row*>& rows, const NameTable& channel_columns, std::size_t top) {
  const auto* part = shard.evidence().part(monitor);
  if (part == nullptr) return {};
  stats::Attributing attributing(part->columns.size(), null, top);
  auto status = shard.evidence().for_each_prompt(
      monitor, rows, [&](std::size_t at, const stats::PromptEvidence& prompt) { attributing.add(at, prompt); });
  if (!status) return status;
  for (const auto& policy : attributing.take()) {
    const auto& name = part->columns.name(policy.column);
    const auto column = channel_columns.find(name).value_or(kNoColumn);
    auto& share = shares[name];
    share.policy = name;
    share.nats += policy.nats;
    for (const auto& [list, into] : {std::pair(&policy.better, &share.better), std::pair(&policy.worse, &share.worse)}) {
      for (const auto& found : *list) {
        auto cell = cell_of(found, shard, rows, column);
        if (!cell) return cell.error();
        into->push_back(std::move(*cell));
      }
    }
  }
  return {};
}

}  // namespace

Result<std::vector<PolicyEvidenceShare>> attribution(std::uint32_t monitor, const MonitorDef& definition,
                                                     const std::vector<PlacedRow>& rows, const Catalog& catalog,
                                                     std::size_t top) {
  // In an order that does not depend on addresses.
  std::map<std::pair<std::string, std::int32_t>, std::pair<const Shard*, std::vector<const Row*>>> by_shard;
  for (const auto& [row, shard] : rows) {
    auto& part = by_shard[{shard->topic(), shard->partition()}];
    part.first = shard;
    part.second.push_back(row);
  }
  const auto null = definition.config.evidence.margin == config::MarginBets::kOff ? stats::EvidenceNull::kRedeal
                                                                                  : stats::EvidenceNull::kMargin;
  Shares shares;
  for (const auto& [place, part] : by_shard) {
    auto status = add_shares(shares, monitor, null, *part.first, part.second, catalog.at(definition.channel).policies, top);
    if (!status) return status.error();
  }
  std::vector<PolicyEvidenceShare> all;
  for (auto& [name, share] : shares) {
    keep_top(share.better, top);
    keep_top(share.worse, top);
    all.push_back(std::move(share));
  }
  return all;
}

}  // namespace gapwatch::state
