// Streams for evidence tests, and everything that a ledger holds of evidence, to compare to the bit.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/random.h"
#include "state/ledger.h"
#include "tests/support/events.h"

namespace gapwatch::testing {

// Stored form of all evidence: the partitions' and the monitors'.
inline std::map<std::string, std::string> evidence_bytes(state::Ledger& ledger) {
  std::map<std::string, std::string> bytes;
  for (const auto& [place, shard] : ledger.shards()) {
    state::WriteBatch batch;
    shard->evidence().collect_all(batch);
    for (const auto& entry : batch.entries) bytes[entry.key] = *entry.value;
  }
  for (state::MonitorIndex m = 0; m < ledger.monitor_count(); ++m) {
    bytes["monitor " + std::to_string(m)] = state::encode_monitor_evidence(ledger.book().at(m));
  }
  return bytes;
}

// Names the entries that differ, not their bytes.
inline std::string difference(const std::map<std::string, std::string>& a, const std::map<std::string, std::string>& b) {
  std::string out;
  for (const auto& [key, value] : a) {
    const auto other = b.find(key);
    if (other == b.end() || other->second != value) out += "\"" + log::printable(key) + "\" ";
  }
  for (const auto& [key, value] : b) {
    if (!a.contains(key)) out += "\"" + log::printable(key) + "\" is missing ";
  }
  return out;
}

// Responses of a pool on prompts; `specialists`: on a third of the prompts one policy is far better.
struct PoolStream {
  std::uint64_t seed = 1;
  std::uint32_t prompts = 40, policies = 4;
  bool specialists = false;

  state::Event event(std::uint64_t number) const {
    FastRandom random(seed, 1, number);
    state::Event event;
    event.eval = "eval";
    event.scorer = "scorer";
    const auto prompt = random() % prompts, policy = random() % policies;
    event.prompt = name("prompt-", prompt);
    event.policy = name("policy-", policy);
    double rate = 0.2 + 0.6 * static_cast<double>(prompt) / prompts;
    if (specialists && prompt % 3 == 0) rate = prompt / 3 % policies == policy ? 0.95 : 0.1;
    event.outcome = static_cast<double>(random() % 1'000'000) < rate * 1'000'000 ? state::Outcome::kSuccess
                                                                                 : state::Outcome::kFailure;
    event.draw = number;
    return event;
  }

 private:
  static std::string_view name(const char* kind, std::uint64_t number) {
    static std::map<std::string, std::string> names;
    const auto text = kind + std::to_string(number);
    return names.try_emplace(text, text).first->second;
  }
};

}  // namespace gapwatch::testing
