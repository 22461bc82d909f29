// Every setting as plain data, its default beside it. How each is written in YAML, its range and
// its help are in schema.cc; docs/CONFIG.md is printed from there.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config/mapping.h"

namespace gapwatch::config {

using std::chrono::milliseconds;

// Where a partition begins that the state does not know.
enum class StartAt { kEarliest, kLatest, kCommitted, kTime };

struct KafkaSource {
  std::string brokers;
  std::vector<std::string> topics;
  std::string group = "gapwatch";
  std::string instance;                           // group.instance.id (static membership); empty: none
  StartAt start = StartAt::kEarliest;
  std::int64_t start_time = 0;                    // of kTime: milliseconds since 1970
  std::map<std::string, std::int64_t> start_offsets;  // "topic/partition" -> offset; goes before `start`
  bool wait_for_topics = false;                   // a topic that is not there yet is waited for
  milliseconds session_timeout{10'000};           // how soon the group gives a dead monitor's partitions away
  std::uint64_t queue_bytes = 64 << 20;           // fetched and not yet counted, all partitions together
  std::map<std::string, std::string> properties;  // to librdkafka, untouched
  std::set<std::string> hidden_properties;  // those that came from a file or the environment: never shown
};

struct Source {
  std::optional<KafkaSource> kafka;
  std::vector<std::string> files;
  bool stdin_stream = false;
};

// Where records go that cannot be read; at most one is set.
struct DeadLetterSettings {
  std::string topic, file;
};

struct StateSettings {
  std::string path;                      // empty: in memory only
  milliseconds checkpoint_every{1'000};  // at most this much is consumed again after a crash
  milliseconds retain{0};                // a policy of an eval not heard of for so long is erased; 0: never
  std::uint64_t cache_bytes = 512 << 20;  // rows and evidence kept in memory
  std::uint64_t write_buffer_bytes = 32 << 20;
  std::uint64_t block_cache_bytes = 32 << 20;
};

struct HttpSettings {
  std::string listen = "127.0.0.1:9464";  // host:port; port 0 takes a free one
  std::string token;                      // bearer token for what writes; needed off loopback
  std::string tls_certificate, tls_key;   // PEM files, both or none; none: plain HTTP
  std::string tls_client_ca;              // PEM file; only who has a certificate of these may connect
};

// What a failed generation or evaluation counts as.
enum class ErrorOutcome { kUnscored, kFailure, kSkip };

// What an event means where it does not say.
struct EventDefaults {
  std::string eval;  // empty: the topic's or file's name
  std::string scorer = "default";
  std::optional<double> success_at;  // `score` at or above it is a success; none: 1, a mapping's is graded
  std::map<std::string, double> success_at_by_eval, success_at_by_scorer;  // the scorer's goes first
  bool later_wins = true;  // of two events on one draw, the one with the later time, in any order of arrival
  ErrorOutcome errors = ErrorOutcome::kUnscored;  // of a mapping's error_when
  std::map<std::string, ErrorOutcome> errors_by_scorer;
  std::uint32_t max_event_bytes = 1 << 20;
  std::uint32_t max_name_bytes = 512;  // prompt, policy, eval, scorer, slice, router, answer
};

enum class RateKind { kRaw, kPosterior };
enum class PriorKind { kUniform, kJeffreys, kGiven, kMoments, kLikelihood };

struct Prior {
  PriorKind kind = PriorKind::kUniform;
  double alpha = 1, beta = 1;  // of kGiven
};

// Which trials count: all; the last k draws of each cell; or those of a time. A window by time ends with the step the
// stream's latest event time, less the lateness, is in, and steps begin at whole numbers of steps since 1970.
struct Window {
  std::uint32_t last_draws = 0;  // 0: all; else by draw index
  milliseconds size{0};          // 0: not by time
  milliseconds step{0};          // by time: at most the size; the size itself: tumbling
  milliseconds lateness{0};      // how long an event may be late and still find its window open
  bool by_time() const { return size.count() > 0; }
  bool tumbling() const { return by_time() && step == size; }
  friend bool operator==(const Window&, const Window&) = default;
};

struct NullSettings {
  std::uint32_t replicates = 2'000;
  std::uint64_t seed = 1;
};

enum class MarginBets { kAuto, kBlocks, kPairs, kOff };

// The evidence that survives continuous looking. A change of any of these lets it start anew.
struct EvidenceSettings {
  bool enabled = true;
  MarginBets margin = MarginBets::kAuto;
  std::uint32_t horizon = 0;  // later responses of a prompt awaited before one is taken in order of request; 0: as they come
};

struct Monitor {
  std::string name;
  std::string eval, scorer;
  std::optional<std::string> slice;           // none: all prompts
  std::vector<std::string> policies;          // empty: auto, every policy seen
  std::map<std::string, std::string> groups;  // policy -> lineage
  milliseconds retire{0};                     // of auto: a policy not heard of for so long leaves the pool; 0: never
  std::vector<double> thresholds{0.05, 0.1, 0.2, 0.3};
  double band_low = 0.05, band_high = 0.30;
  std::uint32_t min_trials = 1;
  bool missing_as_fail = false;
  RateKind rates = RateKind::kRaw;
  Prior prior;
  Window window;
  milliseconds evaluate_every{30'000};
  NullSettings nulls;
  EvidenceSettings evidence;
  double alpha = 0.01;  // alarm
  double alarm_threshold = 0.1;
  std::string webhook;  // of the alarm; empty: none
};

// How monitors share the level of their alarms.
enum class FamilyRule { kEach, kBonferroni, kAverage, kEBh };

struct Settings {
  Source source;
  std::string format = "native";   // a preset's name, a mapping file, or "custom"
  std::optional<Mapping> mapping;  // none: native
  std::string mapping_text;        // of "custom", in one line of YAML
  EventDefaults events;
  DeadLetterSettings dead_letters;
  StateSettings state;
  HttpSettings http;
  Monitor automatic_monitor;           // thresholds, nulls and so on of the monitors nobody configured
  FamilyRule family = FamilyRule::kEach;
  std::vector<Monitor> monitors;       // empty: one for every (eval, scorer) seen, pool auto
  std::uint32_t threads = 0;           // for evaluations; 0: one per core
  std::uint32_t max_policies = 1'000;  // of one (eval, scorer)
  std::uint32_t max_monitors = 64;     // made automatically
  std::uint64_t max_prompts = 10'000'000;
};

}  // namespace gapwatch::config
