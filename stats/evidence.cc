#include "stats/evidence.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace gapwatch::stats {

namespace {

// The decay of a batch of eight, a response at a time.
const double kEventDecay = std::pow(kBatchDecay, 1.0 / kBatchSize);

bool before(const WaitingResponse& a, const WaitingResponse& b) {
  return a.sequence != b.sequence ? a.sequence < b.sequence : a.policy < b.policy;
}

}  // namespace

void EvidenceCounts::add(const EvidenceCounts& other) {
  for (const auto field : {&EvidenceCounts::responses, &EvidenceCounts::batches, &EvidenceCounts::blocks,
                           &EvidenceCounts::pools, &EvidenceCounts::events, &EvidenceCounts::sampled_blocks,
                           &EvidenceCounts::idle_batches, &EvidenceCounts::pairs, &EvidenceCounts::concordant,
                           &EvidenceCounts::late, &EvidenceCounts::late_amendments,
                           &EvidenceCounts::without_propensity, &EvidenceCounts::dropped_rows}) {
    this->*field += other.*field;
  }
}

void EvidenceTotal::add(const PartitionEvidence& partition) {
  for (std::size_t k = 0; k < kComponents; ++k) plain[k].add(partition.plain[k]);
  for (std::size_t k = 0; k < kMarginComponents; ++k) margin[k].add(partition.margin[k]);
  counts.add(partition.counts);
}

const ClosedEvidence& EvidenceEngine::add(PartitionEvidence& partition, PromptEvidence& prompt,
                                          const Response& response, PromptEvidenceSource& prompts) {
  closed_ = {};
  ++partition.counts.responses;
  const std::size_t columns =
      std::max<std::size_t>(response.policy + std::size_t{1}, response.propensities.size());
  if (partition.policies.size() < columns) partition.policies.resize(columns);
  if (prompt.members.size() < columns) prompt.members.resize(columns);
  const bool priced = options_.plain && options_.use_propensities && !response.propensities.empty();
  if (priced) {
    bet_on_event(partition, prompt, response);
  } else {
    ++partition.counts.without_propensity;
  }
  ++prompt.trials;
  prompt.successes += response.success;

  if (prompt.waiting.capacity() == 0) prompt.waiting.reserve(kBatchSize + options_.horizon);
  const WaitingResponse waiting{response.sequence, response.policy, response.success, priced};
  auto place = prompt.waiting.end();
  if (options_.horizon > 0) {
    place = std::upper_bound(prompt.waiting.begin() + prompt.open, prompt.waiting.end(), waiting, before);
    partition.counts.late += response.sequence < prompt.released;
  }
  prompt.waiting.insert(place, waiting);
  if (prompt.waiting.size() - prompt.open > options_.horizon)
    release(partition, prompt, response.prompt, prompts);
  return closed_;
}

// The earliest response held back is next in order.
void EvidenceEngine::release(PartitionEvidence& partition, PromptEvidence& prompt, PromptKey key,
                             PromptEvidenceSource& prompts) {
  const WaitingResponse next = prompt.waiting[prompt.open++];
  prompt.released = std::max(prompt.released, next.sequence + 1);
  if (!partition.pairing &&
      (options_.margin == MarginDesign::kPairs ||
       (options_.margin == MarginDesign::kAuto && partition.policies.size() > kMaxBlockPolicies))) {
    partition.pairing = true;
    partition.counts.dropped_rows += partition.block.size();
    partition.block.clear();
  }
  if (partition.pairing) {
    if (const auto partner = prompt.pairs.match(next.policy, next.success)) {
      ++partition.counts.pairs;
      if (partner->success == next.success) {
        ++partition.counts.concordant;
      } else {
        const bool ordered = partner->policy < next.policy;
        const std::uint32_t a = std::min(partner->policy, next.policy),
                            b = std::max(partner->policy, next.policy);
        add_pair(partition, key, a, b, ordered ? partner->success : next.success, prompts);
      }
    }
  }
  if (prompt.open == kBatchSize) close_batch(partition, prompt, key, prompts);
}

