// The report model: plain structs that every output renders, made from an immutable snapshot.
//
// Field names and meaning are those of interfaces.md, "Report JSON". Nothing here refers to
// live state, so a model may be shared by any number of readers.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "config/settings.h"
#include "state/evidence_moment.h"
#include "stats/confirmatory_looks.h"
#include "stats/evaluation.h"
#include "stats/nulls.h"
#include "stats/population_gap.h"
#include "stats/running.h"
#include "stats/voting.h"

namespace gapwatch::exporters {

struct RouterReport {
  std::string router;
  stats::RouterSummary summary;
};

// One prompt that drives the gap, for /prompts and the report.
struct PromptReport {
  std::string prompt, slice;
  struct Cell {
    std::string policy;
    std::uint32_t trials = 0, successes = 0;
    double posterior_mean = 0;
    stats::Interval interval;                  // posterior
    stats::Interval clopper_pearson = {};      // two-sided 95%; [0, 1] without trials
    double upper_limit = 1;                    // Clopper-Pearson, one-sided 95%
  };
  std::vector<Cell> cells;  // by pool order
  double premium = 0;       // product union - ceiling
  double ceiling = 0;
  bool disagrees = false;   // at the alarm threshold: some policy covers and some does not
  // Of complete prompts only; else false and 0.
  bool in_gap = false;      // at the alarm threshold: some policy covers, and the best single one there does not
  double gain = 0;          // ceiling - the rate of the policy with the best mean rate: its part of the recoverable gap
};

// The best single policy of another monitor of the same eval and scorer, held against this one's prompts.
struct ChosenElsewhere {
  std::string monitor, policy;
  bool other_data = false;  // the two look at different slices: no draw both chooses and scores
  double pass_at_1 = 0;     // of `policy`, on this monitor's complete prompts
};

struct MonitorReport {
  std::string name, eval, scorer;
  std::optional<std::string> slice;
  std::string window;  // as in the config: "all", "last_draws: 16", "sliding: 1d, step: 1h"
  std::optional<std::pair<TimeMs, TimeMs>> window_span;  // where a window by time is now, without its end
  std::vector<std::string> pool;  // by name
  std::map<std::string, std::string> groups;
  std::vector<double> thresholds;
  double band_low = 0, band_high = 0;
  double alarm_threshold = 0, alpha = 0;
  std::uint64_t seed = 0;
  std::int64_t prompts_total = 0;
  std::uint64_t unscored = 0;
  std::string state;              // collecting, insufficient, quiet, ... (interfaces.md)
  stats::PoolSummary summary;     // of the moment of the snapshot
  std::vector<RouterReport> routers;  // by name
  std::optional<stats::Evaluation> evaluation;  // of `evaluated_at`, perhaps older than the summary
  std::optional<state::EvidenceMoment> evidence;  // of the moment of the snapshot; none where it is off
  std::string family_note;                        // how the alarm's level is shared; empty: it is not
  std::vector<state::PolicyEvidenceShare> attribution;  // of the evaluation's moment
  std::optional<stats::PopulationGap> population_gap;   // of the evaluation; its lower end 0 until the alarm
  std::vector<ChosenElsewhere> chosen_elsewhere;  // by monitor; of a report, not of a live monitor
  std::vector<PromptReport> drivers;              // the prompts with the largest premium; likewise
  std::optional<stats::Voting> voting;            // where events gave answers; likewise
  std::vector<stats::ConfirmatoryLook> looks;     // where a plan was given; likewise
  TimeMs evaluated_at = 0;
  TimeMs checked_at = 0;  // of the counts that the evaluation's nulls are of; at most evaluated_at
  // The normal laws at evaluated_at, of a live monitor: renewed at every evaluation, the evaluation's nulls less often.
  std::shared_ptr<const stats::NullResults> live_nulls;
  double evaluation_seconds = 0;
  std::int64_t split_prompts = 0;  // of the last evaluation: on more than one partition, so counted as several
};

struct InputReport {
  std::vector<std::string> files;
  std::uint64_t events = 0, applied = 0, duplicates = 0, corrections = 0, retracted = 0, unmatched = 0;
  std::map<std::string, std::uint64_t> skipped, rejected;  // by reason
  std::string sha256;  // over all input bytes, in order; empty where there is no file
};

struct Report {
  std::string version;
  InputReport input;
  std::vector<MonitorReport> monitors;  // by name
};

// Health of the stream, for /metrics, /readyz and the page.
struct PartitionHealth {
  std::string topic;
  std::int32_t partition = 0;
  Offset next = 0;
  std::optional<std::int64_t> lag;
  TimeMs watermark = 0;  // largest event time applied; 0: none
};

struct StreamHealth {
  std::map<std::string, std::uint64_t> events;    // by result: applied, duplicate, correction, ...
  std::map<std::string, std::uint64_t> rejected, skipped;  // by reason
  std::uint64_t dead_letters = 0;  // written
  std::vector<PartitionHealth> partitions;
  TimeMs watermark = 0;          // largest event time applied; 0: none
  std::uint64_t rebalances = 0, cells = 0, prompts = 0, state_bytes = 0;
  std::map<std::string, std::uint64_t> overflow;  // by kind: policy, prompt
  std::vector<std::uint64_t> apply_seconds_buckets;  // counts per bound of kApplyBounds, last is +Inf
  double apply_seconds_sum = 0;
  std::uint64_t late = 0;           // responses whose window had gone on, since the start
  std::uint64_t split_prompts = 0;  // seen on a second partition
  bool paused = false, ready = false;
  bool state_writable = true;  // false while checkpoints fail
  bool config_reload_success = true;  // of the last reload; true before the first
  std::string trouble;           // one line while something is wrong (disk full, broker away); empty when well
};

// Upper bounds in seconds of the histogram of one batch's decode and apply.
inline constexpr double kApplyBounds[] = {0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0};

// Everything a reader may see of one moment.
struct Published {
  std::vector<std::shared_ptr<const MonitorReport>> monitors;  // by name
  StreamHealth stream;
  TimeMs at = 0;
};

}  // namespace gapwatch::exporters
