#include "state/ledger.h"

#include <random>
#include <set>

#include "tests/support/events.h"

namespace gapwatch::state {
namespace {

using testing::EventMaker;
using testing::NaiveCounts;

config::Monitor monitor(const std::string& name) {
  config::Monitor made;
  made.name = name;
  made.eval = "eval";
  made.scorer = "scorer";
  made.thresholds = {0.1, 0.5, 1.0};
  return made;
}

// All policies; a closed pool; a slice; a window of last draws; missing cells as failures.
config::Settings many_monitors() {
  config::Settings settings;
  settings.monitors = {monitor("all"), monitor("closed"), monitor("easy"), monitor("last"), monitor("missing")};
  settings.monitors[1].policies = {"policy-3", "policy-1"};
  settings.monitors[2].slice = "easy";
  settings.monitors[3].window.last_draws = 4;
  settings.monitors[4].missing_as_fail = true;
  return settings;
}

// The monitor's sums from naive counts: the definition, applied to every prompt.
MonitorSums naive_sums(const NaiveCounts& counts, const MonitorDef& monitor) {
  MonitorSums sums;
  sums.pool = stats::PoolSums(monitor.spec);
  for (const auto& [prompt, by_policy] : counts.cells) {
    const auto slice = counts.slices.find(prompt);
    if (monitor.config.slice && (slice == counts.slices.end() || slice->second != *monitor.config.slice)) continue;
    std::vector<stats::CellCount> cells;
    std::vector<std::map<std::uint64_t, Outcome>> draws;
    std::int64_t unscored = 0;
    bool any = false;
    for (const auto& policy : monitor.pool) {
      const auto at = by_policy.find(policy);
      const auto cell = at == by_policy.end() ? NaiveCounts::NaiveCell{} : at->second;
      auto [trials, successes, missed] = cell.counts();
      auto judged = cell.draws;
      std::erase_if(judged, [](const auto& draw) { return draw.second == Outcome::kUnscored; });
      if (const auto keep = monitor.config.window.last_draws; keep > 0) {
        while (judged.size() > keep) judged.erase(judged.begin());
        trials = static_cast<std::uint32_t>(judged.size());
        successes = static_cast<std::uint32_t>(std::count_if(
            judged.begin(), judged.end(), [](const auto& draw) { return draw.second == Outcome::kSuccess; }));
      }
      cells.push_back({trials, successes});
      draws.push_back(judged);
      unscored += missed;
      any |= trials > 0 || missed > 0;
    }
    if (!any) continue;
    ++sums.prompts;
    sums.unscored += unscored;
    stats::PromptView view{cells, {}};
    for (const auto& [draw, outcome] : draws.empty() ? std::map<std::uint64_t, Outcome>{} : draws[0]) {
      bool all = true, some = false;
      for (const auto& own : draws) {
        const auto at = own.find(draw);
        all &= at != own.end();
        some |= at != own.end() && at->second == Outcome::kSuccess;
      }
      view.paired.aligned += all;
      view.paired.any_success += all && some;
    }
    sums.pool.add(view);
    const auto routes = counts.routes.find(prompt);
    if (routes == counts.routes.end()) continue;
    for (const auto& [router, policy] : routes->second) {
      const auto at = std::find(monitor.pool.begin(), monitor.pool.end(), policy);
      if (at == monitor.pool.end()) continue;
      std::vector<double> weights(monitor.pool.size(), 0.0);
      weights[static_cast<std::size_t>(at - monitor.pool.begin())] = 1.0;
      sums.routers.try_emplace(router, monitor.spec).first->second.add(view, weights);
    }
  }
  std::erase_if(sums.routers, [](const auto& entry) {
    return entry.second.routed.complete == 0 && entry.second.routed.partial == 0;
  });
  return sums;
}

void expect_exact(Ledger& ledger, const NaiveCounts& counts, std::uint64_t seed) {
  ledger.refresh();
  for (MonitorIndex m = 0; m < ledger.monitor_count(); ++m) {
    const auto& def = *ledger.catalog().monitors()[m];
    const auto moment = ledger.moment(m);
    ASSERT_EQ(moment.sums, ledger.recount(m).value()) << "running sums drifted: " << def.config.name << ", seed " << seed;
    ASSERT_EQ(moment.sums, naive_sums(counts, def)) << "wrong sums: " << def.config.name << ", seed " << seed;
  }
}

TEST(Ledger, EqualsNaiveCountingAfterAnyEventsAndRestarts) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    auto settings = many_monitors();
    if (seed % 2 == 0) settings.state.cache_bytes = 250 * seed;  // too small for all rows
    bool evicted = false;
    MemoryStore store;
    auto ledger = std::make_unique<Ledger>(settings, &store);
    ASSERT_TRUE(ledger->open());
    ASSERT_TRUE(ledger->take_partition("topic", 0));
    EventMaker events(seed);
    NaiveCounts counts;
    for (int step = 0; step < 600; ++step) {
      const auto event = events.random_event();
      ASSERT_NE(ledger->shard("topic", 0)->apply(event).applied, Applied::kRejected);
      counts.apply(event);
      if (events.below(60) == 0) expect_exact(*ledger, counts, seed);
      if (events.below(15) == 0) {
        ASSERT_TRUE(ledger->checkpoint());
        evicted |= ledger->prompts_in_store() > 0;
      }
      if (events.below(100) == 0) {
        ASSERT_TRUE(ledger->checkpoint());
        ledger = std::make_unique<Ledger>(settings, &store);
        ASSERT_TRUE(ledger->open());
        ASSERT_TRUE(ledger->take_partition("topic", 0));
      }
    }
    expect_exact(*ledger, counts, seed);
    EXPECT_EQ(evicted, seed % 2 == 0) << "seed " << seed;
  }
}

