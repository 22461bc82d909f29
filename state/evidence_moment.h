// What a monitor's evidence comes to at one moment, over all partitions held: plain values for reports.
//
// Threads: made on the ledger's thread, then shared freely.
// Cost: evidence_moment a few sums a partition; attribution O(prompts x policies).
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "state/alarm.h"
#include "stats/evidence.h"
#include "stats/win_stay.h"

namespace gapwatch::state {

class Catalog;
class Shard;
struct MonitorDef;
struct MonitorEvidence;
struct MonitorPart;
struct Row;

// Against one null, since the last reset.
struct NullMoment {
  double log_e = 0;          // of the restarting process, nats
  double log_peak = 0;       // its highest
  double p_anytime = 1;      // min(1, 1 / highest)
  double wealth = 0;         // log e without restarts or resets, since the question was first asked
  bool reached = false;      // the alarm's level
  TimeMs reached_at = 0;     // event time; 0: not known
  std::uint64_t closed = 0;  // e-values, since the question was first asked
};

struct EvidenceMoment {
  NullMoment redeal, margin;
  stats::EvidenceCounts counts;
  std::optional<double> stay_z;  // of the traffic (stats/win_stay.h)
  bool margin_on = true;         // it is bet on
  AlarmState state = AlarmState::kCollecting;
  std::uint64_t epoch = 0, alarms = 0;
  Delivery delivery = Delivery::kNone;
  std::vector<AlarmChange> changes;
  bool looks_at_outcomes() const { return stay_z && std::abs(*stay_z) > stats::kStayLimit; }
};

EvidenceMoment evidence_moment(const MonitorEvidence& monitor, const std::vector<const MonitorPart*>& parts);

// One policy on one prompt, and how strongly that speaks. A description, not an e-value (stats/evidence_attribution.h).
struct AttributedCell {
  std::string prompt;
  double nats = 0, log_odds = 0;
  double prompt_nats = 0;  // the prompt's share of the wealth, all policies together
  std::uint32_t trials = 0, successes = 0;
};
// Cells that an attribution names for each policy, each way.
inline constexpr std::size_t kAttributedCells = 20;

struct PolicyEvidenceShare {
  std::string policy;
  double nats = 0;
  std::vector<AttributedCell> better, worse;  // than the null expects; the strongest first, ties by prompt
};

struct PlacedRow {
  const Row* row = nullptr;
  const Shard* shard = nullptr;
};
// `rows` in the order of their prompts' names. By policy name; at most `top` cells a list. Empty where there is no
// evidence. Against the margin null, or where that is not bet on, the re-deal null.
Result<std::vector<PolicyEvidenceShare>> attribution(std::uint32_t monitor, const MonitorDef& definition,
                                                     const std::vector<PlacedRow>& rows, const Catalog& catalog,
                                                     std::size_t top);

}  // namespace gapwatch::state
