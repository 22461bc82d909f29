// The engine on whole streams: fairness by enumeration, state that survives storing, partitions that add up.

#include "stats/evidence.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <random>

#include "base/random.h"
#include "stats/evidence_attribution.h"
#include "tests/support/field_bytes.h"

namespace gapwatch::stats {
namespace {

using testing::from_bytes;
using testing::to_bytes;

struct Prompts final : PromptEvidenceSource {
  explicit Prompts(std::size_t count) : rows(count) {}
  PromptEvidence& at(PromptKey prompt) override { return rows[prompt.value]; }
  std::vector<PromptEvidence> rows;
};

// One partition and its engine.
struct Engine {
  Engine(std::size_t count, const EvidenceOptions& options) : engine(options), prompts(count) {}
  const ClosedEvidence& add(std::uint32_t prompt, std::uint32_t policy, bool success,
                            std::uint64_t sequence = 0, std::span<const double> propensities = {}) {
    return engine.add(partition, prompts.rows[prompt], {{prompt}, policy, success, sequence, propensities},
                      prompts);
  }
  EvidenceEngine engine;
  Prompts prompts;
  PartitionEvidence partition;
};

struct Seen {
  std::uint32_t prompt, policy;
  bool success;
  std::uint64_t sequence;
};

// Random traffic over policies that differ, by prompt and overall.
std::vector<Seen> random_stream(std::size_t count, std::uint32_t prompts, std::uint32_t policies,
                                std::uint64_t seed) {
  FastRandom random(seed);
  std::vector<double> logits;
  for (std::uint32_t i = 0; i < prompts; ++i) {
    const double level = 2 * normal(random);
    for (std::uint32_t m = 0; m < policies; ++m) logits.push_back(level + 0.2 * m + normal(random));
  }
  std::vector<Seen> stream;
  for (std::uint64_t t = 0; t < count; ++t) {
    const auto i = static_cast<std::uint32_t>(bounded(random, prompts));
    const auto m = static_cast<std::uint32_t>(bounded(random, policies));
    stream.push_back({i, m, bernoulli(random, 1 / (1 + std::exp(-logits[i * policies + m]))), t});
  }
  return stream;
}

EvidenceOptions blocks_of(std::uint32_t batches) {
  EvidenceOptions options;
  options.block_batches = batches;
  return options;
}

EvidenceOptions with_pairs() {
  EvidenceOptions options;
  options.margin = MarginDesign::kPairs;
  return options;
}

// The mean wealth of every component over all outcomes of a fixed order of requests, where response t
// succeeds with rate[t].
struct MeanWealth {
  std::vector<double> plain = std::vector<double>(kComponents, 0.0);
  std::vector<double> margin = std::vector<double>(kMarginComponents, 0.0);
  double largest = 0;
};
MeanWealth enumerate(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& requests,
                     const std::vector<double>& rates, const EvidenceOptions& options) {
  MeanWealth mean;
  for (std::uint32_t outcomes = 0; outcomes < 1u << requests.size(); ++outcomes) {
    Engine run(4, options);
    double p = 1;
    for (std::size_t t = 0; t < requests.size(); ++t) {
      const bool success = (outcomes >> t & 1) != 0;
      p *= success ? rates[t] : 1 - rates[t];
      run.add(requests[t].first, requests[t].second, success);
    }
    for (std::size_t k = 0; k < kComponents; ++k)
      mean.plain[k] += p * std::exp(run.partition.plain[k].nats());
    for (std::size_t k = 0; k < kMarginComponents; ++k) {
      const double wealth = std::exp(run.partition.margin[k].nats());
      mean.margin[k] += p * wealth;
      mean.largest = std::max(mean.largest, wealth);
    }
  }
  return mean;
}

TEST(EvidenceStream, PlainWealthIsFairOverTwoBatchesWithLearning) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> requests;
  for (const std::uint32_t policy : {0u, 1u, 2u, 0u, 1u, 1u, 2u, 0u, 2u, 0u, 1u, 2u, 1u, 0u, 0u, 1u})
    requests.emplace_back(0, policy);
  std::vector<double> rates(16, 0.3);
  std::fill(rates.begin() + 8, rates.end(), 0.6);  // a prompt's rate may move between batches
  EvidenceOptions options;
  options.margin = MarginDesign::kOff;
  const auto mean = enumerate(requests, rates, options);
  for (const double one : mean.plain) EXPECT_NEAR(one, 1, 1e-9);
}

TEST(EvidenceStream, BlockWealthIsFairForDifferentPoliciesAndNotThePlainOne) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> requests;
  std::vector<double> rates;
  const std::uint32_t policies[] = {0, 1, 2, 0, 1, 1, 2, 0};
  for (std::uint32_t t = 0; t < 16;
       ++t) {  // two batches of one prompt: the second block's tilts were learned
    const auto policy = policies[(t + t / 8) % 8];
    requests.emplace_back(0, policy);
    rates.push_back(1 / (1 + std::exp(0.4 - 1.1 * policy)));
  }
  const auto mean = enumerate(requests, rates, blocks_of(1));
  for (const double one : mean.margin) EXPECT_NEAR(one, 1, 1e-9);
  EXPECT_GT(mean.plain[2], 1.05);  // a mere quality difference does pay there
}

