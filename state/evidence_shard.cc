#include "state/evidence_shard.h"

#include <algorithm>
#include <cmath>

#include "base/log.h"
#include "base/prefetch.h"
#include "base/random.h"
#include "state/evidence_track.h"
#include "state/keys.h"

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

ShardEvidence::ShardEvidence(Catalog& catalog, EvidenceBook& book, BetLine& line, std::string place)
    : catalog_(catalog), book_(book), line_(line), place_(std::move(place)) {}

ShardEvidence::~ShardEvidence() { line_.drain(); }

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
  if (tracks_.size() <= monitor) line_.drain();
  while (tracks_.size() <= monitor) tracks_.push_back(make_track(static_cast<MonitorIndex>(tracks_.size())));
  return tracks_[monitor].get();
}

void ShardEvidence::monitors_replaced() {
  line_.drain();
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

void ShardEvidence::begin_anew(MonitorIndex monitor) {
  const auto& name = catalog_.monitors()[monitor]->config.name;
  if (store_ != nullptr) {
    const auto erase = [&](std::string_view key, std::string_view) -> Status {
      outdated_.emplace_back(key);
      return {};
    };
    if (auto status = store_->scan(prompt_evidence_key(place_, name, ""), erase); !status) log::warn(status.error().message);
    outdated_.push_back(partition_evidence_key(place_, name));
  }
  monitors_replaced();
}

void ShardEvidence::prefetch(const Bet& bet, int depth) const {
  const auto& track = *tracks_[bet.monitor];
  const auto* slot = track.look(bet.place);
  if (slot == nullptr) return;
  if (depth == 0) return gapwatch::prefetch(slot, sizeof *slot);
  const auto* watched = slot->watched == kNoColumn ? nullptr : &track.part.watched[slot->watched];
  if (depth == 2) {
    if (watched != nullptr && watched->last_policy < watched->cells.size()) gapwatch::prefetch(&watched->cells[watched->last_policy]);
    return;
  }
  gapwatch::prefetch(watched);
  const auto& evidence = slot->evidence;
  gapwatch::prefetch(evidence.waiting.data(), evidence.waiting.capacity() * sizeof(stats::WaitingResponse));
  // The response that fills a batch lets all that was learned be used.
  if (evidence.open + 1 == stats::kBatchSize) {
    gapwatch::prefetch(evidence.members.data(), evidence.members.size() * sizeof(stats::MemberEvidence));
  }
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
      track->columns_unsaved = true;
    }
    if (own == kOutside) continue;
    if (!judged(before) && monitor.slice && row.slice != *monitor.slice) continue;
    Bet& bet = line_.next();
    bet.taker = this;
    bet.monitor = static_cast<std::uint16_t>(index);
    bet.place = row.number;
    bet.column = own;
    bet.kind = !judged(before) ? Bet::Kind::kResponse : judged(now) ? Bet::Kind::kAmendment : Bet::Kind::kRetraction;
    bet.success = now == DrawOutcome::kSuccess;
    bet.more = nullptr;
    bet.prompt = row.prompt.data();
    bet.prompt_bytes = static_cast<std::uint32_t>(row.prompt.size());
    bet.identity = identity_of(event);
    bet.order = order_of(event, track->options.horizon);
    bet.time = event.time.value_or(0);
    if (bet.kind != Bet::Kind::kResponse || (track->seeded && event.propensities.empty())) continue;
    auto& more = line_.more();
    propensities(*track, monitor, event, own, more.propensities);
    if (!track->seeded) more.seed = seed_of(row.prompt, track->part.columns.name(own), bet.identity);
    track->seeded = true;
  }
}

void ShardEvidence::take(const Bet& bet) {
  Track& track = *tracks_[bet.monitor];
  if (track.look(bet.place) == nullptr) track.name_prompt(bet.place, {bet.prompt, bet.prompt_bytes});
  if (bet.kind == Bet::Kind::kResponse) {
    add(track, bet);
  } else {
    amend(track, bet);
  }
}

void ShardEvidence::add(Track& track, const Bet& bet) {
  if (track.part.seed == 0) {
    track.part.seed = bet.more == nullptr ? 0 : bet.more->seed;
    track.part_unsaved = true;
  }
  if (track.stored_only(bet.place)) track.slot(bet.place);  // with what is gone
  if (!track.gone.empty()) {
    const auto gone = track.gone.find(bet.place);
    if (gone != track.gone.end() && std::count(gone->second.begin(), gone->second.end(), Gone{bet.column, bet.identity}) > 0) {
      return;
    }
  }
  auto& slot = track.touch(bet.place);
  auto& watched = track.part.watched;
  if (!slot.any() && watched.size() < kWatchedPrompts) {
    slot.watched = static_cast<std::uint32_t>(watched.size());
    watched.emplace_back();
  }
  if (slot.watched != kNoColumn) watched[slot.watched].next(bet.column, bet.success);
  stats::Response response;
  response.prompt = {bet.place};
  response.policy = bet.column;
  response.success = bet.success;
  response.sequence = bet.order;
  if (bet.more != nullptr) response.propensities = bet.more->propensities;
  const auto& closed = track.bets().add(track.part.evidence, slot.evidence, response, track);
  if (closed.plain || closed.margin) book_.step(bet.monitor, closed, bet.time);
}

void ShardEvidence::amend(Track& track, const Bet& bet) {
  auto& prompt = track.touch(bet.place).evidence;
  const bool gone = bet.kind == Bet::Kind::kRetraction;
  track.bets().amend(track.part.evidence, prompt, bet.column, bet.order, gone ? std::nullopt : std::optional(bet.success));
  if (gone) track.gone[bet.place].push_back({bet.column, bet.identity});
}

// By evidence column, of the pool's policies given that one of them was asked; empty where not all are known.
void ShardEvidence::propensities(Track& track, const MonitorDef& monitor, const Event& event, std::uint32_t column,
                                 std::vector<double>& weights) const {
  if (event.propensities.empty() || !event.version.empty()) return;
  double all = 0, pool = 0;
  for (const auto& [policy, weight] : event.propensities) all += weight;
  constexpr double kRounding = 1e-6;
  if (std::abs(all - 1) > kRounding) return;
  auto& columns = track.part.columns;
  for (const auto& [policy, weight] : event.propensities) {
    if (weight <= 0 || !in_pool(monitor, policy)) continue;
    if (columns.size() >= kMostRouted && !columns.find(policy)) return weights.clear();
    const auto at = columns.intern(policy);  // saved with the response
    if (weights.size() <= at) weights.resize(at + std::size_t{1});
    weights[at] += weight;
    pool += weight;
  }
  if (column >= weights.size() || weights[column] <= 0) return weights.clear();
  for (auto& weight : weights) weight /= pool;
}

const MonitorPart* ShardEvidence::part(MonitorIndex monitor) const {
  line_.drain();
  return monitor < tracks_.size() && tracks_[monitor] != nullptr ? &tracks_[monitor]->part : nullptr;
}

const stats::PromptEvidence* ShardEvidence::prompt(MonitorIndex monitor, const Row& row) const {
  line_.drain();
  if (monitor >= tracks_.size() || tracks_[monitor] == nullptr) return nullptr;
  const auto* slot = tracks_[monitor]->look(row.number);
  return slot != nullptr ? &slot->evidence : nullptr;
}

}  // namespace gapwatch::state
