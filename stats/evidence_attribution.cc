#include "stats/evidence_attribution.h"

#include <algorithm>

namespace gapwatch::stats {

namespace {

void keep_strongest(std::vector<AttributedPrompt>& list, std::size_t top) {
  const auto stronger = [](const AttributedPrompt& a, const AttributedPrompt& b) {
    return a.cell.nats != b.cell.nats ? a.cell.nats > b.cell.nats : a.prompt < b.prompt;
  };
  const auto kept = std::min(top, list.size());
  std::partial_sort(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(kept), list.end(), stronger);
  list.resize(kept);
}

}  // namespace

CellAttribution attribute_cell(const PromptEvidence& prompt, std::uint32_t column, EvidenceNull null) {
  if (column >= prompt.members.size()) return {};
  const auto& member = prompt.members[column];
  const Learned& learned = null == EvidenceNull::kRedeal ? member.plain : member.margin;
  CellAttribution cell;
  cell.residual = static_cast<double>(learned.residual);
  cell.variance = static_cast<double>(learned.variance);
  cell.log_odds = cell.residual / (cell.variance + 1);
  cell.nats = cell.residual * cell.log_odds - cell.variance * cell.log_odds * cell.log_odds / 2;
  return cell;
}

std::vector<PolicyAttribution> attribute(std::span<const PromptEvidence* const> prompts,
                                         std::uint32_t columns, EvidenceNull null, std::size_t top) {
  std::vector<PolicyAttribution> policies(columns);
  for (std::uint32_t column = 0; column < columns; ++column) {
    auto& policy = policies[column];
    policy.column = column;
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      const auto cell = attribute_cell(*prompts[i], column, null);
      policy.nats += cell.nats;
      if (cell.residual == 0) continue;
      const double share = null == EvidenceNull::kRedeal ? prompts[i]->plain_nats : prompts[i]->margin_nats;
      (cell.residual > 0 ? policy.better : policy.worse).push_back({i, cell, share});
    }
    keep_strongest(policy.better, top);
    keep_strongest(policy.worse, top);
  }
  return policies;
}

}  // namespace gapwatch::stats
