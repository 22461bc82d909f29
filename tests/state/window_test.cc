// Windows by time: what a monitor sees equals a ledger that was told nothing but the draws of its window.
#include <map>
#include <random>

#include "state/ledger.h"

namespace gapwatch::state {
namespace {

using std::chrono::milliseconds;

constexpr TimeMs kDay = 86'400'000, kHour = 3'600'000;

config::Monitor monitor(const std::string& name, config::Window window) {
  config::Monitor made;
  made.name = name;
  made.eval = "eval";
  made.scorer = "scorer";
  made.policies = {"a", "b", "c"};
  made.thresholds = {0.3, 0.7};
  made.window = window;
  return made;
}

config::Window by_time(TimeMs size, TimeMs step, TimeMs lateness) {
  return {0, milliseconds(size), milliseconds(step), milliseconds(lateness)};
}

struct Said {
  TimeMs time = 0;
  Outcome outcome = Outcome::kFailure;
  bool retracted = false;
};
using Draws = std::map<std::tuple<std::string, std::string, std::uint64_t>, Said>;  // prompt, policy, draw

class Twin {
 public:
  explicit Twin(std::uint64_t seed) : random_(seed) {}

  Event next(TimeMs now) {
    Event event;
    event.eval = "eval";
    event.scorer = "scorer";
    prompt_ = "p" + std::to_string(random_() % 9);
    event.prompt = prompt_;
    policy_ = std::string(1, static_cast<char>('a' + random_() % 3));
    event.policy = policy_;
    event.draw = random_() % 7 == 0 ? (random_() % 5) << 40 : random_() % 30;
    event.time = now - static_cast<TimeMs>(random_() % (random_() % 5 == 0 ? 3 * kDay : kHour));
    event.outcome = static_cast<Outcome>(random_() % 9 == 0 ? 2 : random_() % 2);
    if (random_() % 25 == 0) event.kind = EventKind::kRetract;
    return event;
  }

  // Of two on one draw the one with the later time holds; of equal ones, the later in the stream.
  void tell(const Event& event) {
    latest_ = std::max(latest_, *event.time);
    const auto [at, made] = draws_.try_emplace({std::string(event.prompt), std::string(event.policy), *event.draw});
    if (!made && *event.time < at->second.time) return;
    at->second = {*event.time, event.outcome, event.kind == EventKind::kRetract};
  }

  // Of all that was told, what lies in the window, counted by a ledger without windows.
  MonitorSums expected(TimeSpan span) const {
    config::Settings settings;
    settings.monitors = {monitor("all", {})};
    Ledger plain(settings, nullptr);
    EXPECT_TRUE(plain.take_partition("topic", 0));
    for (const auto& [key, said] : draws_) {
      if (said.retracted || !(said.time >= span.from && said.time < span.to)) continue;
      Event event;
      event.eval = "eval";
      event.scorer = "scorer";
      event.prompt = std::get<0>(key);
      event.policy = std::get<1>(key);
      event.draw = std::get<2>(key);
      event.outcome = said.outcome;
      EXPECT_EQ(plain.shard("topic", 0)->apply(event).applied, Applied::kApplied);
    }
    plain.refresh();
    return plain.moment(0).sums;
  }
  TimeMs latest() const { return latest_; }

