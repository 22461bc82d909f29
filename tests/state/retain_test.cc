// state.retain and retire: who is not heard of leaves the pool, then the store, and nothing else changes.
#include "state/keys.h"
#include "state/ledger.h"
#include "tests/support/evidence.h"

namespace gapwatch::state {
namespace {

using std::chrono::milliseconds;

Event draw(std::string_view eval, std::string_view prompt, std::string_view policy, std::uint64_t index,
           TimeMs time) {
  Event event;
  event.eval = eval;
  event.scorer = "scorer";
  event.prompt = prompt;
  event.policy = policy;
  event.draw = index;
  event.time = time;
  event.outcome = index % 3 == 0 ? Outcome::kFailure : Outcome::kSuccess;
  return event;
}

struct Fixture {
  config::Settings settings;
  MemoryStore store;
  std::unique_ptr<Ledger> ledger;

  explicit Fixture(std::uint64_t cache = 512 << 20) {
    settings.state.retain = milliseconds(1'000);
    settings.state.cache_bytes = cache;
    open();
  }
  void open() {
    ledger = std::make_unique<Ledger>(settings, &store);
    ASSERT_TRUE(ledger->open());
    ASSERT_TRUE(ledger->take_partition("topic", 0));
  }
  void apply(const Event& event) {
    ASSERT_NE(ledger->shard("topic", 0)->apply(event).applied, Applied::kRejected);
  }
  void fill(std::string_view eval, std::string_view policy, TimeMs from, int prompts) {
    for (int p = 0; p < prompts; ++p) {
      for (std::uint64_t k = 0; k < 4; ++k) apply(draw(eval, "p" + std::to_string(p), policy, k, from + p));
    }
  }
  // A draw moves the stream's time by no more than 1/64 of the period.
  void go_to(TimeMs time, std::string_view policy) {
    for (std::uint64_t k = 9; k < 73; ++k) apply(draw("math", "p0", policy, k, time));
  }
  // A checkpoint needs something to write.
  void checkpoints(int count) {
    for (; count > 0; --count) {
      auto& shard = *ledger->shard("topic", 0);
      shard.set_next_offset(shard.next_offset().value_or(0) + 1);
      ledger->refresh();
      ASSERT_TRUE(ledger->checkpoint());
    }
  }
  std::size_t keys(KeyKind kind, std::string_view with = "") const {
    std::size_t found = 0;
    for (const auto& [key, value] : store.entries()) {
      found += key[0] == static_cast<char>(kind) && key.find(with) != std::string::npos;
    }
    return found;
  }
  MonitorMoment moment(std::string_view eval) const {
    for (MonitorIndex m = 0; m < ledger->monitor_count(); ++m) {
      if (auto moment = ledger->moment(m); moment.eval == eval) return moment;
    }
    ADD_FAILURE() << "no monitor of " << eval;
    return ledger->moment(0);
  }
};

TEST(Retain, ASilentPolicyLeavesPoolAndStore) {
  for (const std::uint64_t cache : {std::uint64_t{512} << 20, std::uint64_t{3'000}}) {
    Fixture f(cache);
    f.fill("math", "old", 100, 30);
    f.fill("math", "a", 900, 30);
    f.fill("math", "b", 900, 30);
    f.checkpoints(70);
    EXPECT_EQ(f.moment("math").pool, (std::vector<std::string>{"a", "b", "old"}));
    EXPECT_EQ(f.ledger->cells(), 90u);

    f.go_to(1'500, "a");
    f.ledger->refresh();
    EXPECT_EQ(f.moment("math").pool, (std::vector<std::string>{"a", "b"})) << "it leaves the metrics at once";
    f.checkpoints(3);
    EXPECT_EQ(f.ledger->cells(), 60u);
    EXPECT_EQ(f.keys(KeyKind::kRow), 30u);

    Fixture without(cache);
    without.fill("math", "a", 900, 30);
    without.fill("math", "b", 900, 30);
    without.go_to(1'500, "a");
    without.ledger->refresh();
    EXPECT_EQ(f.moment("math").sums, without.moment("math").sums);
    f.open();
    f.ledger->refresh();
    EXPECT_EQ(f.moment("math").pool, (std::vector<std::string>{"a", "b"})) << "after a restart, too";
    EXPECT_EQ(f.moment("math").sums, without.moment("math").sums);
    EXPECT_EQ(f.ledger->cells(), 60u);

    f.apply(draw("math", "p1", "old", 0, 1'600));
    f.checkpoints(70);
    EXPECT_EQ(f.moment("math").pool, (std::vector<std::string>{"a", "b", "old"})) << "it came back";
    EXPECT_EQ(f.ledger->cells(), 61u);
  }
}

TEST(Retain, AnEvalGoesWithItsLastPolicy) {
  Fixture f;
  f.fill("gone", "a", 100, 20);
  f.fill("gone", "b", 100, 20);
  Event route;
  route.kind = EventKind::kRoute;
  route.eval = "gone";
  route.prompt = "p3";
  route.router = "knn";
  const RouteWeight all[] = {{"a", 1.0}};
  route.weights = all;
  f.apply(route);
  f.fill("stays", "a", 1'500, 20);
  f.checkpoints(10);
  EXPECT_TRUE(f.moment("gone").retired) << "it leaves the metrics at once";
  EXPECT_EQ(f.keys(KeyKind::kRow, "gone"), 20u) << "too early to erase it while partitions come and go";
  f.checkpoints(60);
  EXPECT_TRUE(f.moment("gone").retired);
  EXPECT_EQ(f.keys(KeyKind::kRow, "gone"), 0u);
  EXPECT_EQ(f.keys(KeyKind::kRoute), 0u);
  EXPECT_EQ(f.keys(KeyKind::kRow, "stays"), 20u);
  EXPECT_EQ(f.ledger->prompts(), 20u);
  EXPECT_EQ(f.ledger->cells(), 20u);

  f.open();
  f.checkpoints(2);
  EXPECT_EQ(f.ledger->prompts(), 20u);
  EXPECT_EQ(f.keys(KeyKind::kPromptEvidence, "gone"), 0u) << "what its evidence rested on is gone as well";
  EXPECT_EQ(f.keys(KeyKind::kPartitionEvidence, "gone"), 0u);
}

TEST(Retain, AnEvalThatComesBackCountsAsANewOne) {
  Fixture f;
  f.fill("back", "a", 100, 5);
  f.fill("stays", "a", 1'500, 30);
  f.checkpoints(70);
  EXPECT_TRUE(f.moment("back").retired);
  f.apply(draw("back", "p1", "a", 0, 1'600));
  f.checkpoints(3);
  EXPECT_FALSE(f.moment("back").retired);
  EXPECT_EQ(f.moment("back").sums.prompts, 1);
  EXPECT_EQ(f.keys(KeyKind::kRow, "back"), 1u);
  const auto before = f.moment("back").sums;
  f.open();
  f.ledger->refresh();
  EXPECT_EQ(f.moment("back").sums, before);
}

TEST(Retain, TheCapOfPoliciesIsOfThoseThatAreKept) {
  Fixture f;
  f.settings.max_policies = 2;
  f.fill("math", "step-1", 100, 3);
  f.fill("math", "step-2", 1'500, 30);
  auto third = draw("math", "p0", "step-3", 0, 1'500);
  EXPECT_EQ(f.ledger->shard("topic", 0)->apply(third).reason, "too_many_policies");
  f.checkpoints(70);
  EXPECT_EQ(f.ledger->shard("topic", 0)->apply(third).applied, Applied::kApplied);
}

TEST(Retain, TheCapOfPromptsIsOfThoseThatAreKept) {
  Fixture f;
  f.settings.max_prompts = 30;
  f.fill("exam", "a", 100, 20);
  f.fill("math", "a", 1'500, 10);
  const auto further = draw("math", "p10", "a", 0, 1'500);
  EXPECT_EQ(f.ledger->shard("topic", 0)->apply(further).reason, "too_many_prompts");
  f.go_to(1'500, "a");
  f.checkpoints(70);
  EXPECT_EQ(f.ledger->prompts(), 10u);
  f.apply(further);
  for (int p = 11; p < 30; ++p) f.apply(draw("math", "p" + std::to_string(p), "a", 0, 1'500));
  EXPECT_EQ(f.ledger->shard("topic", 0)->apply(draw("math", "p30", "a", 0, 1'500)).reason, "too_many_prompts");
}

TEST(Retain, AFewFromTheFutureEraseNothing) {
  Fixture f;
  f.fill("math", "old", 100, 30);
  f.fill("math", "a", 900, 30);
  for (std::uint64_t k = 0; k < 3; ++k) f.apply(draw("math", "p0", "a", 50 + k, 4'000'000'000'000));
  f.checkpoints(70);
  EXPECT_EQ(f.moment("math").pool, (std::vector<std::string>{"a", "old"}));
  EXPECT_EQ(f.ledger->cells(), 60u);
}

TEST(Retain, AStreamThatBeginsInTheFutureComesDown) {
  Fixture f;
  f.apply(draw("math", "p0", "a", 99, 9'000));
  f.fill("math", "old", 100, 150);
  f.fill("math", "a", 900, 150);
  f.checkpoints(70);
  EXPECT_EQ(f.moment("math").pool, (std::vector<std::string>{"a", "old"}));
  EXPECT_EQ(f.ledger->cells(), 300u);
}

TEST(Retain, OldResponsesThatComeLateBringNobodyBack) {
  Fixture f;
  f.fill("math", "old", 100, 30);
  f.fill("math", "a", 900, 30);
  f.go_to(1'500, "a");
  f.ledger->refresh();
  EXPECT_EQ(f.moment("math").pool, (std::vector<std::string>{"a"}));
  for (std::uint64_t k = 100; k < 400; ++k) f.apply(draw("math", "p0", "a", k, 200));
  f.ledger->refresh();
  EXPECT_EQ(f.moment("math").pool, (std::vector<std::string>{"a"}));
}

TEST(Retain, RoutersOfAnotherScorerLeaveTheSumsFromTheStoreToo) {
  for (const std::uint64_t cache : {std::uint64_t{512} << 20, std::uint64_t{2'000}}) {
    Fixture f(cache);
    for (const char* scorer : {"one", "two"}) {
      auto& monitor = f.settings.monitors.emplace_back();
      monitor.name = scorer;
      monitor.eval = "gone";
      monitor.scorer = scorer;
      monitor.policies = {"a", "b"};
    }
    f.settings.monitors.emplace_back().name = "stays";
    f.settings.monitors.back().eval = "stays";
    f.settings.monitors.back().scorer = "scorer";
    f.open();
    for (int p = 0; p < 100; ++p) {
      const auto prompt = "p" + std::to_string(p);
      for (const char* scorer : {"one", "two"}) {
        for (const char* policy : {"a", "b"}) {
          auto event = draw("gone", prompt, policy, 0, 100);
          event.scorer = scorer;
          f.apply(event);
        }
      }
      Event route;
      route.kind = EventKind::kRoute;
      route.eval = "gone";
      route.prompt = prompt;
      route.router = "knn";
      const RouteWeight all[] = {{"a", 1.0}};
      route.weights = all;
      f.apply(route);
    }
    f.fill("stays", "a", 1'500, 30);
    for (int step = 0; step < 70; ++step) {
      f.checkpoints(1);
      f.ledger->refresh();
      for (MonitorIndex m = 0; m < f.ledger->monitor_count(); ++m) {
        ASSERT_EQ(f.ledger->moment(m).sums, f.ledger->recount(m).value()) << cache << " " << step << " " << m;
      }
    }
    EXPECT_EQ(f.keys(KeyKind::kRoute), 0u);
    EXPECT_EQ(f.ledger->prompts(), 30u);
  }
}

TEST(Retain, WhatHasNoTimeIsNeverErased) {
  Fixture f;
  f.fill("math", "old", 100, 3);
  auto counts = draw("math", "p0", "old", 0, 100);
  counts.kind = EventKind::kCounts;
  counts.draw.reset();
  counts.trials = 5;
  f.apply(counts);
  f.fill("math", "a", 5'000, 3);
  f.checkpoints(70);
  EXPECT_EQ(f.ledger->cells(), 6u);
  f.open();
  f.checkpoints(70);
  EXPECT_EQ(f.ledger->cells(), 6u) << "nor after a restart";
}

TEST(Retain, EveryCheckpointOnTheWayOpens) {
  Fixture f(2'000);
  f.fill("gone", "a", 100, 200);
  f.fill("stays", "b", 1'500, 200);
  f.checkpoints(61);
  for (int step = 0; step < 4; ++step) {
    f.checkpoints(1);
    MemoryStore copy(f.store);
    Ledger other(f.settings, &copy);
    ASSERT_TRUE(other.open());
    ASSERT_TRUE(other.take_all());
    other.refresh();
    for (MonitorIndex m = 0; m < other.monitor_count(); ++m) {
      EXPECT_EQ(other.moment(m).sums, other.recount(m).value());
    }
  }
}

TEST(Retire, APolicyNotHeardOfLeavesThePoolAndStaysInTheState) {
  config::Settings settings;
  settings.automatic_monitor.retire = milliseconds(1'000);
  Ledger ledger(settings, nullptr);
  ASSERT_TRUE(ledger.take_partition("topic", 0));
  auto& shard = *ledger.shard("topic", 0);
  shard.apply(draw("math", "p", "old", 0, 100));
  const auto come = [&](TimeMs time) {
    static std::uint64_t next = 0;
    for (int k = 0; k < 70; ++k) shard.apply(draw("math", "p", "new", next++, time));
    ledger.refresh();
  };
  come(1'100);
  EXPECT_EQ(ledger.moment(0).pool.size(), 2u) << "not yet";
  come(1'101);
  EXPECT_EQ(ledger.moment(0).pool, std::vector<std::string>{"new"});
  EXPECT_EQ(ledger.cells(), 2u);
  shard.apply(draw("math", "p", "old", 1, 1'102));
  ledger.refresh();
  EXPECT_EQ(ledger.moment(0).pool.size(), 2u);
  EXPECT_EQ(ledger.moment(0).sums, ledger.recount(0).value());
}

}  // namespace
}  // namespace gapwatch::state