TEST(Ledger, EventsAppliedTogetherAreAppliedOneAfterTheOther) {
  auto settings = many_monitors();
  settings.max_prompts = 7;  // so that some are refused
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Ledger one_by_one(settings, nullptr), together(settings, nullptr);
    ASSERT_TRUE(one_by_one.take_partition("topic", 0));
    ASSERT_TRUE(together.take_partition("topic", 0));
    EventMaker maker(seed);
    for (int round = 0; round < 30; ++round) {
      std::vector<Event> events;
      for (auto left = 1 + maker.below(40); left > 0; --left) events.push_back(maker.random_event());
      std::vector<ApplyResult> results(events.size());
      together.shard("topic", 0)->apply(events, results);
      for (std::size_t i = 0; i < events.size(); ++i) {
        const auto expected = one_by_one.shard("topic", 0)->apply(events[i]);
        ASSERT_EQ(results[i].applied, expected.applied) << "seed " << seed;
        ASSERT_EQ(results[i].reason, expected.reason) << "seed " << seed;
      }
      one_by_one.refresh();
      together.refresh();
      for (MonitorIndex m = 0; m < together.monitor_count(); ++m) {
        ASSERT_EQ(together.moment(m).sums, one_by_one.recount(m).value()) << "seed " << seed;
      }
    }
  }
}

// Draws with an identity and one outcome each: any order must give the same.
TEST(Ledger, ArrivalOrderDoesNotMatter) {
  const config::Settings settings;
  EventMaker maker(7);
  std::vector<Event> events;
  std::set<std::tuple<std::string, std::string, std::uint64_t>> seen;
  while (events.size() < 400) {
    auto event = maker.random_event();
    if (event.kind != EventKind::kDraw || !event.draw) continue;
    event.version = event.slice = {};
    if (seen.emplace(event.prompt, event.policy, *event.draw).second) events.push_back(event);
  }
  std::optional<MonitorSums> first;
  std::mt19937_64 random(3);
  for (int order = 0; order < 6; ++order) {
    Ledger ledger(settings, nullptr);
    ASSERT_TRUE(ledger.take_partition("a", 0));
    ASSERT_TRUE(ledger.take_partition("a", 1));
    for (const auto& event : events) {
      // Prompts are spread over two partitions by their last digit.
      ledger.shard("a", event.prompt.back() % 2)->apply(event);
      if (random() % 50 == 0) ledger.refresh();
    }
    ledger.refresh();
    ASSERT_EQ(ledger.monitor_count(), 1u);
    const auto moment = ledger.moment(0);
    EXPECT_EQ(moment.config.name, "eval.scorer");
    EXPECT_TRUE(std::is_sorted(moment.pool.begin(), moment.pool.end()));
    if (!first) first = moment.sums;
    EXPECT_EQ(moment.sums, *first);
    std::shuffle(events.begin(), events.end(), random);
  }
}

