// Anytime-valid evidence of one monitor: what to keep with a prompt, with a partition, with the monitor; and
// the engine that a response goes through.
//
// Against the re-deal null (any difference between policies on a prompt): batches of eight responses of a
// prompt or, for responses whose routing probabilities are known, one response at a time. Against the margin
// null (differences beyond a policy's overall level, i.e. specialization): blocks of batches, or pooled pairs
// above six policies.
//
// Each closed batch, response, block or pool is an e-value per component, given the past. Wealth is a
// partition's and depends on that partition's records alone, in their order; a monitor's is the sum over
// partitions, component by component, mixed after adding. What it proves under which traffic:
// docs/EVIDENCE.md.
//
// Policies are columns 0, 1, 2... of the monitor's pool as the partition meets them; they are never
// renumbered, and a policy that is new to the pool is a new column, with nothing learned. Where columns must
// move all the same, move_columns() does it. Their order touches results through rounding alone.
//
// State is plain: every struct lists its fields by fields(self, f), for a caller that stores them. State read
// back goes on to the same bits.
//
// Threads: one engine a thread; state as plain values.
// Cost: 0.4 to 1.5 us an event for both nulls, 3 to 4 us with propensities (docs/EVIDENCE.md, "Cost").
// Memory: a prompt 104 bytes, 16 for each response that may wait (8 + horizon), 32 a policy; a partition
// 68 bytes a pair of policies once pairs are formed. No allocation once warm.
// Source: sequential.md.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stats/evidence_batch.h"
#include "stats/evidence_block.h"
#include "stats/evidence_components.h"
#include "stats/evidence_pairs.h"
#include "stats/evidence_restart.h"

