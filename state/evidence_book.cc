#include "state/evidence_book.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/log.h"
#include "state/evidence_bytes.h"
#include "state/keys.h"
#include "stats/evidence_family.h"

namespace gapwatch::state {
namespace {

void read_log_e(const MonitorEvidence& evidence, double& redeal, double& margin) {
  redeal = evidence.redeal.restart.log_e(stats::kComponents);
  margin = evidence.margin.restart.log_e(stats::kMarginComponents);
}

// Nobody asks this any more: whoever asks it again begins anew.
void retire(MonitorEvidence& evidence) {
  MonitorEvidence empty;
  empty.epoch = evidence.epoch + 1;
  empty.alarms = evidence.alarms;
  empty.changes = std::move(evidence.changes);
  evidence = std::move(empty);
}

}  // namespace

std::string_view alarm_state_name(AlarmState state) {
  constexpr std::string_view kNames[] = {"collecting", "insufficient", "quiet", "evidence", "acknowledged", "stale"};
  return kNames[static_cast<std::size_t>(state)];
}

std::string evidence_question(const MonitorDef& monitor, const Channel& channel) {
  const auto& evidence = monitor.config.evidence;
  const auto text = [](const std::string& name) { return fmt::format(" {}:{}", name.size(), name); };
  std::string question = fmt::format("bets {} horizon {}", evidence.enabled ? static_cast<int>(evidence.margin) : -1,
                                     evidence.horizon);
  question += text(channel.eval_name) + text(channel.scorer);
  if (monitor.config.slice) question += " slice" + text(*monitor.config.slice);
  if (monitor.automatic) return question + " auto";
  for (const auto& policy : monitor.pool) question += text(policy);
  return question;
}

Status EvidenceBook::load(Store& store) {
  return store.scan(monitor_key(""), [&](std::string_view key, std::string_view value) -> Status {
    Entry entry;
    entry.name = key.substr(1);
    auto evidence = decode_monitor_evidence(value);
    if (!evidence) {
      return refuse("evidence of monitor \"" + log::printable(entry.name) + "\": " + evidence.error().message +
                    "; restore a backup, or move the state folder away to count the stream afresh");
    }
    entry.evidence = std::move(*evidence);
    entry.durable_redeal = entry.evidence.redeal;
    entry.durable_margin = entry.evidence.margin;
    if (entry.evidence.delivery == Delivery::kUnderWay) {
      log::warn("monitor " + log::printable(entry.name) + ": gapwatch ended while an alarm was being posted; whether it "
                "arrived is not known, and it is not posted again");
      entry.evidence.delivery = Delivery::kUnknown;
      entry.unsaved = true;
    }
    const auto& asked = settings_.monitors;
    const bool dropped = !asked.empty() && std::none_of(asked.begin(), asked.end(), [&](const auto& monitor) {
      return monitor.name == entry.name;
    });
    if (dropped && !entry.evidence.question.empty()) {
      retire(entry.evidence);
      entry.unsaved = true;
    }
    auto name = entry.name;
    absent_.insert_or_assign(std::move(name), std::move(entry));
    return {};
  });
}

EvidenceBook::Entry EvidenceBook::begin(const MonitorDef& monitor) {
  Entry entry;
  entry.name = monitor.config.name;
  auto question = evidence_question(monitor, catalog_.at(monitor.channel));
  const auto known = absent_.find(entry.name);
  if (known != absent_.end()) {
    entry = std::move(known->second);
    absent_.erase(known);
  }
  if (entry.evidence.question != question) {
    if (!entry.evidence.question.empty()) {
      log::warn("monitor " + entry.name + ": it asks something else than before, so its evidence starts anew");
    }
    retire(entry.evidence);
    entry.evidence.question = std::move(question);
    entry.unsaved = true;
    entry.durable_redeal = entry.durable_margin = {};
  }
  read_log_e(entry.evidence, entry.redeal_log_e, entry.margin_log_e);
  entry.enabled = monitor.config.evidence.enabled;
  entry.level = -std::log(monitor.config.alpha);
  return entry;
}

EvidenceBook::Entry& EvidenceBook::entry(MonitorIndex monitor) {
  while (entries_.size() <= monitor) entries_.push_back(begin(*catalog_.monitors()[entries_.size()]));
  return entries_[monitor];
}

std::optional<MonitorIndex> EvidenceBook::find(std::string_view name) const {
  const auto& monitors = catalog_.monitors();
  for (MonitorIndex index = 0; index < monitors.size(); ++index) {
    if (monitors[index]->config.name == name) return index;
  }
  return std::nullopt;
}

void EvidenceBook::begin_anew(MonitorIndex monitor) {
  auto& entry = this->entry(monitor);
  auto question = entry.evidence.question;
  retire(entry.evidence);
  entry.evidence.question = std::move(question);
  entry.durable_redeal = entry.durable_margin = {};
  entry.unsaved = true;
  read_log_e(entry.evidence, entry.redeal_log_e, entry.margin_log_e);
}

std::size_t EvidenceBook::sharing() const {
  const auto& monitors = catalog_.monitors();
  return static_cast<std::size_t>(std::count_if(monitors.begin(), monitors.end(),
                                                [](const auto& monitor) { return monitor->config.evidence.enabled; }));
}

void EvidenceBook::monitors_replaced() {
  for (auto& entry : entries_) {
    auto name = entry.name;
    absent_.insert_or_assign(std::move(name), std::move(entry));
  }
  entries_.clear();
  if (!catalog_.monitors().empty()) entry(static_cast<MonitorIndex>(catalog_.monitors().size() - 1));
  for (auto& [name, entry] : absent_) {
    if (entry.evidence.question.empty()) continue;
    retire(entry.evidence);
    entry.unsaved = true;
  }
}

void EvidenceBook::step(MonitorIndex monitor, const stats::ClosedEvidence& closed, TimeMs time) {
  auto& entry = entries_[monitor];
  entry.unsaved = true;
  if (closed.plain) {
    entry.redeal_log_e = entry.evidence.redeal.restart.step(*closed.plain);
    judge(&MonitorEvidence::redeal, &Entry::redeal_log_e, time);
  }
  if (closed.margin) {
    entry.margin_log_e = entry.evidence.margin.restart.step(*closed.margin);
    judge(&MonitorEvidence::margin, &Entry::margin_log_e, time);
  }
}

// What the family rule leaves of each monitor's evidence: it is held against 1 / alpha.
std::vector<double> EvidenceBook::family_log_e(double Entry::*log_e) const {
  std::vector<double> all, own;
  for (const auto& entry : entries_) {
    if (entry.enabled) all.push_back(entry.*log_e);
  }
  switch (settings_.family) {
    case config::FamilyRule::kEach: break;
    case config::FamilyRule::kBonferroni:
      for (auto& one : all) one -= std::log(static_cast<double>(all.size()));
      break;
    case config::FamilyRule::kAverage: all = stats::closed_average(all); break;
    case config::FamilyRule::kEBh: all = stats::e_benjamini_hochberg(all); break;
  }
  auto next = all.begin();
  for (const auto& entry : entries_) own.push_back(entry.enabled ? *next++ : 0);
  return own;
}

// Under every rule a monitor needs at least its own 1 / alpha, which is rare: the rest is looked at only then.
void EvidenceBook::judge(NullEvidence MonitorEvidence::*null, double Entry::*log_e, TimeMs time) {
  const auto near = [&](const Entry& entry) {
    const double own = entry.*log_e;
    return own > 0 && !(entry.evidence.*null).reached && own >= entry.level;
  };
  if (std::none_of(entries_.begin(), entries_.end(), near)) return;
  const auto shared = family_log_e(log_e);
  for (std::size_t index = 0; index < entries_.size(); ++index) {
    auto& entry = entries_[index];
    if (!near(entry) || shared[index] < entry.level) continue;
    auto& evidence = entry.evidence.*null;
    evidence.reached = true;
    evidence.reached_at = time;
    entry.unsaved = true;
  }
}

AlarmChange EvidenceBook::change_state(Entry& entry, AlarmState to, std::uint64_t complete, TimeMs now) {
  auto& evidence = entry.evidence;
  const AlarmChange change{now, evidence.state, to, entry.redeal_log_e, entry.margin_log_e,
                           evidence.margin.restart.log_peak, complete};
  evidence.state = to;
  evidence.changes.push_back(change);
  if (evidence.changes.size() > kKeptChanges) evidence.changes.erase(evidence.changes.begin());
  entry.unsaved = true;
  log::info(fmt::format("monitor {}: {}, was {}; log10 evidence {:.3f} against the margin null (highest {:.3f}), {:.3f} "
                        "against the re-deal null; {} complete prompts",
                        entry.name, alarm_state_name(to), alarm_state_name(change.from),
                        change.margin_log_e / std::numbers::ln10, change.margin_peak / std::numbers::ln10,
                        change.redeal_log_e / std::numbers::ln10, complete));
  return change;
}

std::optional<AlarmChange> EvidenceBook::settle(MonitorIndex monitor, const AlarmFacts& facts) {
  auto& entry = this->entry(monitor);
  auto& evidence = entry.evidence;
  if (evidence.state == AlarmState::kEvidence) return std::nullopt;
  auto to = AlarmState::kQuiet;
  if (facts.complete == 0) {
    to = AlarmState::kCollecting;
  } else if (!facts.enough) {
    to = AlarmState::kInsufficient;
  } else if (evidence.margin.reached) {
    to = AlarmState::kEvidence;
  } else if (evidence.acknowledged) {
    to = AlarmState::kAcknowledged;
  } else if (facts.stale) {
    to = AlarmState::kStale;
  }
  if (to == evidence.state) return std::nullopt;
  if (to == AlarmState::kEvidence) {
    ++evidence.alarms;
    evidence.acknowledged = false;
    evidence.delivery = facts.has_webhook ? Delivery::kPending : Delivery::kNone;
  }
  return change_state(entry, to, facts.complete, facts.now);
}

std::optional<AlarmChange> EvidenceBook::acknowledge(MonitorIndex monitor, TimeMs now) {
  auto& entry = this->entry(monitor);
  auto& evidence = entry.evidence;
  if (evidence.state != AlarmState::kEvidence) return std::nullopt;
  evidence.acknowledged = true;
  const auto complete = evidence.changes.empty() ? 0 : evidence.changes.back().complete;
  const auto change = change_state(entry, AlarmState::kAcknowledged, complete, now);
  evidence.redeal = evidence.margin = {};
  entry.redeal_log_e = entry.margin_log_e = 0;
  return change;
}

void EvidenceBook::set_delivery(MonitorIndex monitor, Delivery delivery) {
  auto& entry = this->entry(monitor);
  entry.unsaved |= entry.evidence.delivery != delivery;
  entry.evidence.delivery = delivery;
}

bool EvidenceBook::unsaved() const {
  return std::any_of(entries_.begin(), entries_.end(), [](const Entry& entry) { return entry.unsaved; }) ||
         std::any_of(absent_.begin(), absent_.end(), [](const auto& one) { return one.second.unsaved; });
}

void EvidenceBook::collect(WriteBatch& batch) const {
  const auto put = [&](const Entry& entry) {
    if (entry.unsaved) batch.put(monitor_key(entry.name), encode_monitor_evidence(entry.evidence));
  };
  for (const auto& entry : entries_) put(entry);
  for (const auto& [name, entry] : absent_) put(entry);
}

void EvidenceBook::saved() {
  for (auto& entry : entries_) {
    if (!entry.unsaved) continue;
    entry.durable_redeal = entry.evidence.redeal;
    entry.durable_margin = entry.evidence.margin;
    entry.unsaved = false;
  }
  for (auto& [name, entry] : absent_) entry.unsaved = false;
}

void EvidenceBook::roll_back() {
  for (auto& entry : entries_) {
    if (!entry.unsaved) continue;
    entry.evidence.redeal = entry.durable_redeal;
    entry.evidence.margin = entry.durable_margin;
    read_log_e(entry.evidence, entry.redeal_log_e, entry.margin_log_e);
  }
}

namespace {

constexpr std::uint8_t kMonitorVersion = 1;

void write_null(ByteWriter& out, const NullEvidence& null) {
  EvidenceWriter write(out, [](stats::PromptKey) { return std::string_view(); });
  write(null.restart);
  write(null.reached);
  out.varint(static_cast<std::uint64_t>(null.reached_at));
}

bool read_null(ByteReader& in, NullEvidence& null) {
  EvidenceReader read(in, [](std::string_view) { return std::optional<stats::PromptKey>(); });
  read(null.restart);
  read(null.reached);
  null.reached_at = static_cast<TimeMs>(in.varint());
  return read.ok();
}

template <typename Enum>
bool read_enum(ByteReader& in, Enum last, Enum& value) {
  const auto code = in.u8();
  value = static_cast<Enum>(code);
  return code <= static_cast<std::uint8_t>(last);
}

bool read_change(ByteReader& in, AlarmChange& change) {
  change.at = static_cast<TimeMs>(in.varint());
  const bool known = read_enum(in, AlarmState::kStale, change.from) && read_enum(in, AlarmState::kStale, change.to);
  change.redeal_log_e = in.real();
  change.margin_log_e = in.real();
  change.margin_peak = in.real();
  change.complete = in.varint();
  return known && in.ok();
}

}  // namespace

std::string encode_monitor_evidence(const MonitorEvidence& evidence) {
  ByteWriter out;
  out.u8(kMonitorVersion);
  out.string(evidence.question);
  out.varint(evidence.epoch);
  write_null(out, evidence.redeal);
  write_null(out, evidence.margin);
  out.u8(static_cast<std::uint8_t>(evidence.state));
  out.u8(evidence.acknowledged ? 1 : 0);
  out.varint(evidence.alarms);
  out.u8(static_cast<std::uint8_t>(evidence.delivery));
  out.varint(evidence.changes.size());
  for (const auto& change : evidence.changes) {
    out.varint(static_cast<std::uint64_t>(change.at));
    out.u8(static_cast<std::uint8_t>(change.from));
    out.u8(static_cast<std::uint8_t>(change.to));
    out.real(change.redeal_log_e);
    out.real(change.margin_log_e);
    out.real(change.margin_peak);
    out.varint(change.complete);
  }
  return out.take();
}

Result<MonitorEvidence> decode_monitor_evidence(std::string_view bytes) {
  ByteReader in(bytes);
  if (const auto version = in.u8(); version != kMonitorVersion) {
    return refuse("it is of format version " + std::to_string(version) + "; this gapwatch reads version 1");
  }
  MonitorEvidence evidence;
  evidence.question = std::string(in.string());
  evidence.epoch = in.varint();
  bool good = read_null(in, evidence.redeal) && read_null(in, evidence.margin);
  good &= read_enum(in, AlarmState::kStale, evidence.state);
  evidence.acknowledged = in.u8() != 0;
  evidence.alarms = in.varint();
  good &= read_enum(in, Delivery::kUnknown, evidence.delivery);
  const auto changes = in.varint();
  good &= changes <= kKeptChanges;
  for (std::uint64_t i = 0; good && i < changes; ++i) good = read_change(in, evidence.changes.emplace_back());
  if (!good || !in.done()) return refuse("it is damaged");
  return evidence;
}

}  // namespace gapwatch::state
