#include "state/evidence_shard.h"

#include <algorithm>
#include <cmath>

#include "base/prefetch.h"
#include "base/random.h"
#include "state/evidence_track.h"

namespace gapwatch::state {
namespace {

using stats::DrawOutcome;

bool judged(DrawOutcome outcome) { return outcome == DrawOutcome::kFailure || outcome == DrawOutcome::kSuccess; }

// A router that names more policies than this is not one of a pool.
constexpr std::uint32_t kMostRouted = 1'000;

// The same on every machine; never 0.
std::uint64_t seed_of(std::string_view prompt, std::string_view policy, std::uint64_t sequence) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const auto text : {prompt, policy}) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    hash = (hash ^ 0x100u) * 0x100000001b3u;
  }
  return CounterRandom(hash, 0, sequence)() | 1;
}

stats::MarginDesign design_of(config::MarginBets bets) {
  switch (bets) {
    case config::MarginBets::kAuto: return stats::MarginDesign::kAuto;
    case config::MarginBets::kBlocks: return stats::MarginDesign::kBlocks;
    case config::MarginBets::kPairs: return stats::MarginDesign::kPairs;
    case config::MarginBets::kOff: return stats::MarginDesign::kOff;
  }
  return stats::MarginDesign::kAuto;
}

// Which response it is, whatever its order.
std::uint64_t identity_of(const Event& event) { return event.draw.value_or(event.arrival); }

// Its place in order of request. Draws from 2^63 on are made of ids and have no order.
std::uint64_t order_of(const Event& event, std::uint32_t horizon) {
  if (horizon == 0) return identity_of(event);
  if (event.sequence) return *event.sequence;
  return event.draw && *event.draw >> 63 == 0 ? *event.draw : event.arrival;
}

bool in_pool(const MonitorDef& monitor, std::string_view policy) {
  return monitor.automatic || std::binary_search(monitor.pool.begin(), monitor.pool.end(), policy);
}

}  // namespace

ShardEvidence::ShardEvidence(Catalog& catalog, EvidenceBook& book, const std::deque<Row>& rows, std::string place)
    : catalog_(catalog), book_(book), rows_(rows), place_(std::move(place)) {}

ShardEvidence::~ShardEvidence() = default;

std::unique_ptr<ShardEvidence::Track> ShardEvidence::make_track(MonitorIndex index) {
  const auto& monitor = *catalog_.monitors()[index];
  if (!monitor.config.evidence.enabled) return nullptr;
  auto made = std::make_unique<Track>(*this);
  made->options.margin = design_of(monitor.config.evidence.margin);
  made->options.horizon = monitor.config.evidence.horizon;
  made->name = monitor.config.name;
  made->epoch = book_.at(index).epoch;
  made->channel = monitor.channel;
  return made;
}

ShardEvidence::Track* ShardEvidence::track(MonitorIndex monitor) {
  while (tracks_.size() <= monitor) tracks_.push_back(make_track(static_cast<MonitorIndex>(tracks_.size())));
  return tracks_[monitor].get();
}

void ShardEvidence::monitors_replaced() {
  auto old = std::move(tracks_);
  tracks_.clear();
  for (MonitorIndex index = 0; index < catalog_.monitors().size(); ++index) {
    auto* fresh = track(index);
    if (fresh == nullptr) continue;
    const auto same = std::find_if(old.begin(), old.end(), [&](const auto& known) {
      return known != nullptr && known->name == fresh->name && known->epoch == fresh->epoch;
    });
    if (same != old.end()) tracks_[index] = std::move(*same);
  }
  cached_bytes_ = 0;
  for (const auto& track : tracks_) {
    if (track == nullptr) continue;
    for (const auto& slot : track->slots) cached_bytes_ += slot == nullptr ? 0 : slot->bytes;
  }
}

void ShardEvidence::prefetch(const Row& row, bool deeper) const {
  for (const auto index : catalog_.at(row.channel).monitors) {
    if (index >= tracks_.size() || tracks_[index] == nullptr) continue;
    const auto* slot = tracks_[index]->look(row.number);
    if (slot == nullptr) continue;
    if (!deeper) {
      gapwatch::prefetch(slot, sizeof *slot);
      continue;
    }
    const auto& evidence = slot->evidence;
    gapwatch::prefetch(evidence.waiting.data(), evidence.waiting.capacity() * sizeof(stats::WaitingResponse));
    // The response that fills a batch lets all that was learned be used.
    if (evidence.open + 1 == stats::kBatchSize) {
      gapwatch::prefetch(evidence.members.data(), evidence.members.size() * sizeof(stats::MemberEvidence));
    }
  }
}

std::uint32_t ShardEvidence::place_of(const Row& row) {
  if (row_of_place_.size() <= row.channel.value) row_of_place_.resize(row.channel.value + std::size_t{1});
  auto& rows = row_of_place_[row.channel.value];
  if (rows.size() <= row.number) rows.resize(row.number + std::size_t{1}, kNoColumn);
  rows[row.number] = row.index;
  return row.number;
}

