// Monitors' evidence over changes of what they ask, and the alarm's life.
#include "state/evidence_book.h"

#include <cmath>

#include "tests/support/evidence.h"

namespace gapwatch::state {
namespace {

using testing::difference;
using testing::evidence_bytes;
using testing::PoolStream;

config::Monitor monitor(const std::string& name, std::vector<std::string> policies = {}) {
  config::Monitor made;
  made.name = name;
  made.eval = "eval";
  made.scorer = "scorer";
  made.policies = std::move(policies);
  return made;
}

std::unique_ptr<Ledger> open(const config::Settings& settings, Store* store) {
  auto ledger = std::make_unique<Ledger>(settings, store);
  EXPECT_TRUE(ledger->open());
  EXPECT_TRUE(ledger->take_partition("t", 0));
  return ledger;
}

void feed(Ledger& ledger, const PoolStream& stream, std::uint64_t from, std::uint64_t to) {
  Shard& shard = *ledger.shard("t", 0);
  for (auto n = from; n < to; ++n) {
    shard.apply(stream.event(n));
    shard.set_next_offset(static_cast<Offset>(n + 1));
  }
}

EvidenceMoment moment_of(Ledger& ledger, MonitorIndex m = 0) {
  ledger.refresh();
  return ledger.moment(m).evidence.value();
}
std::uint64_t responses(Ledger& ledger, MonitorIndex m = 0) { return moment_of(ledger, m).counts.responses; }

const PoolStream kSpecialists{.seed = 3, .specialists = true};
const PoolStream kAlike{.seed = 3};

TEST(EvidenceBook, AnotherQuestionBeginsAnewAndTheSameGoesOn) {
  config::Settings settings;
  settings.monitors = {monitor("m", {"policy-0", "policy-1", "policy-2"})};
  MemoryStore store;
  auto ledger = open(settings, &store);
  feed(*ledger, kSpecialists, 0, 3'000);
  ASSERT_TRUE(ledger->checkpoint());
  const auto before = evidence_bytes(*ledger);
  EXPECT_EQ(ledger->book().at(0).epoch, 1u);

  // Thresholds, alpha and windows are not part of the question.
  auto relaxed = settings;
  relaxed.monitors[0].thresholds = {0.5};
  relaxed.monitors[0].alpha = 0.2;
  relaxed.monitors[0].window.last_draws = 3;
  ledger = open(relaxed, &store);
  EXPECT_EQ(difference(evidence_bytes(*ledger), before), "");

  auto other = settings;
  other.monitors[0].policies.pop_back();
  ledger = open(other, &store);
  EXPECT_EQ(ledger->book().at(0).epoch, 2u);
  EXPECT_EQ(responses(*ledger), 0u);
  feed(*ledger, kSpecialists, 3'000, 3'010);
  ASSERT_TRUE(ledger->checkpoint());
  std::size_t kept = 0;
  for (const auto& [key, value] : store.entries()) kept += key[0] == 'E';
  EXPECT_LE(kept, 10u) << "what was stored under the old question is erased";

  // A process later, under the first question again: that one is over.
  ledger = open(settings, &store);
  EXPECT_EQ(ledger->book().at(0).epoch, 3u);
  EXPECT_EQ(responses(*ledger), 0u);
}

TEST(EvidenceBook, AReloadKeepsWhatStaysAndForgetsWhatGoes) {
  config::Settings settings;
  settings.monitors = {monitor("stays"), monitor("goes")};
  MemoryStore store;
  auto ledger = open(settings, &store);
  feed(*ledger, kSpecialists, 0, 1'000);
  settings.monitors = {monitor("comes"), monitor("stays")};
  ledger->replace_monitors();
  feed(*ledger, kSpecialists, 1'000, 1'500);
  EXPECT_EQ(responses(*ledger, 0), 500u);
  EXPECT_EQ(responses(*ledger, 1), 1'500u);
  ASSERT_TRUE(ledger->checkpoint());
  const auto before = evidence_bytes(*ledger);
  ledger = open(settings, &store);
  EXPECT_EQ(difference(evidence_bytes(*ledger), before), "");
  settings.monitors.push_back(monitor("goes"));
  ledger->replace_monitors();
  EXPECT_EQ(responses(*ledger, 2), 0u) << "put back, it begins anew";
  ledger = open(settings, &store);
  EXPECT_EQ(responses(*ledger, 2), 0u);
}

TEST(EvidenceBook, APoolOfAllGrowsWithoutBeginningAnew) {
  const config::Settings settings;
  MemoryStore store;
  auto ledger = open(settings, &store);
  feed(*ledger, {.seed = 1, .policies = 3}, 0, 2'000);
  ASSERT_TRUE(ledger->checkpoint());
  feed(*ledger, {.seed = 1, .policies = 9}, 2'000, 4'000);
  ASSERT_TRUE(ledger->checkpoint());
  EXPECT_EQ(responses(*ledger), 4'000u);
  EXPECT_EQ(ledger->book().at(0).epoch, 1u);
  EXPECT_TRUE(ledger->shard("t", 0)->evidence().part(0)->evidence.pairing);
  const auto before = evidence_bytes(*ledger);
  ledger = open(settings, &store);
  EXPECT_EQ(difference(evidence_bytes(*ledger), before), "");
}

AlarmFacts facts(std::uint64_t complete = 40) { return {complete, complete >= 20, false, true, 77}; }

TEST(EvidenceBook, AnAlarmIsRaisedOnceStandsUntilItIsAcknowledgedAndBeginsAnew) {
  config::Settings settings;
  settings.monitors = {monitor("m")};
  MemoryStore store;
  auto ledger = open(settings, &store);
  EXPECT_FALSE(ledger->book().settle(0, facts(0))) << "collecting from the start";
  EXPECT_EQ(ledger->book().settle(0, facts(5))->to, AlarmState::kInsufficient);
  EXPECT_EQ(ledger->book().settle(0, facts())->to, AlarmState::kQuiet);
  auto stale = facts();
  stale.stale = true;
  EXPECT_EQ(ledger->book().settle(0, stale)->to, AlarmState::kStale);
  EXPECT_EQ(ledger->book().settle(0, facts())->to, AlarmState::kQuiet);
  EXPECT_FALSE(ledger->book().acknowledge(0, 1)) << "there is nothing to acknowledge";
  feed(*ledger, kSpecialists, 0, 12'000);
  EXPECT_EQ(ledger->book().settle(0, facts(5))->to, AlarmState::kInsufficient) << "evidence, but of few prompts";
  const auto raised = ledger->book().settle(0, facts());
  ASSERT_TRUE(raised);
  EXPECT_EQ(raised->to, AlarmState::kEvidence);
  EXPECT_EQ(raised->at, 77);
  EXPECT_GT(raised->margin_peak, std::log(100.0));
  EXPECT_FALSE(ledger->book().settle(0, facts(0))) << "it stands";
  EXPECT_EQ(ledger->book().at(0).alarms, 1u);
  EXPECT_EQ(ledger->book().at(0).delivery, Delivery::kPending);
  ledger->book().set_delivery(0, Delivery::kUnderWay);
  ASSERT_TRUE(ledger->checkpoint());

  ledger = open(settings, &store);
  EXPECT_EQ(ledger->book().at(0).state, AlarmState::kEvidence);
  EXPECT_EQ(ledger->book().at(0).delivery, Delivery::kUnknown) << "nobody knows whether the news arrived";
  ASSERT_TRUE(ledger->book().acknowledge(0, 99));
  EXPECT_EQ(ledger->book().at(0).state, AlarmState::kAcknowledged);
  EXPECT_EQ(ledger->book().at(0).margin.restart, stats::Restart{});
  EXPECT_EQ(ledger->book().at(0).redeal.restart, stats::Restart{});
  EXPECT_FALSE(ledger->book().settle(0, facts()));
  ASSERT_TRUE(ledger->checkpoint());
  ledger = open(settings, &store);
  EXPECT_EQ(ledger->book().at(0).state, AlarmState::kAcknowledged);
  EXPECT_EQ(ledger->book().at(0).changes.size(), 7u);
  feed(*ledger, kSpecialists, 12'000, 24'000);
  EXPECT_EQ(ledger->book().settle(0, facts())->to, AlarmState::kEvidence) << "what goes on alarms again";
  EXPECT_EQ(ledger->book().at(0).alarms, 2u);
}

TEST(EvidenceBook, IdenticalPoliciesStayQuiet) {
  config::Settings settings;
  settings.monitors = {monitor("m")};
  settings.monitors[0].alpha = 0.05;
  auto ledger = open(settings, nullptr);
  feed(*ledger, kAlike, 0, 30'000);
  EXPECT_EQ(ledger->book().settle(0, facts())->to, AlarmState::kQuiet);
  const auto moment = moment_of(*ledger);
  EXPECT_FALSE(moment.margin.reached);
  EXPECT_FALSE(moment.redeal.reached);
  EXPECT_GT(moment.counts.blocks, 100u);
  EXPECT_FALSE(moment.looks_at_outcomes());
}

// One channel with specialists and seven without, all under one rule: what it leaves of the one's evidence.
std::optional<std::uint64_t> reached_after(config::FamilyRule rule) {
  config::Settings settings;
  settings.family = rule;
  for (int m = 0; m < 8; ++m) {
    settings.monitors.push_back(monitor("m" + std::to_string(m)));
    if (m > 0) settings.monitors.back().slice = "nothing";
  }
  auto ledger = open(settings, nullptr);
  for (std::uint64_t n = 0; n < 20'000; ++n) {
    feed(*ledger, kSpecialists, n, n + 1);
    if (ledger->book().at(0).margin.reached) return n;
  }
  return std::nullopt;
}

TEST(EvidenceBook, AFamilyRuleAsksForMoreEvidence) {
  const auto each = reached_after(config::FamilyRule::kEach);
  const auto bonferroni = reached_after(config::FamilyRule::kBonferroni);
  const auto average = reached_after(config::FamilyRule::kAverage);
  const auto e_bh = reached_after(config::FamilyRule::kEBh);
  ASSERT_TRUE(each && bonferroni && average && e_bh);
  EXPECT_LT(*each, *average);
  EXPECT_LE(*average, *bonferroni) << "the mean counts the others' stakes too";
  EXPECT_EQ(*e_bh, *bonferroni) << "alone, it is the same";
}

TEST(EvidenceBook, StoredBytesAreReadBackOrRefused) {
  config::Settings settings;
  settings.monitors = {monitor("m")};
  auto ledger = open(settings, nullptr);
  feed(*ledger, kSpecialists, 0, 6'000);
  (void)ledger->book().settle(0, facts());
  const auto bytes = encode_monitor_evidence(ledger->book().at(0));
  const auto read = decode_monitor_evidence(bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(encode_monitor_evidence(*read), bytes);
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) EXPECT_FALSE(decode_monitor_evidence(bytes.substr(0, cut)));
  EXPECT_FALSE(decode_monitor_evidence(bytes + "x"));
}

}  // namespace
}  // namespace gapwatch::state