namespace gapwatch::stats {

// A prompt as the caller numbers it. Opaque here; stored state must name the prompt instead.
struct PromptKey {
  std::uint32_t value = 0;
  friend bool operator==(const PromptKey&, const PromptKey&) = default;
};

enum class MarginDesign : std::uint8_t {
  kAuto,    // blocks up to kMaxBlockPolicies columns, pairs from the response on that brings one more
  kBlocks,  // sampled where they cannot be exact
  kPairs,   // for prompts that get few responses, or many policies
  kOff,
};
inline constexpr std::uint32_t kMaxBlockPolicies = 6;

struct EvidenceOptions {
  bool plain = true;  // bet against the re-deal null
  MarginDesign margin = MarginDesign::kAuto;
  std::uint32_t block_batches = 8;  // G, 1 to kMaxBlockRows
  // A prompt's responses are put in order of request while this many of its later ones are awaited.
  std::uint32_t horizon = 0;
  // Bet on single responses where every policy's routing probability is given.
  bool use_propensities = true;
  BlockSampling sampling;  // its seed must differ between partitions
};

// ---- State of a prompt ----

struct WaitingResponse {
  std::uint64_t sequence = 0;
  std::uint32_t policy = 0;
  bool success = false;
  bool priced = false;  // bet on already, by its propensity
  template <typename F>
  static void fields(auto& self, F&& f) {
    f(self.sequence), f(self.policy), f(self.success), f(self.priced);
  }
  friend bool operator==(const WaitingResponse&, const WaitingResponse&) = default;
};

// What is learned of one policy on one prompt, against each null.
struct MemberEvidence {
  Learned plain, margin;
  template <typename F>
  static void fields(auto& self, F&& f) {
    f(self.plain), f(self.margin);
  }
  friend bool operator==(const MemberEvidence&, const MemberEvidence&) = default;
};

struct PromptEvidence {
  std::vector<WaitingResponse> waiting;     // the open batch, then those held back, by (sequence, policy)
  std::uint32_t open = 0;                   // how many of them are in the open batch
  std::uint64_t released = 0;               // 1 + the highest sequence that has left the horizon; 0: none
  std::vector<MemberEvidence> members;      // by column; beyond the end: nothing learned
  std::uint32_t trials = 0, successes = 0;  // seen so far by the single-response design
  PairQueue pairs;
  double plain_nats = 0, margin_nats = 0;  // this prompt's share of its partition's log mixture wealth
  template <typename F>
  static void fields(auto& self, F&& f) {
    f(self.waiting), f(self.open), f(self.released), f(self.members), f(self.trials), f(self.successes);
    f(self.pairs), f(self.plain_nats), f(self.margin_nats);
  }
  friend bool operator==(const PromptEvidence&, const PromptEvidence&) = default;
};

// ---- State of a partition ----

struct PolicyEvidence {
  Pooled plain;
  double margin_level = 0, margin_variance = 0;  // log-odds of the policy, learned; and what it rests on
  template <typename F>
  static void fields(auto& self, F&& f) {
    f(self.plain), f(self.margin_level), f(self.margin_variance);
  }
  friend bool operator==(const PolicyEvidence&, const PolicyEvidence&) = default;
};

struct BlockRow {
  PromptKey prompt;
  Batch batch;
  template <typename F>
  static void fields(auto& self, F&& f) {
    f(self.prompt), f(self.batch);
  }
  friend bool operator==(const BlockRow&, const BlockRow&) = default;
};

// Discordant pairs of policies a < b that wait for their pool to fill.
struct PairPool {
  std::array<PromptKey, kPoolSize> prompts{};
  std::uint16_t won = 0;  // bit j: a won pair j
  std::uint16_t size = 0;
  template <typename F>
  static void fields(auto& self, F&& f) {
    f(self.size), f(self.won), f(self.prompts);
  }
  friend bool operator==(const PairPool&, const PairPool&) = default;
};

struct EvidenceCounts {
  std::uint64_t responses = 0;
  std::uint64_t batches = 0, blocks = 0, pools = 0, events = 0;  // closed and paying: e-values
  std::uint64_t sampled_blocks = 0;                              // of the blocks
  std::uint64_t idle_batches = 0;  // closed without information for the re-deal null
  std::uint64_t pairs = 0, concordant = 0;
  std::uint64_t late = 0;             // came after the horizon had passed their place
  std::uint64_t late_amendments = 0;  // corrections and retractions of responses already bet on
  std::uint64_t without_propensity = 0;
  std::uint64_t dropped_rows = 0;  // of the block that was open when pairs took over
  std::uint64_t plain_closed() const { return batches + events; }
  std::uint64_t margin_closed() const { return blocks + pools; }
  void add(const EvidenceCounts& other);
  template <typename F>
  static void fields(auto& self, F&& f) {
    f(self.responses), f(self.batches), f(self.blocks), f(self.pools), f(self.events), f(self.sampled_blocks);
    f(self.idle_batches), f(self.pairs), f(self.concordant), f(self.late), f(self.late_amendments);
    f(self.without_propensity), f(self.dropped_rows);
  }
  friend bool operator==(const EvidenceCounts&, const EvidenceCounts&) = default;
};

struct PartitionEvidence {
  std::vector<PolicyEvidence> policies;  // by column
  Dispersion plain_dispersion, margin_dispersion;
  PlainWealth plain{};
  MarginWealth margin{};
  std::vector<BlockRow> block;     // open
  std::vector<PairPool> pools;     // pair a < b at b (b - 1) / 2 + a
  std::uint64_t margin_units = 0;  // blocks begun: numbers their random keys
  bool pairing = false;            // pairs have taken over
  EvidenceCounts counts;
  template <typename F>
  static void fields(auto& self, F&& f) {
    f(self.policies), f(self.plain_dispersion), f(self.margin_dispersion), f(self.plain), f(self.margin);
    f(self.block), f(self.pools), f(self.margin_units), f(self.pairing), f(self.counts);
  }
  friend bool operator==(const PartitionEvidence&, const PartitionEvidence&) = default;
};

// A monitor over its partitions: wealths add.
struct EvidenceTotal {
  PlainWealth plain{};
  MarginWealth margin{};
  EvidenceCounts counts;
  void add(const PartitionEvidence& partition);
  double plain_log_e() const { return log_mixture(plain); }  // without restarts
  double margin_log_e() const { return log_mixture(margin); }
};

// ---- The engine ----

// Where the prompts of a block or pool are found when it closes. References must stay good until add()
// returns; what they refer to is changed.
class PromptEvidenceSource {
 public:
  virtual ~PromptEvidenceSource() = default;
  virtual PromptEvidence& at(PromptKey prompt) = 0;
};

struct Response {
  PromptKey prompt;
  std::uint32_t policy = 0;  // column
  bool success = false;
  // Place in order of request: a sequence number, the draw, or the offset. Ignored at horizon 0.
  std::uint64_t sequence = 0;
  // By column, summing to 1, and positive for `policy`; empty where not every policy's is known.
  std::span<const double> propensities;
};

// The e-values that one response closed, log e by component; absent: none.
struct ClosedEvidence {
  std::optional<std::array<double, kComponents>> plain;
  std::optional<std::array<double, kMarginComponents>> margin;
};

enum class Amended : std::uint8_t {
  kInTime,   // it had not been bet on (or only by its propensity or in a pair): the batch will see the new
             // outcome
  kTooLate,  // its batch is closed: counted, and past evidence stays
};

class EvidenceEngine {
 public:
  explicit EvidenceEngine(const EvidenceOptions& options) : options_(options) {}