std::string_view ShardEvidence::prompt_name(const Track& track, stats::PromptKey key) const {
  return rows_[row_of_place_[track.channel.value][key.value]].prompt;
}

void ShardEvidence::changed(const Row& row, std::uint32_t column, const Event& event, DrawOutcome before,
                            DrawOutcome now) {
  if (!judged(before) && !judged(now)) return;
  const auto& channel = catalog_.at(row.channel);
  for (const auto index : channel.monitors) {
    Track* track = this->track(index);
    if (track == nullptr) continue;
    const auto& monitor = *catalog_.monitors()[index];
    if (track->column_of.size() <= column) track->column_of.resize(column + std::size_t{1}, kNotAsked);
    auto& own = track->column_of[column];
    if (own == kNotAsked) {
      const auto& policy = channel.policies.name(column);
      own = in_pool(monitor, policy) ? track->part.columns.intern(policy) : kOutside;
      track->part_unsaved = true;
    }
    if (own == kOutside) continue;
    const auto place = place_of(row);
    if (judged(before)) {
      amend(*track, place, own, event, now);
    } else if (!monitor.slice || row.slice == *monitor.slice) {
      add(index, *track, place, own, event, now == DrawOutcome::kSuccess);
    }
  }
}

void ShardEvidence::add(MonitorIndex index, Track& track, std::uint32_t place, std::uint32_t column, const Event& event,
                        bool success) {
  const auto identity = identity_of(event);
  if (track.stored_only(place)) track.slot(place);  // with what is gone
  if (!track.gone.empty()) {
    const auto gone = track.gone.find(place);
    if (gone != track.gone.end() && std::count(gone->second.begin(), gone->second.end(), Gone{column, identity}) > 0) {
      return;
    }
  }
  auto& slot = track.touch(place);
  if (!slot.any() && track.stay.size() < kWatchedPrompts) {
    slot.watched = static_cast<std::uint32_t>(track.stay.size());
    track.stay.emplace_back();
  }
  if (slot.watched != kNoColumn) track.part.stay.add(track.stay[slot.watched], column, success);
  stats::Response response;
  response.prompt = {place};
  response.policy = column;
  response.success = success;
  response.sequence = order_of(event, track.options.horizon);
  response.propensities = propensities(track, *catalog_.monitors()[index], event, column);
  if (track.part.seed == 0) {
    track.part.seed = seed_of(prompt_name(track, {place}), track.part.columns.name(column), identity);
  }
  const auto& closed = track.bets().add(track.part.evidence, slot.evidence, response, track);
  if (closed.plain || closed.margin) book_.step(index, closed, event.time.value_or(0));
}

void ShardEvidence::amend(Track& track, std::uint32_t place, std::uint32_t column, const Event& event,
                          DrawOutcome now) {
  auto& prompt = track.touch(place).evidence;
  std::optional<bool> success;
  if (judged(now)) success = now == DrawOutcome::kSuccess;
  track.bets().amend(track.part.evidence, prompt, column, order_of(event, track.options.horizon), success);
  if (!success) track.gone[place].push_back({column, identity_of(event)});
}

// By evidence column, of the pool's policies given that one of them was asked; empty where not all are known.
std::span<const double> ShardEvidence::propensities(Track& track, const MonitorDef& monitor, const Event& event,
                                                    std::uint32_t column) {
  if (event.propensities.empty() || !event.version.empty()) return {};
  double all = 0, pool = 0;
  for (const auto& [policy, weight] : event.propensities) all += weight;
  constexpr double kRounding = 1e-6;
  if (std::abs(all - 1) > kRounding) return {};
  weights_.clear();
  auto& columns = track.part.columns;
  for (const auto& [policy, weight] : event.propensities) {
    if (weight <= 0 || !in_pool(monitor, policy)) continue;
    if (columns.size() >= kMostRouted && !columns.find(policy)) return {};
    const auto at = columns.intern(policy);  // saved with the response
    if (weights_.size() <= at) weights_.resize(at + std::size_t{1});
    weights_[at] += weight;
    pool += weight;
  }
  if (column >= weights_.size() || weights_[column] <= 0) return {};
  for (auto& weight : weights_) weight /= pool;
  return weights_;
}

const MonitorPart* ShardEvidence::part(MonitorIndex monitor) const {
  return monitor < tracks_.size() && tracks_[monitor] != nullptr ? &tracks_[monitor]->part : nullptr;
}

const stats::PromptEvidence* ShardEvidence::prompt(MonitorIndex monitor, const Row& row) const {
  if (monitor >= tracks_.size() || tracks_[monitor] == nullptr) return nullptr;
  const auto* slot = tracks_[monitor]->look(row.number);
  return slot != nullptr ? &slot->evidence : nullptr;
}

}  // namespace gapwatch::state
