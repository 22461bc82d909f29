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
#include "stats/evaluation.h"
#include "stats/running.h"

namespace gapwatch::exporters {

struct RouterReport {
  std::string router;
  stats::RouterSummary summary;
};

struct MonitorReport {
  std::string name, eval, scorer;
  std::optional<std::string> slice;
  std::string window;  // as in the config: "all", "last_draws: 16"
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
  TimeMs evaluated_at = 0;
  double evaluation_seconds = 0;
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
};

struct StreamHealth {
  std::map<std::string, std::uint64_t> events;    // by result: applied, duplicate, correction, ...
  std::map<std::string, std::uint64_t> rejected;  // by reason
  std::vector<PartitionHealth> partitions;
  TimeMs watermark = 0;          // largest event time applied; 0: none
  std::uint64_t rebalances = 0, cells = 0, prompts = 0, state_bytes = 0;
  std::map<std::string, std::uint64_t> overflow;  // by kind: policy, prompt
  std::vector<std::uint64_t> apply_seconds_buckets;  // counts per bound of kApplyBounds, last is +Inf
  double apply_seconds_sum = 0;
  bool paused = false, ready = false;
  bool config_reload_success = true;  // of the last reload; true before the first
  std::string trouble;           // one line while something is wrong (disk full, broker away); empty when well
};

// Upper bounds in seconds of the histogram of one batch's decode and apply.
inline constexpr double kApplyBounds[] = {0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0};

// One prompt that drives the gap, for /prompts.
struct PromptReport {
  std::string prompt, slice;
  struct Cell {
    std::string policy;
    std::uint32_t trials = 0, successes = 0;
    double posterior_mean = 0;
    stats::Interval interval;
  };
  std::vector<Cell> cells;  // by pool order
  double premium = 0;       // product union - ceiling
  double ceiling = 0;
  bool disagrees = false;   // at the alarm threshold: some policy covers and some does not
};

// Everything a reader may see of one moment.
struct Published {
  std::vector<std::shared_ptr<const MonitorReport>> monitors;  // by name
  StreamHealth stream;
  TimeMs at = 0;
};

}  // namespace gapwatch::exporters