 private:
  std::mt19937_64 random_;
  std::string prompt_, policy_;
  Draws draws_;
  TimeMs latest_ = 0;
};

// The window's end by its words: the first whole step after the latest time less the lateness.
TimeSpan span_by_words(const config::Window& window, TimeMs latest) {
  TimeMs end = 0;
  while (end <= latest - window.lateness.count()) end += window.step.count();
  return {end - window.size.count(), end};
}

TEST(TimeWindow, SeesWhatALedgerToldOnlyOfItsTimeSees) {
  const std::vector<config::Window> windows = {by_time(kDay, kHour, 0), by_time(kDay, kDay, 0),
                                               by_time(kDay, kDay, 2 * kHour), by_time(6 * kHour, 4 * kHour, kHour)};
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    config::Settings settings;
    for (std::size_t w = 0; w < windows.size(); ++w) settings.monitors.push_back(monitor("w" + std::to_string(w), windows[w]));
    settings.events.later_wins = true;
    if (seed % 2 == 0) settings.state.cache_bytes = 2'000;
    MemoryStore store;
    auto ledger = std::make_unique<Ledger>(settings, &store);
    ASSERT_TRUE(ledger->open());
    ASSERT_TRUE(ledger->take_partition("topic", 0));
    Twin twin(seed);
    std::mt19937_64 random(seed + 100);
    bool evicted = false;
    TimeMs now = 10 * kDay;
    for (int step = 0; step < 400; ++step) {
      now += static_cast<TimeMs>(random() % (kHour / 2));
      const auto event = twin.next(now);
      ASSERT_NE(ledger->shard("topic", 0)->apply(event).applied, Applied::kRejected);
      twin.tell(event);
      if (random() % 20 == 0) {
        ASSERT_TRUE(ledger->checkpoint());
        evicted |= ledger->prompts_in_store() > 0;
      }
      if (random() % 60 == 0) {
        ASSERT_TRUE(ledger->checkpoint());
        ledger = std::make_unique<Ledger>(settings, &store);
        ASSERT_TRUE(ledger->open());
        ASSERT_TRUE(ledger->take_partition("topic", 0));
      }
      if (random() % 15 != 0) continue;
      ledger->refresh();
      for (MonitorIndex m = 0; m < windows.size(); ++m) {
        const auto moment = ledger->moment(m);
        ASSERT_EQ(moment.span, span_by_words(windows[m], twin.latest())) << "seed " << seed << ", window " << m;
        ASSERT_EQ(moment.sums, ledger->recount(m).value()) << "seed " << seed << ", window " << m;
        ASSERT_EQ(moment.sums, twin.expected(moment.span)) << "seed " << seed << ", window " << m;
      }
    }
    EXPECT_EQ(evicted, seed % 2 == 0);
  }
}

Event draw(std::string_view prompt, std::uint64_t index, std::optional<TimeMs> time, std::string_view policy = "a") {
  Event event;
  event.eval = "eval";
  event.scorer = "scorer";
  event.prompt = prompt;
  event.policy = policy;
  event.draw = index;
  event.time = time;
  event.outcome = Outcome::kSuccess;
  return event;
}

std::int64_t trials(const Ledger& ledger) { return ledger.moment(0).sums.prompts; }

TEST(TimeWindow, AnEventOfTheFutureMovesItToTheClockAndNoFurther) {
  config::Settings settings;
  settings.monitors = {monitor("w", by_time(kDay, kHour, 0))};
  Ledger ledger(settings, nullptr);
  ASSERT_TRUE(ledger.take_partition("topic", 0));
  auto& shard = *ledger.shard("topic", 0);
  const TimeMs now = 100 * kDay;
  shard.apply(draw("p", 0, now - kHour));
  shard.apply(draw("q", 0, 5'000 * kDay));
  ledger.refresh(now);
  EXPECT_EQ(ledger.moment(0).span, (TimeSpan{now + kHour - kDay, now + kHour}));
  EXPECT_EQ(trials(ledger), 1) << "the draw to come is kept, and not in the window";
  ledger.refresh(5'000 * kDay);
  EXPECT_EQ(trials(ledger), 1) << "now the other is";
}

TEST(TimeWindow, WhatComesTooLateIsCountedAndSeenByNoWindow) {
  config::Settings settings;
  settings.monitors = {monitor("w", by_time(kDay, kDay, kHour))};
  Ledger ledger(settings, nullptr);
  ASSERT_TRUE(ledger.take_partition("topic", 0));
  auto& shard = *ledger.shard("topic", 0);
  shard.apply(draw("p", 0, 10 * kDay + 30 * 60'000));
  ledger.refresh();
  EXPECT_EQ(ledger.moment(0).span.to, 10 * kDay) << "the day before waits for who is late";
  shard.apply(draw("q", 0, 10 * kDay - 1));
  ledger.refresh();
  EXPECT_EQ(trials(ledger), 1) << "and finds them";
  EXPECT_EQ(ledger.catalog().late(), 0u);
  shard.apply(draw("p", 1, 10 * kDay + 2 * kHour));
  ledger.refresh();
  shard.apply(draw("r", 0, 10 * kDay - 1));
  ledger.refresh();
  EXPECT_EQ(ledger.moment(0).span.from, 10 * kDay);
  EXPECT_EQ(trials(ledger), 1);
  EXPECT_EQ(ledger.catalog().late(), 1u);
  EXPECT_EQ(ledger.cells(), 3u) << "the state has it";
}

TEST(TimeWindow, ResponsesOfUnknownTimeAreInNone) {
  config::Settings settings;
  settings.monitors = {monitor("w", by_time(kDay, kHour, 0))};
  Ledger ledger(settings, nullptr);
  ASSERT_TRUE(ledger.take_partition("topic", 0));
  ledger.shard("topic", 0)->apply(draw("p", 0, std::nullopt));
  ledger.refresh();
  EXPECT_EQ(ledger.moment(0).span, TimeSpan()) << "it has no place yet";
  EXPECT_EQ(trials(ledger), 0);
}

TEST(TimeWindow, ADuplicateOfALaterTimeMovesItsDrawThere) {
  config::Settings settings;
  settings.monitors = {monitor("w", by_time(kDay, kDay, 0))};
  Ledger ledger(settings, nullptr);
  ASSERT_TRUE(ledger.take_partition("topic", 0));
  auto& shard = *ledger.shard("topic", 0);
  shard.apply(draw("p", 0, 10 * kDay));
  shard.apply(draw("q", 0, 11 * kDay));
  ledger.refresh();
  EXPECT_EQ(trials(ledger), 1);
  EXPECT_EQ(shard.apply(draw("p", 0, 11 * kDay + 5)).applied, Applied::kDuplicate);
  ledger.refresh();
  EXPECT_EQ(trials(ledger), 2);
  EXPECT_EQ(ledger.moment(0).sums, ledger.recount(0).value());
}

}  // namespace
}  // namespace gapwatch::state