TEST(EvidenceStream, JointBlocksAreFairWithBlocksOfTwo) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> requests;
  std::vector<double> rates;
  for (std::uint32_t t = 0; t < 16; ++t) {
    requests.emplace_back(t % 2, (t / 2) % 3);
    rates.push_back(1 / (1 + std::exp(0.5 - 1.0 * (t % 2) - 0.8 * ((t / 2) % 3))));
  }
  // Nothing is learned before the only block, so its bets are zero and it pays exactly 1.
  const auto mean = enumerate(requests, rates, blocks_of(2));
  for (const double one : mean.margin) EXPECT_NEAR(one, 1, 1e-9);
  EXPECT_NEAR(mean.largest, 1, 1e-9);
}

// The policies' wealth over streams from the null, with learned tilts: mean within its sampling error.
TEST(EvidenceStream, PairWealthIsFairOnAverage) {
  double sum = 0, square = 0;
  constexpr int kStreams = 3'000;
  for (int s = 0; s < kStreams; ++s) {
    Engine run(3, with_pairs());
    FastRandom random(17, 0, static_cast<std::uint64_t>(s));
    for (int t = 0; t < 260; ++t) {
      const auto prompt = static_cast<std::uint32_t>(bounded(random, 3));
      const auto policy = static_cast<std::uint32_t>(bounded(random, 3));
      run.add(prompt, policy, bernoulli(random, 1 / (1 + std::exp(0.6 - 0.5 * prompt - 0.7 * policy))));
    }
    ASSERT_GT(run.partition.counts.pools, 0u);
    const double wealth = std::exp(run.partition.margin[0].nats());
    sum += wealth;
    square += wealth * wealth;
  }
  const double mean = sum / kStreams, deviation = std::sqrt(square / kStreams - mean * mean);
  EXPECT_GT(deviation, 0.02);
  EXPECT_NEAR(mean, 1, 4 * deviation / std::sqrt(kStreams));
}

// With the router's probabilities known the wealth is fair under a router that looks at outcomes.
TEST(EvidenceStream, EventWealthIsFairUnderAdaptiveRouting) {
  constexpr int kLength = 7;
  std::vector<double> mean(kComponents, 0.0);
  const std::function<void(std::vector<std::pair<std::uint32_t, bool>>, double)> walk =
      [&](std::vector<std::pair<std::uint32_t, bool>> path, double p) {
        const auto propensities = [](const std::pair<std::uint32_t, bool>* last) {
          std::vector<double> now(2, 0.5);
          if (last != nullptr)
            now[last->first] = last->second ? 0.9 : 0.2, now[1 - last->first] = last->second ? 0.1 : 0.8;
          return now;
        };
        if (path.size() == kLength) {
          Engine run(1, {});
          for (std::size_t t = 0; t < path.size(); ++t) {
            const auto now = propensities(t == 0 ? nullptr : &path[t - 1]);
            run.add(0, path[t].first, path[t].second, t, now);
          }
          for (std::size_t k = 0; k < kComponents; ++k)
            mean[k] += p * std::exp(run.partition.plain[k].nats());
          return;
        }
        const auto now = propensities(path.empty() ? nullptr : &path.back());
        for (const std::uint32_t policy : {0u, 1u}) {
          for (const bool success : {false, true}) {
            path.emplace_back(policy, success);
            walk(path, p * now[policy] * (success ? 0.35 : 0.65));
            path.pop_back();
          }
        }
      };
  walk({}, 1);
  for (const double one : mean) EXPECT_NEAR(one, 1, 1e-9);
}