Event draw_event(std::string_view prompt, std::string_view policy, std::uint64_t draw, Outcome outcome) {
  Event event;
  event.eval = "eval";
  event.scorer = "scorer";
  event.prompt = prompt;
  event.policy = policy;
  event.draw = draw;
  event.outcome = outcome;
  return event;
}

TEST(Ledger, SaysWhatAnEventDid) {
  const config::Settings settings;
  Ledger ledger(settings, nullptr);
  ASSERT_TRUE(ledger.take_partition("t", 0));
  Shard& shard = *ledger.shard("t", 0);
  auto event = draw_event("p", "m", 3, Outcome::kSuccess);
  EXPECT_EQ(shard.apply(event).applied, Applied::kApplied);
  EXPECT_EQ(shard.apply(event).applied, Applied::kDuplicate);
  event.outcome = Outcome::kUnscored;
  EXPECT_EQ(shard.apply(event).applied, Applied::kCorrection);
  event.kind = EventKind::kRetract;
  EXPECT_EQ(shard.apply(event).applied, Applied::kRetracted);
  EXPECT_EQ(shard.apply(event).applied, Applied::kUnmatched);
  event.prompt = "never seen";
  EXPECT_EQ(shard.apply(event).applied, Applied::kUnmatched);
  EXPECT_EQ(shard.rows().size(), 1u) << "a retraction makes no row";
  event = draw_event("p", "m", 1, Outcome::kFailure);
  event.kind = EventKind::kCounts;
  event.trials = kMaxCount;
  EXPECT_EQ(shard.apply(event).applied, Applied::kApplied);
  EXPECT_EQ(shard.apply(event).reason, "count_overflow");
}

TEST(Ledger, ClosedPoolsAndCapsRefuseStrangersWithoutChangingAnything) {
  config::Settings settings;
  settings.monitors = {monitor("closed")};
  settings.monitors[0].policies = {"a", "b"};
  settings.max_prompts = 1;
  Ledger ledger(settings, nullptr);
  ASSERT_TRUE(ledger.take_partition("t", 0));
  Shard& shard = *ledger.shard("t", 0);
  EXPECT_EQ(shard.apply(draw_event("p", "stranger", 0, Outcome::kSuccess)).reason, "unknown_policy");
  EXPECT_TRUE(shard.rows().empty());
  EXPECT_EQ(shard.apply(draw_event("p", "a", 0, Outcome::kSuccess)).applied, Applied::kApplied);
  EXPECT_EQ(shard.apply(draw_event("q", "a", 0, Outcome::kSuccess)).reason, "too_many_prompts");
  EXPECT_EQ(shard.rows().size(), 1u);

  Event route;
  route.kind = EventKind::kRoute;
  route.eval = "eval";
  route.router = "knn";
  const RouteWeight to_a[] = {{"a", 1.0}}, to_b[] = {{"b", 1.0}};
  const auto decide = [&](std::string_view prompt, std::span<const RouteWeight> weights) {
    route.prompt = prompt;
    route.weights = weights;
    return shard.apply(route);
  };
  EXPECT_EQ(decide("p", to_a).applied, Applied::kApplied);
  EXPECT_EQ(decide("q", to_a).reason, "too_many_prompts");
  EXPECT_EQ(decide("p", to_a).applied, Applied::kDuplicate) << "a prompt that is known is not one more";
  EXPECT_EQ(decide("p", to_b).applied, Applied::kCorrection);

  config::Settings few;
  few.max_policies = 1;
  Ledger small(few, nullptr);
  ASSERT_TRUE(small.take_partition("t", 0));
  EXPECT_EQ(small.shard("t", 0)->apply(draw_event("p", "a", 0, Outcome::kSuccess)).applied, Applied::kApplied);
  EXPECT_EQ(small.shard("t", 0)->apply(draw_event("p", "b", 0, Outcome::kSuccess)).reason, "too_many_policies");
}

