// Track: a monitor's evidence in one partition, with its prompts. Internal to ShardEvidence.
#pragma once

#include "state/evidence_shard.h"

namespace gapwatch::state {

inline constexpr std::uint32_t kOutside = UINT32_MAX;          // of the pool
inline constexpr std::uint32_t kNotAsked = UINT32_MAX - 1;     // whether the policy is in the pool

struct Slot {
  stats::PromptEvidence evidence;
  std::uint32_t watched = kNoColumn;  // where in MonitorPart::watched
  bool unsaved = false;
  // A response has entered.
  bool any() const { return !evidence.members.empty(); }
};

// A response that entered once and was taken back.
struct Gone {
  std::uint32_t column = 0;
  std::uint64_t sequence = 0;
  template <typename F>
  static void fields(auto& self, F&& f) {
    f(self.column), f(self.sequence);
  }
  friend bool operator==(const Gone&, const Gone&) = default;
};

struct ShardEvidence::Track final : stats::PromptEvidenceSource {
  std::string name;
  std::uint64_t epoch = 0;
  ChannelId channel;
  stats::EvidenceOptions options;
  std::optional<stats::EvidenceEngine> engine;
  MonitorPart part;
  std::deque<Slot> slots;                 // by place
  boost::unordered_flat_map<std::uint32_t, std::vector<Gone>> gone;  // by place
  std::vector<std::uint32_t> unsaved;     // places
  bool part_unsaved = false;

  // The counting thread's own.
  std::vector<std::uint32_t> column_of;   // by channel column
  bool columns_unsaved = false;
  bool seeded = false;                    // a bet with the seed is on its way

  // The engine, once the seed is known (or while nothing that is random can close).
  stats::EvidenceEngine& bets() {
    if (!engine || engine->options().sampling.seed != part.seed) {
      options.sampling.seed = part.seed;
      engine.emplace(options);
    }
    return *engine;
  }
  stats::PromptEvidence& at(stats::PromptKey prompt) override {
    auto& slot = slots[prompt.value];
    if (!slot.unsaved) {
      slot.unsaved = true;
      unsaved.push_back(prompt.value);
    }
    return slot.evidence;
  }
  Slot& slot(std::uint32_t place) {
    if (slots.size() <= place) slots.resize(place + std::size_t{1});
    return slots[place];
  }
  Slot& touch(std::uint32_t place) {
    auto& touched = slot(place);
    part_unsaved = true;
    at({place});
    return touched;
  }
};

}  // namespace gapwatch::state
