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

// One partition's prompts, whose evidence has columns of its own.
struct PartRows {
  std::vector<const Row*> rows;
  std::vector<const stats::PromptEvidence*> prompts;
};

AttributedCell cell_of(const stats::AttributedPrompt& found, const PartRows& part, std::uint32_t channel_column) {
  const Row& row = *part.rows[found.prompt];
  AttributedCell cell{std::string(row.prompt), found.cell.nats, found.cell.log_odds, found.prompt_nats, 0, 0};
  if (channel_column < row.cells.size()) {
    cell.trials = row.cells[channel_column].trials;
    cell.successes = row.cells[channel_column].successes;
  }
  return cell;
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

std::vector<PolicyEvidenceShare> attribution(std::uint32_t monitor, const MonitorDef& definition,
                                             const std::vector<PlacedRow>& rows, const Catalog& catalog,
                                             std::size_t top) {
  std::map<const Shard*, PartRows> by_shard;
  std::vector<const Shard*> shards;  // in an order that does not depend on addresses
  for (const auto& [row, shard] : rows) {
    const auto* prompt = shard->evidence().prompt(monitor, *row);
    if (prompt == nullptr) continue;
    auto [at, made] = by_shard.try_emplace(shard);
    if (made) shards.push_back(shard);
    at->second.rows.push_back(row);
    at->second.prompts.push_back(prompt);
  }
  std::sort(shards.begin(), shards.end(), [](const Shard* a, const Shard* b) {
    return std::pair(a->topic(), a->partition()) < std::pair(b->topic(), b->partition());
  });
  const auto null = definition.config.evidence.margin == config::MarginBets::kOff ? stats::EvidenceNull::kRedeal
                                                                                  : stats::EvidenceNull::kMargin;
  const auto& names = catalog.at(definition.channel).policies;
  std::map<std::string, PolicyEvidenceShare> shares;
  for (const auto* shard : shards) {
    const auto& part = by_shard.at(shard);
    const auto& columns = shard->evidence().part(monitor)->columns;
    for (const auto& policy : stats::attribute(part.prompts, columns.size(), null, top)) {
      const auto& name = columns.name(policy.column);
      const auto column = names.find(name).value_or(kNoColumn);
      auto& share = shares[name];
      share.policy = name;
      share.nats += policy.nats;
      for (const auto& found : policy.better) share.better.push_back(cell_of(found, part, column));
      for (const auto& found : policy.worse) share.worse.push_back(cell_of(found, part, column));
    }
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