void EvidenceEngine::close_batch(PartitionEvidence& partition, PromptEvidence& prompt, PromptKey key,
                                 PromptEvidenceSource& prompts) {
  Batch batch;
  bool priced = false;
  for (std::size_t i = 0; i < kBatchSize; ++i) {
    batch.add(prompt.waiting[i].policy, prompt.waiting[i].success);
    priced |= prompt.waiting[i].priced;
  }
  prompt.waiting.erase(prompt.waiting.begin(), prompt.waiting.begin() + kBatchSize);
  prompt.open = 0;
  if (options_.plain && !priced) bet_on_batch(partition, prompt, batch);
  if (partition.pairing || options_.margin == MarginDesign::kOff || !batch.informative()) return;
  partition.block.push_back({key, batch});
  if (partition.block.size() >= options_.block_batches) close_block(partition, prompts);
}

void EvidenceEngine::bet_on_batch(PartitionEvidence& partition, PromptEvidence& prompt, const Batch& batch) {
  if (!batch.informative()) {
    ++partition.counts.idle_batches;
    for (auto& member : prompt.members) member.plain.learn(0, 0, kBatchDecay);
    return;
  }
  BatchLanes tilts;
  const double fitted = partition.plain_dispersion.variance();
  for (std::size_t j = 0; j < batch.size; ++j) {
    const auto policy = batch.cells[j].policy;
    plain_tilts(prompt.members[policy].plain, fitted, partition.policies[policy].plain, kBatchDecay,
                tilts[j]);
  }
  Lanes log_e;
  plain_batch(batch, tilts, log_e);
  ++partition.counts.batches;
  pay_plain(partition, prompt, log_e);

  const double total = batch.trials, successes = batch.successes;
  std::size_t j = 0;
  for (std::uint32_t policy = 0; policy < prompt.members.size(); ++policy) {
    auto& learned = prompt.members[policy].plain;
    if (j == batch.size || batch.cells[j].policy != policy) {
      learned.learn(0, 0, kBatchDecay);
      continue;
    }
    const auto& cell = batch.cells[j++];
    const double residual = cell.successes - cell.trials * successes / total;
    const double variance =
        successes * (total - successes) / (total * total * (total - 1)) * cell.trials * (total - cell.trials);
    const Learned previous = learned;
    learned.learn(residual, variance, kBatchDecay);
    partition.plain_dispersion.replace(previous, learned);
    partition.policies[policy].plain.residual += residual;
    partition.policies[policy].plain.variance += variance;
  }
}

void EvidenceEngine::bet_on_event(PartitionEvidence& partition, PromptEvidence& prompt,
                                  const Response& response) {
  const auto& propensities = response.propensities;
  const double rate = (prompt.successes + 0.35) / (prompt.trials + 0.95);
  const double fitted = partition.plain_dispersion.variance();
  event_tilts_.resize(propensities.size());
  for (std::size_t l = 0; l < propensities.size(); ++l) {
    plain_tilts(prompt.members[l].plain, fitted, partition.policies[l].plain, kEventDecay, event_tilts_[l]);
  }
  Lanes log_e;
  plain_event(event_tilts_, propensities, response.policy, response.success, rate, log_e);
  ++partition.counts.events;
  pay_plain(partition, prompt, log_e);

  for (std::size_t l = 0; l < propensities.size(); ++l) {
    const double chosen = l == response.policy ? 1 : 0;
    const double residual = (chosen - propensities[l]) * ((response.success ? 1 : 0) - rate);
    const double variance = propensities[l] * (1 - propensities[l]) * rate * (1 - rate);
    auto& learned = prompt.members[l].plain;
    const Learned previous = learned;
    learned.learn(residual, variance, kEventDecay);
    partition.plain_dispersion.replace(previous, learned);
    partition.policies[l].plain.residual += residual;
    partition.policies[l].plain.variance += variance;
  }
}

