// The margin null's side of the evidence engine: blocks and pools.
#include <algorithm>
#include <cassert>
#include <cmath>

#include "stats/evidence.h"

namespace gapwatch::stats {

namespace {

// Two discordant pairs of a prompt carry about what one batch does.
const double kPairDecay = std::sqrt(kBatchDecay);
constexpr double kMaxLevel = 8;
constexpr double kLevelCaution = 25;

double level_of(const PolicyEvidence& policy) {
  return std::clamp(policy.margin_level, -kMaxLevel, kMaxLevel);
}

void learn_level(PolicyEvidence& policy, double residual, double variance) {
  policy.margin_variance += variance;
  policy.margin_level += residual / (kLevelCaution + policy.margin_variance);
}

// sum_k share_k u_k: the tilt that the mixture has bet on a success.
double mean_tilt(const Lanes& share, const Lanes& tilts) {
  double sum = 0;
  for (std::size_t k = 0; k < kMarginComponents; ++k) sum += share[k] * tilts[k];
  return sum;
}

Learned learned_of(const PromptEvidence& prompt, std::uint32_t policy) {
  return policy < prompt.members.size() ? prompt.members[policy].margin : Learned{};
}

}  // namespace

void EvidenceEngine::close_block(PartitionEvidence& partition, PromptEvidenceSource& prompts) {
  const std::size_t count = partition.block.size();
  const double fitted = partition.margin_dispersion.variance();
  for (std::size_t g = 0; g < count; ++g) {
    const Batch& batch = partition.block[g].batch;
    PromptEvidence& prompt = *(row_prompts_[g] = &prompts.at(partition.block[g].prompt));
    for (std::size_t j = 0; j < batch.size; ++j) {
      margin_tilts(learned_of(prompt, batch.cells[j].policy), fitted, kBatchDecay, row_tilts_[g][j]);
    }
    rows_[g] = {&batch, &row_tilts_[g]};
  }
  Lanes log_e{};
  block_.evaluate({rows_.data(), count}, options_.sampling, partition.margin_units++, log_e);
  ++partition.counts.blocks;
  partition.counts.sampled_blocks += !block_.exact();
  const MixtureGain gain = pay_margin(partition, log_e);

  double explained = 0;
  for (std::size_t g = 0; g < count; ++g) {
    scores_[g] = learn_row(partition, *row_prompts_[g], partition.block[g].batch, row_tilts_[g], gain.share);
    explained += scores_[g];
  }
  const double rest = (gain.log_gain - explained) / static_cast<double>(count);
  for (std::size_t g = 0; g < count; ++g) row_prompts_[g]->margin_nats += scores_[g] + rest;
  partition.block.clear();
}

// Learns from one row of a closed block; what the row's outcomes won or lost for the mixture, to first order.
double EvidenceEngine::learn_row(PartitionEvidence& partition, PromptEvidence& prompt, const Batch& batch,
                                 const BatchLanes& tilts, const Lanes& share) {
  std::array<double, kBatchSize> weights{};
  for (std::size_t j = 0; j < batch.size; ++j) {
    weights[j] = tilt_weight(level_of(partition.policies[batch.cells[j].policy]));
  }
  const auto expected = additive_moments(batch, {weights.data(), batch.size});
  double score = 0;
  std::size_t j = 0;
  for (std::uint32_t policy = 0; policy < prompt.members.size(); ++policy) {
    auto& learned = prompt.members[policy].margin;
    if (j == batch.size || batch.cells[j].policy != policy) {
      learned.learn(0, 0, kBatchDecay);
      continue;
    }
    const double residual = batch.cells[j].successes - expected[j].mean, variance = expected[j].variance;
    score += mean_tilt(share, tilts[j]) * residual;
    ++j;
    const Learned previous = learned;
    learned.learn(residual, variance, kBatchDecay);
    partition.margin_dispersion.replace(previous, learned);
    learn_level(partition.policies[policy], residual, variance);
  }
  return score;
}

void EvidenceEngine::add_pair(PartitionEvidence& partition, PromptKey key, std::uint32_t a, std::uint32_t b,
                              bool a_won, PromptEvidenceSource& prompts) {
  const std::size_t columns = partition.policies.size();
  if (partition.pools.size() < columns * (columns - 1) / 2)
    partition.pools.resize(columns * (columns - 1) / 2);
  PairPool& pool = partition.pools[std::size_t{b} * (b - std::size_t{1}) / 2 + a];
  pool.prompts[pool.size] = key;
  if (a_won) pool.won = static_cast<std::uint16_t>(pool.won | (1u << pool.size));
  if (++pool.size == kPoolSize) close_pool(partition, pool, a, b, prompts);
}

void EvidenceEngine::close_pool(PartitionEvidence& partition, PairPool& pool, std::uint32_t a,
                                std::uint32_t b, PromptEvidenceSource& prompts) {
  std::array<Lanes, kPoolSize> tilts{};
  std::array<bool, kPoolSize> won{};
  const double fitted = partition.margin_dispersion.variance();
  for (std::size_t j = 0; j < kPoolSize; ++j) {
    row_prompts_[j] = &prompts.at(pool.prompts[j]);
    Lanes of_b{};
    margin_tilts(learned_of(*row_prompts_[j], a), fitted, kPairDecay, tilts[j]);
    margin_tilts(learned_of(*row_prompts_[j], b), fitted, kPairDecay, of_b);
    for (std::size_t k = 0; k < kMarginComponents; ++k) tilts[j][k] -= of_b[k];
    won[j] = ((pool.won >> j) & 1) != 0;
  }
  Lanes log_e{};
  pair_pool(tilts, won, log_e);
  ++partition.counts.pools;
  const MixtureGain gain = pay_margin(partition, log_e);

  double explained = 0;
  for (std::size_t j = 0; j < kPoolSize; ++j) {
    auto& policy_a = partition.policies[a];
    auto& policy_b = partition.policies[b];
    const double expected = 1 / (1 + std::exp(level_of(policy_b) - level_of(policy_a)));
    const double residual = (won[j] ? 1 : 0) - expected, variance = expected * (1 - expected);
    explained += scores_[j] = mean_tilt(gain.share, tilts[j]) * residual;
    auto& members = row_prompts_[j]->members;
    if (members.size() <= b) members.resize(b + std::size_t{1});
    for (std::uint32_t policy = 0; policy < members.size(); ++policy) {
      auto& learned = members[policy].margin;
      if (policy != a && policy != b) {
        learned.learn(0, 0, kPairDecay);
        continue;
      }
      const Learned previous = learned;
      learned.learn(policy == a ? residual : -residual, variance, kPairDecay);
      partition.margin_dispersion.replace(previous, learned);
    }
    learn_level(policy_a, residual, variance);
    learn_level(policy_b, -residual, variance);
  }
  const double rest = (gain.log_gain - explained) / static_cast<double>(kPoolSize);
  for (std::size_t j = 0; j < kPoolSize; ++j) row_prompts_[j]->margin_nats += scores_[j] + rest;
  pool = {};
}

}  // namespace gapwatch::stats
