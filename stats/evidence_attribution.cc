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

Attributing::Attributing(std::uint32_t columns, EvidenceNull null, std::size_t top)
    : null_(null), top_(top), policies_(columns) {
  for (std::uint32_t column = 0; column < columns; ++column) policies_[column].column = column;
}

void Attributing::add(std::size_t prompt, const PromptEvidence& evidence) {
  const double share = null_ == EvidenceNull::kRedeal ? evidence.plain_nats : evidence.margin_nats;
  for (auto& policy : policies_) {
    const auto cell = attribute_cell(evidence, policy.column, null_);
    policy.nats += cell.nats;
    if (cell.residual == 0) continue;
    auto& list = cell.residual > 0 ? policy.better : policy.worse;
    list.push_back({prompt, cell, share});
    if (list.size() >= 1'000 + 2 * top_) keep_strongest(list, top_);
  }
}

std::vector<PolicyAttribution> Attributing::take() {
  for (auto& policy : policies_) {
    keep_strongest(policy.better, top_);
    keep_strongest(policy.worse, top_);
  }
  return std::move(policies_);
}

std::vector<PolicyAttribution> attribute(std::span<const PromptEvidence* const> prompts,
                                         std::uint32_t columns, EvidenceNull null, std::size_t top) {
  Attributing attributing(columns, null, top);
  for (std::size_t i = 0; i < prompts.size(); ++i) attributing.add(i, *prompts[i]);
  return attributing.take();
}

}  // namespace gapwatch::stats