  // `prompt` is that of response.prompt, of this partition. The result lives until the next call.
  const ClosedEvidence& add(PartitionEvidence& partition, PromptEvidence& prompt, const Response& response,
                            PromptEvidenceSource& prompts);

  // A response got another outcome, or (none) is taken back. `sequence` and `policy` find it.
  Amended amend(PartitionEvidence& partition, PromptEvidence& prompt, std::uint32_t policy,
                std::uint64_t sequence, std::optional<bool> success);

  const EvidenceOptions& options() const { return options_; }

 private:
  void release(PartitionEvidence& partition, PromptEvidence& prompt, PromptKey key,
               PromptEvidenceSource& prompts);
  void bet_on_event(PartitionEvidence& partition, PromptEvidence& prompt, const Response& response);
  void close_batch(PartitionEvidence& partition, PromptEvidence& prompt, PromptKey key,
                   PromptEvidenceSource& prompts);
  void bet_on_batch(PartitionEvidence& partition, PromptEvidence& prompt, const Batch& batch);
  void close_block(PartitionEvidence& partition, PromptEvidenceSource& prompts);
  double learn_row(PartitionEvidence& partition, PromptEvidence& prompt, const Batch& batch,
                   const BatchLanes& tilts, const Lanes& share);
  void add_pair(PartitionEvidence& partition, PromptKey key, std::uint32_t a, std::uint32_t b, bool a_won,
                PromptEvidenceSource& prompts);
  void close_pool(PartitionEvidence& partition, PairPool& pool, std::uint32_t a, std::uint32_t b,
                  PromptEvidenceSource& prompts);
  void pay_plain(PartitionEvidence& partition, PromptEvidence& prompt, const Lanes& log_e);
  MixtureGain pay_margin(PartitionEvidence& partition, const Lanes& log_e);

  EvidenceOptions options_;
  BlockEvidence block_;
  ClosedEvidence closed_;
  // Scratch.
  std::vector<Lanes> event_tilts_;
  std::array<BatchLanes, kMaxBlockRows> row_tilts_{};
  std::array<TiltedBatch, kMaxBlockRows> rows_{};
  std::array<PromptEvidence*, kMaxBlockRows> row_prompts_{};
  std::array<double, kMaxBlockRows> scores_{};
};

// Column c becomes to[c]: distinct, below `columns`. For pools whose columns are kept in some other order.
void move_columns(PromptEvidence& prompt, std::span<const std::uint32_t> to);
void move_columns(PartitionEvidence& partition, std::span<const std::uint32_t> to, std::uint32_t columns);

}  // namespace gapwatch::stats
