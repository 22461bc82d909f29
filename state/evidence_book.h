// EvidenceBook: of every monitor, what its evidence comes to and where its alarm stands.
//
// A partition's evidence is its shard's (evidence_shard.h). The restarting process that the alarm looks at is
// the monitor's: it steps on every closed e-value of the partitions held, in processing order. The book is
// written in the same batch as the shards, so it always fits their offsets.
//
// Evidence belongs to a question: eval, scorer, slice, pool as configured, evidence settings. It covers every
// identified or anonymous draw of the pool's policies on prompts of the slice that was counted since the
// question was first asked, or since the last acknowledged alarm; windows, thresholds and pre-counted trials do
// not touch it. A monitor with another question begins anew, and says so in the log: its epoch grows,
// and what was stored under an older epoch counts no more. A pool of all policies may grow: its evidence goes on.
//
// The alarm: raised once the evidence against the margin null has reached its level under the family rule
// (stats/evidence_family.h) and enough prompts are complete; it stands until it is acknowledged, which resets
// both processes to 0. States are those of interfaces.md.
//
// Threads: owned by the ledger's thread; step() is the bet line's (bet_line.h), which is drained before any other call.
// Cost of a step: docs/EVIDENCE.md.
// Source: sequential.md, "Restarts" and "Several partitions"; interfaces.md.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "config/settings.h"
#include "state/alarm.h"
#include "state/catalog.h"
#include "state/store.h"
#include "stats/evidence.h"

namespace gapwatch::state {

// Evidence against one null since the last reset.
struct NullEvidence {
  stats::Restart restart;
  bool reached = false;   // the alarm's level, under the family rule
  TimeMs reached_at = 0;  // time of the event that did it; 0: not yet, or the event has none
};

struct MonitorEvidence {
  std::string question;
  std::uint64_t epoch = 0;
  NullEvidence redeal, margin;
  AlarmState state = AlarmState::kCollecting;
  bool acknowledged = false;            // an alarm was, and none was raised since
  std::uint64_t alarms = 0;             // raised since the monitor began, over all epochs
  Delivery delivery = Delivery::kNone;  // of the last of them
  std::vector<AlarmChange> changes;     // the latest, oldest first
};

// What an alarm's state depends on besides the evidence.
struct AlarmFacts {
  std::uint64_t complete = 0;  // prompts
  bool enough = false;         // of them, with enough trials
  bool stale = false;
  bool has_webhook = false;
  TimeMs now = 0;
};

class EvidenceBook {
 public:
  EvidenceBook(const Catalog& catalog, const config::Settings& settings) : catalog_(catalog), settings_(settings) {}

  // Reads what is stored of all monitors. Call once, before any partition is taken.
  Status load(Store& store);

  const MonitorEvidence& at(MonitorIndex monitor) { return entry(monitor).evidence; }
  // The same without beginning one: null where there is none yet.
  const MonitorEvidence* known(MonitorIndex monitor) const {
    return monitor < entries_.size() ? &entries_[monitor].evidence : nullptr;
  }
  // The monitor of this name; nothing where there is none.
  std::optional<MonitorIndex> find(std::string_view name) const;
  // The catalog's monitors are others now.
  void monitors_replaced();

  // What the monitor's evidence rests on is erased: it begins anew, its alarms and changes are kept.
  void begin_anew(MonitorIndex monitor);

  // How many monitors share the level of their alarms under the family rule.
  std::size_t sharing() const;

  // What a response closed, and the time of its event (0: none). at() has been asked before.
  void step(MonitorIndex monitor, const stats::ClosedEvidence& closed, TimeMs time);

  // Moves the monitor's state on; the change, where there is one.
  std::optional<AlarmChange> settle(MonitorIndex monitor, const AlarmFacts& facts);
  // Ends a standing alarm; nothing where none stands.
  std::optional<AlarmChange> acknowledge(MonitorIndex monitor, TimeMs now);
  void set_delivery(MonitorIndex monitor, Delivery delivery);

  bool unsaved() const;
  void collect(WriteBatch& batch) const;
  void saved();
  // Records counted since the last save are lost and will be read again: back to what is durable.
  void roll_back();

 private:
  struct Entry {
    std::string name;
    MonitorEvidence evidence;
    NullEvidence durable_redeal, durable_margin;
    double redeal_log_e = 0, margin_log_e = 0;  // of the restarting processes
    bool unsaved = false;
    // The definition's, for step(), which must not look at a catalog that may grow meanwhile.
    bool enabled = false;
    double level = 0;  // the log e that an alarm needs
  };
  Entry& entry(MonitorIndex monitor);
  Entry begin(const MonitorDef& monitor);
  void judge(NullEvidence MonitorEvidence::*null, double Entry::*log_e, TimeMs time);
  std::vector<double> family_log_e(double Entry::*log_e) const;
  AlarmChange change_state(Entry& entry, AlarmState to, std::uint64_t complete, TimeMs now);

  const Catalog& catalog_;
  const config::Settings& settings_;
  std::vector<Entry> entries_;                        // by monitor
  std::map<std::string, Entry, std::less<>> absent_;  // stored, and no monitor of this name is there (yet)
};

// What a monitor asks, as far as its evidence goes.
std::string evidence_question(const MonitorDef& monitor, const Channel& channel);

std::string encode_monitor_evidence(const MonitorEvidence& evidence);
Result<MonitorEvidence> decode_monitor_evidence(std::string_view bytes);

}  // namespace gapwatch::state
