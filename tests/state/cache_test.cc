// Rows in the store alone: what is seen of a ledger is the same however little memory it has.
#include "state/ledger.h"
#include "tests/support/evidence.h"

namespace gapwatch::state {
namespace {

using testing::EventMaker;
using testing::PoolStream;

constexpr Offset kEvents = 12'000;
const PoolStream kStream{.seed = 7, .prompts = 3'000, .policies = 5, .specialists = true};

config::Settings settings_with(std::uint64_t cache) {
  config::Settings settings;
  for (const char* name : {"all", "few"}) {
    auto& monitor = settings.monitors.emplace_back();
    monitor.name = name;
    monitor.eval = "eval";
    monitor.scorer = "scorer";
  }
  settings.monitors[1].policies = {"policy-0", "policy-3"};
  settings.state.cache_bytes = cache;
  return settings;
}

Event event_at(Offset offset) {
  auto event = kStream.event(static_cast<std::uint64_t>(offset));
  event.arrival = static_cast<std::uint64_t>(offset);
  event.time = 1'000 + offset;
  return event;
}

void count(Ledger& ledger, Offset from, Offset to) {
  Shard& shard = *ledger.shard("t", 0);
  for (Offset at = from; at < to; ++at) {
    ASSERT_EQ(shard.apply(event_at(at)).applied, Applied::kApplied);
    shard.set_next_offset(at + 1);
    if (ledger.cache_full()) {
      ASSERT_TRUE(ledger.checkpoint());
    }
  }
}

std::unique_ptr<Ledger> open(const config::Settings& settings, Store* store) {
  auto ledger = std::make_unique<Ledger>(settings, store);
  EXPECT_TRUE(ledger->open());
  EXPECT_TRUE(ledger->take_partition("t", 0));
  return ledger;
}

void expect_same(Ledger& ledger, Ledger& whole) {
  ledger.refresh();
  whole.refresh();
  for (MonitorIndex m = 0; m < 2; ++m) {
    ASSERT_EQ(ledger.moment(m).sums, whole.moment(m).sums);
    ASSERT_EQ(ledger.recount(m).value(), whole.moment(m).sums);
    const auto mine = ledger.snapshot(m, 1'000'000).value(), all = whole.snapshot(m, 1'000'000).value();
    ASSERT_EQ(mine.table.prompts, all.table.prompts);
    ASSERT_EQ(mine.table.cells, all.table.cells);
    ASSERT_EQ(mine.draws.size(), all.draws.size());
    for (std::size_t i = 0; i < mine.draws.size(); ++i) ASSERT_EQ(mine.draws[i].word(0).success, all.draws[i].word(0).success);
    ASSERT_EQ(mine.attribution.size(), all.attribution.size());
    for (std::size_t p = 0; p < mine.attribution.size(); ++p) {
      const auto &a = mine.attribution[p], &b = all.attribution[p];
      ASSERT_EQ(a.policy, b.policy);
      ASSERT_EQ(a.nats, b.nats) << "to the bit";
      ASSERT_EQ(a.better.size(), b.better.size());
      for (std::size_t i = 0; i < a.better.size(); ++i) {
        ASSERT_EQ(a.better[i].prompt, b.better[i].prompt);
        ASSERT_EQ(a.better[i].trials, b.better[i].trials);
      }
    }
  }
  ASSERT_EQ(testing::difference(testing::evidence_bytes(ledger), testing::evidence_bytes(whole)), "");
  EXPECT_EQ(ledger.cells(), whole.cells());
  EXPECT_EQ(ledger.prompts(), whole.prompts());
}

TEST(Cache, ATenthOfTheStateInMemoryCountsAsAllOfIt) {
  const auto roomy = settings_with(1 << 30);
  auto whole = open(roomy, nullptr);
  count(*whole, 0, kEvents);
  whole->refresh();
  const auto settings = settings_with(whole->cached_bytes() / 10);
  MemoryStore store;
  auto ledger = open(settings, &store);
  count(*ledger, 0, kEvents);
  ASSERT_TRUE(ledger->checkpoint());
  EXPECT_GT(ledger->prompts_in_store(), 2'000u);
  EXPECT_LE(ledger->cached_bytes(), settings.state.cache_bytes);
  for (const auto& row : ledger->shard("t", 0)->rows()) {
    if (row.in_store) {
      ASSERT_EQ(row.cells.capacity(), 0u) << "its memory is given back";
    }
  }
  expect_same(*ledger, *whole);

  ledger = open(settings, &store);  // and begun again
  ledger->refresh();
  EXPECT_GT(ledger->prompts_in_store(), 2'000u);
  expect_same(*ledger, *whole);
  count(*whole, kEvents, kEvents + 2'000);
  count(*ledger, kEvents, kEvents + 2'000);
  ASSERT_TRUE(ledger->checkpoint());
  expect_same(*ledger, *whole);
}

TEST(Cache, OtherMonitorsAreSummedFromTheStoreToo) {
  auto settings = settings_with(20'000);
  MemoryStore store;
  auto ledger = open(settings, &store);
  count(*ledger, 0, kEvents);
  ASSERT_TRUE(ledger->checkpoint());
  auto roomy = settings_with(1 << 30);
  auto whole = open(roomy, nullptr);
  count(*whole, 0, kEvents);
  for (auto* changed : {&settings, &roomy}) changed->monitors[1].policies = {"policy-1", "policy-2", "policy-4"};
  ledger->replace_monitors();
  whole->replace_monitors();
  ledger->refresh();
  whole->refresh();
  EXPECT_EQ(ledger->moment(1).sums, whole->moment(1).sums);
}

// A row that was lost from the store must stop the counting, and nothing after it may be saved.
TEST(Cache, ARowThatCannotBeReadBackStopsTheCounting) {
  const auto settings = settings_with(20'000);
  MemoryStore store;
  auto ledger = open(settings, &store);
  count(*ledger, 0, kEvents);
  ASSERT_TRUE(ledger->checkpoint());
  WriteBatch damage;
  for (const auto& [key, value] : store.entries()) {
    if (key[0] == 'R') damage.put(key, "nonsense");
  }
  ASSERT_TRUE(store.write(damage));
  const auto before = store.entries();
  for (Offset at = kEvents; ledger->failure() == nullptr; ++at) {
    ASSERT_LT(at, kEvents + 1'000);
    (void)ledger->shard("t", 0)->apply(event_at(at));
    ledger->shard("t", 0)->set_next_offset(at + 1);
  }
  EXPECT_FALSE(ledger->checkpoint());
  EXPECT_EQ(store.entries(), before) << "nothing was saved after it";
}

}  // namespace
}  // namespace gapwatch::state