TEST(Ledger, AFailedCheckpointLosesNothingAndTheNextOneHasItAll) {
  const config::Settings settings;
  MemoryStore store;
  Ledger ledger(settings, &store);
  ASSERT_TRUE(ledger.open());
  ASSERT_TRUE(ledger.take_partition("t", 0));
  Shard& shard = *ledger.shard("t", 0);
  ASSERT_EQ(shard.apply(draw_event("p", "a", 0, Outcome::kSuccess)).applied, Applied::kApplied);
  shard.set_next_offset(1);
  store.fail_next_writes(1);
  const auto before = store.entries();
  const auto failed = ledger.checkpoint();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().action, Action::kRetry);
  EXPECT_EQ(store.entries(), before);
  ASSERT_EQ(shard.apply(draw_event("p", "b", 0, Outcome::kFailure)).applied, Applied::kApplied);
  shard.set_next_offset(2);
  ASSERT_TRUE(ledger.checkpoint());

  Ledger again(settings, &store);
  ASSERT_TRUE(again.open());
  const auto next = again.take_partition("t", 0);
  ASSERT_TRUE(next);
  EXPECT_EQ(*next, std::optional<Offset>(2));
  again.refresh();
  ledger.refresh();
  EXPECT_EQ(again.moment(0).sums, ledger.moment(0).sums);
  EXPECT_EQ(again.moment(0).pool, (std::vector<std::string>{"a", "b"}));
}

TEST(Ledger, APartitionDroppedLeavesTheSums) {
  const config::Settings settings;
  Ledger ledger(settings, nullptr);
  ASSERT_TRUE(ledger.take_partition("t", 0));
  ASSERT_TRUE(ledger.take_partition("t", 1));
  ledger.shard("t", 0)->apply(draw_event("p", "a", 0, Outcome::kSuccess));
  ledger.refresh();
  const auto alone = ledger.moment(0).sums;
  ledger.shard("t", 1)->apply(draw_event("q", "a", 0, Outcome::kFailure));
  ledger.refresh();
  EXPECT_EQ(ledger.moment(0).sums.prompts, 2);
  ledger.drop_partition("t", 1);
  ledger.refresh();
  EXPECT_EQ(ledger.moment(0).sums, alone);
}

TEST(Ledger, StateOfAnotherFormatOrOfSomethingElseIsRefused) {
  const config::Settings settings;
  MemoryStore later;
  WriteBatch batch;
  batch.put("M", std::string(1, '\x09'));
  ASSERT_TRUE(later.write(batch));
  Ledger ledger(settings, &later);
  const auto status = ledger.open();
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("format 9"), std::string::npos) << status.error().message;

  MemoryStore strange;
  WriteBatch other;
  other.put("somebody", "else");
  ASSERT_TRUE(strange.write(other));
  Ledger confused(settings, &strange);
  EXPECT_FALSE(confused.open());
}

TEST(Ledger, DamageIsFoundAndNamed) {
  const config::Settings settings;
  MemoryStore store;
  {
    Ledger ledger(settings, &store);
    ASSERT_TRUE(ledger.open());
    ASSERT_TRUE(ledger.take_partition("t", 0));
    ledger.shard("t", 0)->apply(draw_event("p", "a", 70, Outcome::kSuccess));
    ledger.shard("t", 0)->set_next_offset(1);
    ASSERT_TRUE(ledger.checkpoint());
  }
  for (const auto& [key, value] : store.entries()) {
    if (key == "M") continue;
    for (std::size_t cut = 0; cut < value.size(); ++cut) {
      if (key[0] == 'N') continue;  // any bytes are a name
      MemoryStore damaged(store);
      WriteBatch batch;
      batch.put(key, value.substr(0, cut));
      ASSERT_TRUE(damaged.write(batch));
      Ledger ledger(settings, &damaged);
      const auto opened = ledger.open();
      if (key[0] == 'A') {
        ASSERT_FALSE(opened) << "cut at " << cut;
        EXPECT_NE(opened.error().message.find("monitor \"eval.scorer\""), std::string::npos) << opened.error().message;
        continue;
      }
      ASSERT_TRUE(opened);
      const auto taken = ledger.take_partition("t", 0);
      ASSERT_FALSE(taken) << "cut at " << cut;
      EXPECT_NE(taken.error().message.find("t/0"), std::string::npos) << taken.error().message;
    }
  }
}

}  // namespace
}  // namespace gapwatch::state
