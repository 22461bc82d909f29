// Evidence in the state: each response once, through any death, in any interleaving.
#include <random>

#include "state/ledger.h"
#include "tests/support/evidence.h"

namespace gapwatch::state {
namespace {

using testing::difference;
using testing::evidence_bytes;
using testing::EventMaker;
using testing::PoolStream;

config::Monitor monitor(const std::string& name) {
  config::Monitor made;
  made.name = name;
  made.eval = "eval";
  made.scorer = "scorer";
  return made;
}

// Every policy (pairs take over); a closed pool in blocks; a slice; a horizon; the re-deal null alone; none.
config::Settings many_monitors() {
  config::Settings settings;
  for (const char* name : {"all", "closed", "easy", "ordered", "redeal", "none"}) settings.monitors.push_back(monitor(name));
  settings.monitors[1].policies = {"policy-0", "policy-1", "policy-3"};
  settings.monitors[2].slice = "easy";
  settings.monitors[3].evidence.horizon = 3;
  settings.monitors[4].evidence.margin = config::MarginBets::kOff;
  settings.monitors[5].evidence.enabled = false;
  return settings;
}

std::unique_ptr<Ledger> open(const config::Settings& settings, Store* store, int partitions = 1) {
  auto ledger = std::make_unique<Ledger>(settings, store);
  EXPECT_TRUE(ledger->open());
  for (int p = 0; p < partitions; ++p) EXPECT_TRUE(ledger->take_partition("t", p));
  return ledger;
}

void count(Ledger& ledger, const Event& event, Offset offset, int partition = 0) {
  Shard& shard = *ledger.shard("t", partition);
  auto placed = event;
  placed.arrival = static_cast<std::uint64_t>(offset);
  placed.time = 1'000 + offset;
  ASSERT_NE(shard.apply(placed).applied, Applied::kRejected);
  shard.set_next_offset(offset + 1);
}

EvidenceMoment moment_of(Ledger& ledger, MonitorIndex m = 0) {
  ledger.refresh();
  return ledger.moment(m).evidence.value();
}

// Duplicates, corrections, retractions, unscored ones, slices, versions, counts and propensities.
std::vector<Event> everything(EventMaker& maker, std::size_t size) {
  static std::deque<std::vector<RouteWeight>> weights;
  std::vector<Event> events;
  while (events.size() < size) {
    if (!events.empty() && maker.below(25) == 0) {
      events.push_back(events[maker.below(events.size())]);
      continue;
    }
    auto event = maker.random_event();
    if (event.kind == EventKind::kDraw && maker.below(16) == 0) {
      const double own = maker.below(2) == 0 ? 0.25 : 0.5;
      weights.push_back({{event.policy, own}, {maker.keep("policy-9"), 1 - own}});
      event.propensity = own;
      event.propensities = weights.back();
    }
    events.push_back(event);
  }
  return events;
}

TEST(Evidence, DeathAtAnyStepLeavesItAsWithoutToTheBit) {
  auto settings = many_monitors();
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    settings.state.cache_bytes = seed % 2 == 0 ? 1'000 : 1 << 30;  // rows and evidence in the store alone, or in memory
    EventMaker maker(seed);
    const auto events = everything(maker, 1'500);
    MemoryStore store;
    auto whole = open(settings, nullptr);
    auto dying = open(settings, &store);
    std::mt19937_64 random(seed);
    for (std::size_t i = 0; i < events.size(); ++i) count(*whole, events[i], static_cast<Offset>(i));
    for (std::size_t i = 0; i < events.size();) {
      count(*dying, events[i], static_cast<Offset>(i));
      ++i;
      if (random() % 30 == 0) {
        store.fail_next_writes(random() % 4 == 0 ? 1 : 0);
        (void)dying->checkpoint();
        store.fail_next_writes(0);
      }
      if (random() % 40 == 0) {
        dying = open(settings, &store);
        i = static_cast<std::size_t>(dying->shard("t", 0)->next_offset().value_or(0));
      }
    }
    ASSERT_EQ(difference(evidence_bytes(*dying), evidence_bytes(*whole)), "") << "seed " << seed;
    const auto& counts = whole->shard("t", 0)->evidence().part(0)->evidence.counts;
    EXPECT_GT(counts.batches, 20u);
    EXPECT_GT(counts.events, 25u);
    EXPECT_GT(counts.pairs, 100u);
    EXPECT_GT(counts.late_amendments, 0u);
    EXPECT_EQ(whole->shard("t", 0)->evidence().part(5), nullptr);
  }
}

TEST(Evidence, FiftyDeathsOfOnePartitionLeaveWealthAndRestartsToTheBit) {
  config::Settings settings;
  settings.monitors = {monitor("m")};
  const PoolStream stream{.seed = 4, .specialists = true};
  constexpr Offset kEvents = 20'000;
  auto whole = open(settings, nullptr);
  std::vector<Event> events;
  for (Offset at = 0; at < kEvents; ++at) {
    events.push_back(stream.event(static_cast<std::uint64_t>(at)));
    events.back().arrival = static_cast<std::uint64_t>(at);
    events.back().time = 1'000 + at;
  }
  std::vector<ApplyResult> results(events.size());
  whole->shard("t", 0)->apply(events, results);
  MemoryStore store;
  auto dying = open(settings, &store);
  std::mt19937_64 random(9);
  int deaths = 0;
  for (Offset at = 0; at < kEvents;) {
    count(*dying, stream.event(static_cast<std::uint64_t>(at)), at);
    ++at;
    if (random() % 100 == 0) {
      ASSERT_TRUE(dying->checkpoint());
    }
    if (deaths < 50 && random() % 300 == 0) {
      ++deaths;
      dying = open(settings, &store);
      at = dying->shard("t", 0)->next_offset().value_or(0);
    }
  }
  EXPECT_EQ(deaths, 50);
  EXPECT_EQ(difference(evidence_bytes(*dying), evidence_bytes(*whole)), "");
  const auto moment = moment_of(*whole);
  EXPECT_TRUE(moment.margin.reached);
  EXPECT_GT(moment.margin.reached_at, 1'000);
  EXPECT_GT(moment.margin.log_e, std::log(100.0));
  EXPECT_GT(moment.counts.blocks, 100u);
}

TEST(Evidence, WealthOverSixPartitionsIsTheSameInAnyInterleaving) {
  config::Settings settings;
  settings.monitors = {monitor("m")};
  const PoolStream stream{.seed = 5, .specialists = true};
  constexpr int kPartitions = 6;
  std::vector<std::vector<Event>> parts(kPartitions);
  for (std::uint64_t n = 0; n < 12'000; ++n) {
    const auto event = stream.event(n);
    parts[std::hash<std::string_view>{}(event.prompt) % kPartitions].push_back(event);
  }
  std::optional<stats::EvidenceTotal> first;
  std::map<std::string, std::string> first_bytes;
  std::mt19937_64 random(2);
  for (int order = 0; order < 5; ++order) {
    auto ledger = open(settings, nullptr, kPartitions);
    std::vector<std::size_t> next(kPartitions, 0);
    for (std::size_t left = 12'000; left > 0;) {
      const auto p = random() % kPartitions;
      for (auto run = 1 + random() % 200; run > 0 && next[p] < parts[p].size(); --run, --left) {
        const auto offset = static_cast<Offset>(next[p]);
        count(*ledger, parts[p][next[p]++], offset, static_cast<int>(p));
      }
    }
    stats::EvidenceTotal total;
    for (const auto& [place, shard] : ledger->shards()) {
      if (const auto* part = shard->evidence().part(0)) total.add(part->evidence);
    }
    auto bytes = evidence_bytes(*ledger);
    bytes.erase("monitor 0");  // its restarts step in processing order
    if (!first) {
      first = total;
      first_bytes = bytes;
      EXPECT_GT(total.margin_log_e(), std::log(100.0));
    }
    EXPECT_EQ(total.plain, first->plain);
    EXPECT_EQ(total.margin, first->margin);
    EXPECT_EQ(difference(bytes, first_bytes), "");
    EXPECT_TRUE(moment_of(*ledger).margin.reached);
  }
}

TEST(Evidence, APartitionGivenUpWithoutBeingSavedIsReadAgainAndBetOnOnce) {
  config::Settings settings;
  settings.monitors = {monitor("m")};
  const PoolStream stream{.seed = 6};
  MemoryStore store;
  auto whole = open(settings, nullptr);
  auto moved = open(settings, &store);
  for (Offset at = 0; at < 4'000; ++at) {
    count(*whole, stream.event(static_cast<std::uint64_t>(at)), at);
    count(*moved, stream.event(static_cast<std::uint64_t>(at)), at);
    if (at == 1'500) {
      ASSERT_TRUE(moved->checkpoint());
    }
  }
  moved->drop_partition("t", 0);
  const auto next = moved->take_partition("t", 0);
  ASSERT_TRUE(next);
  ASSERT_EQ(next->value(), 1'501);
  for (Offset at = 1'501; at < 4'000; ++at) count(*moved, stream.event(static_cast<std::uint64_t>(at)), at);
  EXPECT_EQ(difference(evidence_bytes(*moved), evidence_bytes(*whole)), "");
}

Event draw(std::string_view prompt, std::string_view policy, std::uint64_t draw, Outcome outcome) {
  Event event;
  event.eval = "eval";
  event.scorer = "scorer";
  event.prompt = prompt;
  event.policy = policy;
  event.draw = draw;
  event.outcome = outcome;
  return event;
}

stats::EvidenceCounts counts_of(Ledger& ledger, MonitorIndex m = 0) { return moment_of(ledger, m).counts; }

TEST(Evidence, ADrawEntersOnceWhateverIsSaidOfItLater) {
  config::Settings settings;
  settings.monitors = {monitor("m")};
  auto ledger = open(settings, nullptr);
  Shard& shard = *ledger->shard("t", 0);
  auto event = draw("p", "a", 3, Outcome::kUnscored);
  EXPECT_EQ(shard.apply(event).applied, Applied::kApplied);
  EXPECT_EQ(shard.evidence().part(0), nullptr) << "unscored: no trial";
  event.outcome = Outcome::kSuccess;
  EXPECT_EQ(shard.apply(event).applied, Applied::kCorrection);
  EXPECT_EQ(counts_of(*ledger).responses, 1u) << "judged now: it enters";
  EXPECT_EQ(shard.apply(event).applied, Applied::kDuplicate);
  event.outcome = Outcome::kFailure;
  EXPECT_EQ(shard.apply(event).applied, Applied::kCorrection);
  EXPECT_FALSE(shard.evidence().prompt(0, shard.rows()[0])->waiting[0].success) << "corrected while it waits";
  event.kind = EventKind::kRetract;
  EXPECT_EQ(shard.apply(event).applied, Applied::kRetracted);
  EXPECT_TRUE(shard.evidence().prompt(0, shard.rows()[0])->waiting.empty());
  event.kind = EventKind::kDraw;
  EXPECT_EQ(shard.apply(event).applied, Applied::kApplied);
  EXPECT_EQ(counts_of(*ledger).responses, 1u) << "taken back: it does not enter again";
  EXPECT_EQ(counts_of(*ledger).late_amendments, 0u);
  for (std::uint64_t n = 10; n < 18; ++n) shard.apply(draw("p", n % 2 == 0 ? "a" : "b", n, Outcome::kSuccess));
  EXPECT_EQ(shard.apply(draw("p", "b", 11, Outcome::kFailure)).applied, Applied::kCorrection);
  EXPECT_EQ(counts_of(*ledger).late_amendments, 1u) << "its batch is closed";
  EXPECT_EQ(counts_of(*ledger).responses, 9u);
}

TEST(Evidence, PreCountedTrialsAndStrangersStayOut) {
  config::Settings settings;
  settings.monitors = {monitor("m"), monitor("other")};
  settings.monitors[0].policies = {"a", "b"};
  auto ledger = open(settings, nullptr);
  Shard& shard = *ledger->shard("t", 0);
  auto counts = draw("p", "a", 0, Outcome::kSuccess);
  counts.kind = EventKind::kCounts;
  counts.trials = 5;
  shard.apply(counts);
  EXPECT_EQ(shard.evidence().part(0), nullptr);
  shard.apply(draw("p", "stranger", 0, Outcome::kSuccess));
  EXPECT_EQ(counts_of(*ledger, 0).responses, 0u);
  EXPECT_EQ(counts_of(*ledger, 1).responses, 1u);
}

TEST(Evidence, ResponsesAreTakenInOrderOfDrawWithinTheHorizon) {
  config::Settings settings;
  settings.monitors = {monitor("m")};
  settings.monitors[0].evidence.horizon = 8;
  std::vector<Event> events;
  const PoolStream stream{.seed = 8, .prompts = 1, .specialists = true};
  for (std::uint64_t n = 0; n < 2'000; ++n) events.push_back(stream.event(n));
  std::optional<stats::EvidenceTotal> first;
  std::mt19937_64 random(1);
  for (int order = 0; order < 4; ++order) {
    auto shuffled = events;
    // Within four places: no response is overtaken by more than eight of its prompt.
    for (std::size_t i = 0; i + 4 <= shuffled.size(); i += 4) {
      std::shuffle(shuffled.begin() + static_cast<std::ptrdiff_t>(i), shuffled.begin() + static_cast<std::ptrdiff_t>(i) + 4, random);
    }
    auto ledger = open(settings, nullptr);
    for (std::size_t i = 0; i < shuffled.size(); ++i) count(*ledger, shuffled[i], static_cast<Offset>(i));
    EXPECT_EQ(counts_of(*ledger).late, 0u);
    EXPECT_GT(counts_of(*ledger).blocks, 10u);
    stats::EvidenceTotal total;
    total.add(ledger->shard("t", 0)->evidence().part(0)->evidence);
    if (!first) first = total;
    // Columns are in order of first sight, which touches the last digits.
    EXPECT_NEAR(total.plain_log_e(), first->plain_log_e(), 1e-9);
    EXPECT_NEAR(total.margin_log_e(), first->margin_log_e(), 1e-9);
    EXPECT_EQ(total.counts, first->counts);
  }
}

TEST(Evidence, BetsOnSingleResponsesWhereEveryPolicysPropensityIsKnown) {
  config::Settings settings;
  settings.monitors = {monitor("m"), monitor("two")};
  settings.monitors[1].policies = {"a", "b"};
  auto ledger = open(settings, nullptr);
  Shard& shard = *ledger->shard("t", 0);
  std::uint64_t next = 0;
  const auto events_after = [&](std::vector<RouteWeight> weights, std::optional<double> own, std::string_view version = "") {
    ++next;
    auto event = draw("p", "a", next, next % 2 == 0 ? Outcome::kSuccess : Outcome::kFailure);
    event.propensity = own;
    event.propensities = weights;
    event.version = version;
    shard.apply(event);
    return std::pair(counts_of(*ledger, 0).events, counts_of(*ledger, 1).events);
  };
  EXPECT_EQ(events_after({}, std::nullopt), std::pair(0ul, 0ul));
  EXPECT_EQ(events_after({}, 0.5), std::pair(0ul, 0ul)) << "a number alone says nothing of the others";
  EXPECT_EQ(events_after({{"a", 0.5}, {"b", 0.5}}, 0.5), std::pair(1ul, 1ul));
  EXPECT_EQ(events_after({{"a", 0.5}, {"b", 0.25}, {"c", 0.25}}, 0.5), std::pair(2ul, 2ul)) << "given that the pool was asked";
  EXPECT_EQ(events_after({{"a", 0.5}, {"b", 0.3}}, 0.5), std::pair(2ul, 2ul)) << "somebody is missing";
  EXPECT_EQ(events_after({{"a", 0.5}, {"b", 0.5}}, 0.5, "v2"), std::pair(2ul, 2ul)) << "of which version?";
  EXPECT_EQ(events_after({{"a", 1.0}}, 1.0), std::pair(3ul, 3ul));
}

// Draws here are ids, which have no order; grades overtake each other by up to three places.
TEST(Evidence, BatchesCloseInOrderOfTheSequence) {
  config::Settings settings;
  settings.monitors = {monitor("m"), monitor("arrival")};
  settings.monitors[0].evidence.horizon = 4;
  const PoolStream stream{.seed = 11, .prompts = 1};
  auto in_order = open(settings, nullptr), overtaken = open(settings, nullptr);
  const auto event_at = [&](std::uint64_t number) {
    auto event = stream.event(number);
    event.draw = (std::uint64_t{1} << 63) + (number * 2'654'435'761u) % 100'003;
    event.sequence = number;
    return event;
  };
  constexpr std::uint64_t kEvents = 800;
  std::mt19937_64 random(5);
  std::vector<std::uint64_t> arrivals(kEvents);
  for (std::uint64_t i = 0; i < kEvents; ++i) arrivals[i] = i;
  for (std::uint64_t i = 2; i + 4 <= kEvents; i += 4) {  // across the ends of batches
    std::shuffle(arrivals.begin() + static_cast<std::ptrdiff_t>(i), arrivals.begin() + static_cast<std::ptrdiff_t>(i + 4), random);
  }
  for (std::uint64_t i = 0; i < kEvents; ++i) {
    count(*in_order, event_at(i), static_cast<Offset>(i));
    count(*overtaken, event_at(arrivals[i]), static_cast<Offset>(i));
  }
  const auto part = [](Ledger& ledger, MonitorIndex m) { return ledger.shard("t", 0)->evidence().part(m)->evidence; };
  EXPECT_GT(part(*in_order, 0).counts.blocks, 5u);
  EXPECT_EQ(part(*overtaken, 0).counts.late, 0u);
  EXPECT_TRUE(part(*overtaken, 0) == part(*in_order, 0));
  EXPECT_FALSE(part(*overtaken, 1) == part(*in_order, 1)) << "without a horizon they count as they come";
}

TEST(Evidence, ACorrectionFindsAWaitingResponseByItsSequenceAndNothingEntersTwice) {
  config::Settings settings;
  settings.monitors = {monitor("m")};
  settings.monitors[0].evidence.horizon = 4;
  auto ledger = open(settings, nullptr);
  Shard& shard = *ledger->shard("t", 0);
  const auto send = [&](std::optional<std::uint64_t> sequence, Outcome outcome, EventKind kind = EventKind::kDraw) {
    auto event = draw("p", "a", 7, outcome);
    event.kind = kind;
    event.sequence = sequence;
    shard.apply(event);
    return counts_of(*ledger, 0);
  };
  EXPECT_EQ(send(100, Outcome::kSuccess).responses, 1u);
  EXPECT_EQ(send(100, Outcome::kFailure).late_amendments, 0u);
  EXPECT_EQ(send(std::nullopt, Outcome::kSuccess).late_amendments, 1u) << "which place was it?";
  EXPECT_EQ(send(std::nullopt, Outcome::kSuccess, EventKind::kRetract).late_amendments, 2u);
  EXPECT_EQ(send(100, Outcome::kSuccess).responses, 1u) << "it was taken back";
}

}  // namespace
}  // namespace gapwatch::state
