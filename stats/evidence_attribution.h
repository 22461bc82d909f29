// Attribution: which policies the evidence of a monitor comes from, and on which prompts.
//
// What is learned of a policy on a prompt is its residual r, the successes beyond what the null expects given
// the prompt's total (and, for the margin null, the policy's level), and its variance V. To second order the
// log likelihood ratio of a log-odds effect d is r d - V d^2 / 2; with a standard normal prior on d its
// posterior mode is r / (V + 1), and `nats` is the ratio there. That says how strongly this cell speaks, and
// it is not an e-value: it is a description of an alarm, chosen after the fact. A prompt's share of the log
// mixture wealth is kept beside it (PromptEvidence::plain_nats, margin_nats); shares sum to the partition's
// wealth.
//
// Empty: no prompt or policy gives empty lists. Ties go to the earlier prompt.
// Threads: pure. Cost: O(prompts x policies).
// Source: sequential.md, A ("Learning") and B.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stats/evidence.h"

namespace gapwatch::stats {

enum class EvidenceNull { kRedeal, kMargin };

struct CellAttribution {
  double residual = 0, variance = 0;
  double log_odds = 0;  // r / (V + 1)
  double nats = 0;      // >= 0
};
// Zeros where nothing was learned.
CellAttribution attribute_cell(const PromptEvidence& prompt, std::uint32_t column, EvidenceNull null);

struct AttributedPrompt {
  std::size_t prompt = 0;  // as given
  CellAttribution cell;
  double prompt_nats = 0;  // the prompt's share of the wealth, all policies together
};

struct PolicyAttribution {
  std::uint32_t column = 0;
  std::vector<AttributedPrompt> better, worse;  // than the null expects; by nats, descending
  double nats = 0;                              // summed over all prompts
};

// The same, prompt by prompt: memory does not grow with the number of prompts.
class Attributing {
 public:
  Attributing(std::uint32_t columns, EvidenceNull null, std::size_t top);
  // In the order of the prompts' names; `prompt` is what AttributedPrompt calls it, ascending.
  void add(std::size_t prompt, const PromptEvidence& evidence);
  std::vector<PolicyAttribution> take();

 private:
  EvidenceNull null_;
  std::size_t top_;
  std::vector<PolicyAttribution> policies_;
};

// `prompts` in the order of their names; at most `top` entries a list. One entry a column.
std::vector<PolicyAttribution> attribute(std::span<const PromptEvidence* const> prompts,
                                         std::uint32_t columns, EvidenceNull null, std::size_t top);

}  // namespace gapwatch::stats
