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
  std::uint32_t bytes = 0;  // as last looked at
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
  explicit Track(ShardEvidence& whose) : owner(whose) {}

  ShardEvidence& owner;
  std::string name;
  std::uint64_t epoch = 0;
  ChannelId channel;
  stats::EvidenceOptions options;
  std::optional<stats::EvidenceEngine> engine;
  MonitorPart part;
  std::vector<std::unique_ptr<Slot>> slots;  // by place; null: nothing, or in the store alone
  std::vector<bool> in_store;             // by place: let go of
  std::uint32_t slots_in_store = 0;
  std::vector<std::string_view> names;    // of prompts, by place: the shard's memory
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
  void name_prompt(std::uint32_t place, std::string_view prompt) {
    if (names.size() <= place) names.resize(place + std::size_t{1});
    names[place] = prompt;
  }
  std::string_view name_of(stats::PromptKey prompt) const { return names[prompt.value]; }
  stats::PromptEvidence& at(stats::PromptKey prompt) override {
    auto& slot = this->slot(prompt.value);
    if (!slot.unsaved) {
      slot.unsaved = true;
      unsaved.push_back(prompt.value);
    }
    return slot.evidence;
  }
  Slot& slot(std::uint32_t place) {
    if (slots.size() <= place) slots.resize(place + std::size_t{1});
    if (slots[place] == nullptr) {
      slots[place] = std::make_unique<Slot>();
      if (place < in_store.size() && in_store[place]) owner.read_back(*this, place);
    }
    return *slots[place];
  }
  // Null where there is nothing, or it is in the store alone.
  const Slot* look(std::uint32_t place) const { return place < slots.size() ? slots[place].get() : nullptr; }
  bool stored_only(std::uint32_t place) const { return place < in_store.size() && in_store[place]; }
  void let_go(std::uint32_t place) {
    if (in_store.size() <= place) in_store.resize(place + std::size_t{1});
    in_store[place] = true;
    ++slots_in_store;
    slots[place].reset();
    gone.erase(place);
  }
  Slot& touch(std::uint32_t place) {
    auto& touched = slot(place);
    part_unsaved = true;
    at({place});
    return touched;
  }
};

}  // namespace gapwatch::state