TEST(EvidenceStream, PricedResponsesAreBetOnOnce) {
  Engine run(1, {});
  const std::vector<double> even{0.5, 0.5};
  for (std::uint32_t t = 0; t < 24; ++t)
    run.add(0, t % 2, t % 3 == 0, t, t < 9 ? std::span<const double>(even) : std::span<const double>{});
  EXPECT_EQ(run.partition.counts.events, 9u);
  EXPECT_EQ(run.partition.counts.batches, 1u);  // the second batch holds a priced response
}

// ---- Storing ----

class StoredState : public ::testing::TestWithParam<EvidenceOptions> {};

TEST_P(StoredState, GoesOnToTheSameBits) {
  const auto stream = random_stream(6'000, 20, GetParam().margin == MarginDesign::kAuto ? 8 : 5, 21);
  Engine whole(20, GetParam());
  Restart restart;
  for (const auto& one : stream) {
    const auto& closed = whole.add(one.prompt, one.policy, one.success, one.sequence);
    if (closed.margin) restart.step(*closed.margin);
  }
  auto broken = std::make_unique<Engine>(20, GetParam());
  Restart stored_restart;
  for (std::size_t t = 0; t < stream.size(); ++t) {
    if (t % 131 == 7) {  // a new process reads everything back
      auto next = std::make_unique<Engine>(20, GetParam());
      next->partition = from_bytes<PartitionEvidence>(to_bytes(broken->partition));
      for (std::size_t i = 0; i < 20; ++i) {
        next->prompts.rows[i] = from_bytes<PromptEvidence>(to_bytes(broken->prompts.rows[i]));
      }
      stored_restart = from_bytes<Restart>(to_bytes(stored_restart));
      broken = std::move(next);
    }
    const auto& one = stream[t];
    const auto& closed = broken->add(one.prompt, one.policy, one.success, one.sequence);
    if (closed.margin) stored_restart.step(*closed.margin);
  }
  EXPECT_GT(whole.partition.counts.margin_closed(), 10u);
  EXPECT_EQ(to_bytes(whole.partition), to_bytes(broken->partition));
  EXPECT_TRUE(whole.partition == broken->partition);
  EXPECT_TRUE(whole.prompts.rows == broken->prompts.rows);
  EXPECT_TRUE(restart == stored_restart);
}

EvidenceOptions sampled_blocks() {
  EvidenceOptions options = blocks_of(3);
  options.margin = MarginDesign::kBlocks;
  options.sampling.always = true;
  options.horizon = 5;
  return options;
}

INSTANTIATE_TEST_SUITE_P(BlocksPairsAutoSampled, StoredState,
                         ::testing::Values(blocks_of(4), with_pairs(), EvidenceOptions{}, sampled_blocks()));

// ---- Partitions ----

TEST(EvidencePartitions, WealthDoesNotDependOnInterleaving) {
  constexpr std::size_t kPartitions = 6;
  std::vector<std::vector<Seen>> streams;
  for (std::size_t p = 0; p < kPartitions; ++p) streams.push_back(random_stream(1'500, 10, 5, 40 + p));
  const auto run_in = [&](std::uint64_t seed) {
    EvidenceEngine engine({});  // one engine for all partitions
    std::vector<PartitionEvidence> partitions(kPartitions);
    std::vector<Prompts> prompts(kPartitions, Prompts(10));
    std::vector<std::size_t> next(kPartitions, 0);
    std::mt19937_64 random(seed);
    for (std::size_t left = kPartitions * 1'500; left > 0;) {
      const auto p = random() % kPartitions;
      for (auto burst = 1 + random() % 50; burst > 0 && next[p] < 1'500; --burst, --left) {
        const auto& one = streams[p][next[p]++];
        engine.add(partitions[p], prompts[p].rows[one.prompt],
                   {{one.prompt}, one.policy, one.success, one.sequence, {}}, prompts[p]);
      }
    }
    std::shuffle(partitions.begin(), partitions.end(), random);  // nor on the order of adding up
    EvidenceTotal total;
    for (const auto& partition : partitions) total.add(partition);
    return total;
  };
  const auto first = run_in(1);
  EXPECT_GT(first.plain_log_e(), 10);
  for (std::uint64_t seed = 2; seed < 5; ++seed) {
    const auto again = run_in(seed);
    EXPECT_TRUE(first.plain == again.plain);
    EXPECT_TRUE(first.margin == again.margin);
    EXPECT_EQ(first.plain_log_e(), again.plain_log_e());
    EXPECT_EQ(first.margin_log_e(), again.margin_log_e());
    EXPECT_TRUE(first.counts == again.counts);
  }
}

// ---- Order, corrections ----

TEST(EvidenceOrder, HorizonRestoresTheOrderOfRequests) {
  EvidenceOptions options;
  options.horizon = 6;
  auto stream = random_stream(3'000, 1, 4, 50);
  Engine ordered(1, options);
  for (const auto& one : stream) ordered.add(one.prompt, one.policy, one.success, one.sequence);
  std::mt19937_64 random(3);
  for (std::size_t at = 0; at + 6 <= stream.size(); at += 6)
    std::shuffle(stream.begin() + at, stream.begin() + at + 6, random);
  Engine shuffled(1, options);
  for (const auto& one : stream) shuffled.add(one.prompt, one.policy, one.success, one.sequence);
  EXPECT_EQ(shuffled.partition.counts.late, 0u);
  EXPECT_TRUE(ordered.partition == shuffled.partition);
  EXPECT_TRUE(ordered.prompts.rows == shuffled.prompts.rows);

  std::shuffle(stream.begin(), stream.end(), random);  // beyond any horizon: counted
  Engine late(1, options);
  for (const auto& one : stream) late.add(one.prompt, one.policy, one.success, one.sequence);
  EXPECT_GT(late.partition.counts.late, 0u);
}

TEST(EvidenceOrder, OpenBatchesTakeCorrectionsAndClosedOnesDoNot) {
  Engine corrected(1, {}), right(1, {});
  for (std::uint32_t t = 0; t < 7; ++t) {
    corrected.add(0, t % 3, t % 2 == 0 || t == 3, t);
    right.add(0, t % 3, t % 2 == 0, t);
  }
  EXPECT_EQ(corrected.engine.amend(corrected.partition, corrected.prompts.rows[0], 0, 3, false),
            Amended::kInTime);
  corrected.add(0, 1, true, 7);
  right.add(0, 1, true, 7);
  EXPECT_TRUE(corrected.partition.plain == right.partition.plain);
  EXPECT_EQ(right.partition.counts.batches, 1u);

  const auto before = corrected.partition.plain;
  EXPECT_EQ(corrected.engine.amend(corrected.partition, corrected.prompts.rows[0], 0, 3, true),
            Amended::kTooLate);
  EXPECT_TRUE(corrected.partition.plain == before);
  EXPECT_EQ(corrected.partition.counts.late_amendments, 1u);
}

TEST(EvidenceOrder, ARetractedResponseLeavesTheOpenBatch) {
  Engine retracted(1, {}), without(1, {});
  for (std::uint32_t t = 0; t < 5; ++t) {
    retracted.add(0, t % 3, t % 2 == 0, t);
    if (t != 2) without.add(0, t % 3, t % 2 == 0, t);
  }
  EXPECT_EQ(retracted.engine.amend(retracted.partition, retracted.prompts.rows[0], 2, 2, std::nullopt),
            Amended::kInTime);
  EXPECT_EQ(retracted.engine.amend(retracted.partition, retracted.prompts.rows[0], 1, 2, std::nullopt),
            Amended::kTooLate);
  EXPECT_TRUE(retracted.prompts.rows[0].waiting == without.prompts.rows[0].waiting);
  EXPECT_EQ(retracted.prompts.rows[0].open, 4u);
}

// ---- Columns ----

TEST(EvidenceColumns, PairsTakeOverAtTheSeventhPolicy) {
  Engine run(4, {});
  for (const auto& one : random_stream(500, 4, 6, 60))
    run.add(one.prompt, one.policy, one.success, one.sequence);
  EXPECT_GT(run.partition.counts.blocks, 0u);
  EXPECT_FALSE(run.partition.pairing);
  const auto wealth = run.partition.margin;
  const auto open = run.partition.block.size();
  run.add(0, 6, true);
  EXPECT_TRUE(run.partition.pairing);
  EXPECT_EQ(run.partition.counts.dropped_rows, open);
  EXPECT_TRUE(run.partition.margin == wealth);
  for (const auto& one : random_stream(5'000, 4, 7, 61))
    run.add(one.prompt, one.policy, one.success, one.sequence);
  EXPECT_GT(run.partition.counts.pools, 0u);
}

// A policy that was known from the start and never answered changes nothing: new policies are columns of
// zeros.
TEST(EvidenceColumns, AColumnWithoutResponsesIsNoChange) {
  Engine narrow(5, blocks_of(4)), wide(5, blocks_of(4));
  wide.partition.policies.resize(5);
  for (auto& prompt : wide.prompts.rows) prompt.members.resize(5);
  for (const auto& one : random_stream(2'000, 5, 4, 70)) {
    narrow.add(one.prompt, one.policy, one.success);
    wide.add(one.prompt, one.policy, one.success);
  }
  EXPECT_TRUE(narrow.partition.plain == wide.partition.plain);
  EXPECT_TRUE(narrow.partition.margin == wide.partition.margin);
}

TEST(EvidenceColumns, MovingThemMovesNothingElse) {
  for (const bool pairs : {false, true}) {
    const auto options = pairs ? with_pairs() : blocks_of(4);
    const std::vector<std::uint32_t> to{2, 0, 4, 1};
    Engine moved(5, options), straight(5, options);
    std::size_t t = 0;
    for (const auto& one : random_stream(4'000, 5, 4, 80)) {
      straight.add(one.prompt, to[one.policy], one.success);
      if (t == 1'501) {
        for (auto& prompt : moved.prompts.rows) move_columns(prompt, to);
        move_columns(moved.partition, to, 5);
      }
      moved.add(one.prompt, t > 1'500 ? to[one.policy] : one.policy, one.success);
      ++t;
    }
    for (std::size_t k = 0; k < kComponents; ++k) {
      EXPECT_NEAR(moved.partition.plain[k].nats(), straight.partition.plain[k].nats(), 1e-3);
    }
    EXPECT_GT(moved.partition.counts.margin_closed(), 5u);
    for (std::size_t k = 0; k < kMarginComponents; ++k) {
      EXPECT_NEAR(moved.partition.margin[k].nats(), straight.partition.margin[k].nats(), 1e-3) << pairs;
    }
  }
}

// ---- Attribution ----

TEST(EvidenceAttribution, SharesSumToTheWealth) {
  for (const auto& options : {blocks_of(4), with_pairs()}) {
    Engine run(12, options);
    for (const auto& one : random_stream(5'000, 12, 4, 90)) run.add(one.prompt, one.policy, one.success);
    double plain = 0, margin = 0;
    for (const auto& prompt : run.prompts.rows) plain += prompt.plain_nats, margin += prompt.margin_nats;
    EXPECT_NEAR(plain, log_mixture(run.partition.plain), 1e-6);
    EXPECT_NEAR(margin, log_mixture(run.partition.margin), 1e-6);
  }
}

TEST(EvidenceAttribution, NamesTheSpecialistAndItsPrompt) {
  Engine run(20, blocks_of(8));
  FastRandom random(5);
  for (int t = 0; t < 20'000; ++t) {
    const auto prompt = static_cast<std::uint32_t>(bounded(random, 20));
    const auto policy = static_cast<std::uint32_t>(bounded(random, 4));
    const bool special = prompt == 7 && policy == 2;
    run.add(prompt, policy, bernoulli(random, special ? 0.95 : 0.3 + 0.1 * policy));
  }
  EXPECT_GT(log_mixture(run.partition.margin), std::log(100));
  std::vector<const PromptEvidence*> prompts;
  for (const auto& prompt : run.prompts.rows) prompts.push_back(&prompt);
  const auto policies = attribute(prompts, 4, EvidenceNull::kMargin, 3);
  ASSERT_EQ(policies.size(), 4u);
  ASSERT_EQ(policies[2].better.size(), 3u);
  EXPECT_EQ(policies[2].better[0].prompt, 7u);
  EXPECT_GT(policies[2].better[0].cell.log_odds, 0.5);
  EXPECT_GT(policies[2].better[0].cell.nats, 5 * policies[2].better[1].cell.nats);
  for (const std::uint32_t other : {0u, 1u, 3u}) EXPECT_EQ(policies[other].worse[0].prompt, 7u);
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_TRUE(i == 7 || prompts[7]->margin_nats > prompts[i]->margin_nats) << i;
  }
}

TEST(EvidenceAttribution, NothingLearnedIsEmpty) {
  EXPECT_TRUE(attribute({}, 0, EvidenceNull::kMargin, 5).empty());
  const PromptEvidence fresh;
  const PromptEvidence* prompts[] = {&fresh};
  const auto policies = attribute(prompts, 2, EvidenceNull::kRedeal, 5);
  ASSERT_EQ(policies.size(), 2u);
  EXPECT_TRUE(policies[1].better.empty() && policies[1].worse.empty());
  EXPECT_EQ(policies[1].nats, 0);
}

}  // namespace
}  // namespace gapwatch::stats