void EvidenceEngine::pay_plain(PartitionEvidence& partition, PromptEvidence& prompt, const Lanes& log_e) {
  const std::span<const double> paid(log_e.data(), kComponents);
  prompt.plain_nats += mixture_gain(partition.plain, paid).log_gain;
  if (!closed_.plain) closed_.plain.emplace().fill(0);
  for (std::size_t k = 0; k < kComponents; ++k) {
    partition.plain[k].add(log_e[k]);
    (*closed_.plain)[k] += log_e[k];
  }
}

MixtureGain EvidenceEngine::pay_margin(PartitionEvidence& partition, const Lanes& log_e) {
  const std::span<const double> paid(log_e.data(), kMarginComponents);
  const MixtureGain gain = mixture_gain(partition.margin, paid);
  if (!closed_.margin) closed_.margin.emplace().fill(0);
  for (std::size_t k = 0; k < kMarginComponents; ++k) {
    partition.margin[k].add(log_e[k]);
    (*closed_.margin)[k] += log_e[k];
  }
  return gain;
}

Amended EvidenceEngine::amend(PartitionEvidence& partition, PromptEvidence& prompt, std::uint32_t policy,
                              std::uint64_t sequence, std::optional<bool> success) {
  const auto found = std::find_if(
      prompt.waiting.begin(), prompt.waiting.end(),
      [&](const WaitingResponse& one) { return one.policy == policy && one.sequence == sequence; });
  if (found == prompt.waiting.end()) {
    ++partition.counts.late_amendments;
    return Amended::kTooLate;
  }
  if (success) {
    found->success = *success;
    return Amended::kInTime;
  }
  if (found - prompt.waiting.begin() < static_cast<std::ptrdiff_t>(prompt.open)) --prompt.open;
  prompt.waiting.erase(found);
  return Amended::kInTime;
}

void move_columns(PromptEvidence& prompt, std::span<const std::uint32_t> to) {
  std::vector<MemberEvidence> moved;
  for (std::size_t c = 0; c < prompt.members.size(); ++c) {
    if (prompt.members[c] == MemberEvidence{}) continue;
    if (moved.size() <= to[c]) moved.resize(to[c] + std::size_t{1});
    moved[to[c]] = prompt.members[c];
  }
  prompt.members = std::move(moved);
  for (auto& one : prompt.waiting) one.policy = to[one.policy];
  std::sort(prompt.waiting.begin() + prompt.open, prompt.waiting.end(), before);
  if (prompt.pairs.waiting > 0) prompt.pairs.policy = to[prompt.pairs.policy];
}

void move_columns(PartitionEvidence& partition, std::span<const std::uint32_t> to, std::uint32_t columns) {
  std::vector<PolicyEvidence> policies(columns);
  for (std::size_t c = 0; c < partition.policies.size(); ++c) policies[to[c]] = partition.policies[c];
  partition.policies = std::move(policies);
  for (auto& row : partition.block) {
    for (std::size_t j = 0; j < row.batch.size; ++j)
      row.batch.cells[j].policy = to[row.batch.cells[j].policy];
    std::sort(row.batch.cells.begin(), row.batch.cells.begin() + row.batch.size,
              [](const BatchCell& x, const BatchCell& y) { return x.policy < y.policy; });
  }
  std::vector<PairPool> pools(std::size_t{columns} * (columns - std::size_t{1}) / 2);
  std::size_t at = 0;
  for (std::uint32_t b = 1; at < partition.pools.size(); ++b) {
    for (std::uint32_t a = 0; a < b && at < partition.pools.size(); ++a, ++at) {
      PairPool pool = partition.pools[at];
      const std::uint32_t low = std::min(to[a], to[b]), high = std::max(to[a], to[b]);
      if (low != to[a]) pool.won = static_cast<std::uint16_t>(~pool.won & ((1u << pool.size) - 1));
      pools[std::size_t{high} * (high - std::size_t{1}) / 2 + low] = pool;
    }
  }
  partition.pools = std::move(pools);
}

}  // namespace gapwatch::stats
