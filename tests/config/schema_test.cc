#include "config/schema.h"

#include <fstream>
#include <set>
#include <sstream>

#include "config/load.h"

namespace gapwatch::config {
namespace {

TEST(Schema, TheReferenceIsTheCommittedOne) {
  std::ifstream file(GAPWATCH_SOURCE_DIR "/docs/CONFIG.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), config_reference()) << "write `gapwatch help config` to docs/CONFIG.md";
}

TEST(Schema, EverySettingIsDescribedOnce) {
  std::set<std::string> paths;
  for (const auto& setting : schema()) {
    EXPECT_TRUE(paths.insert(setting.path).second) << setting.path;
    EXPECT_FALSE(setting.kind.empty()) << setting.path;
    EXPECT_FALSE(setting.initial.empty()) << setting.path;
    EXPECT_TRUE(setting.help.ends_with(".")) << setting.path;
  }
}

// What describe() shows is a config that loads to the same settings.
TEST(Schema, TheDescriptionLoadsBack) {
  const auto* text = R"(
source:
  kafka:
    brokers: "a:1,b:2"
    topics: [t1, t2]
    instance: "odd: name"
    queue: 1GB
    properties: {security.protocol: SSL, client.id: "a, b"}
events: {eval: "x#y", success_at: -0.25, success_at_by_eval: {"e 1": 0.1}}
state: {path: "/p/$${A}", checkpoint_every: 1500ms, retain: 90d}
http: {tls: {certificate: "/a b.pem", key: /k.pem}}
monitor_defaults: {retire: 7d, window: {tumbling: 1d}}
monitors:
  - {name: one, eval: e, slice: "null", pool: {policies: ["a b", c], groups: {c: "{g}"}}, prior: {alpha: 0.1, beta: 2},
     window: {sliding: 36h, step: 90m, lateness: 5s}}
  - {name: two, eval: "é\n", thresholds: [0.07, 0.55], band: [0, 1], window: {last_draws: 3}, missing: fail}
)";
  const Environment none = [](const std::string&) { return std::nullopt; };
  const auto first = load(text, "c.yaml", none);
  ASSERT_TRUE(first.settings) << to_string(first.faults.front(), "c.yaml");
  const auto described = describe(*first.settings);
  const auto second = load(described, "c.yaml", none);
  ASSERT_TRUE(second.settings) << to_string(second.faults.front(), "described") << "\n" << described;
  EXPECT_EQ(describe(*second.settings), described);
  EXPECT_EQ(second.settings->monitors[1].eval, "é\n");
  EXPECT_EQ(second.settings->state.path, "/p/${A}");
  EXPECT_EQ(second.settings->monitors[0].groups.at("c"), "{g}");
}

TEST(Schema, DefaultsLoadBackToo) {
  const Environment none = [](const std::string&) { return std::nullopt; };
  const auto loaded = load(describe(Settings{}), "c.yaml", none, SourceNeed::kOptional);
  ASSERT_TRUE(loaded.settings) << to_string(loaded.faults.front(), "c.yaml") << describe(Settings{});
  EXPECT_EQ(describe(*loaded.settings), describe(Settings{}));
}

Loaded monitor_with(const std::string& lines) {
  const Environment hook = [](const std::string&) { return std::optional<std::string>("https://hooks.example/hunter2"); };
  return load("monitors:\n  - {name: m, eval: e, " + lines + "}\n", "c.yaml", hook, SourceNeed::kOptional);
}

TEST(Schema, EvidenceAndAlarmHaveTheirPlace) {
  const auto loaded = monitor_with(
      "evidence: {enabled: false, margin: pairs, horizon: 12}, alarm: {alpha: 0.05, webhook: \"${HOOK}\"}");
  ASSERT_TRUE(loaded.settings) << to_string(loaded.faults.front(), "c.yaml");
  const auto& m = loaded.settings->monitors[0];
  EXPECT_FALSE(m.evidence.enabled);
  EXPECT_EQ(m.evidence.margin, MarginBets::kPairs);
  EXPECT_EQ(m.evidence.horizon, 12u);
  EXPECT_EQ(m.alpha, 0.05);
  EXPECT_EQ(m.webhook, "https://hooks.example/hunter2");
  const auto shown = describe(*loaded.settings);
  EXPECT_EQ(shown.find("hunter2"), std::string::npos) << "an address is a secret";
  const auto monitor = shown.substr(shown.find("- name: m"));
  EXPECT_EQ(monitor.find(" alarm:"), monitor.rfind(" alarm:")) << "a key that is there twice cannot be read: " << monitor;
  const Environment none = [](const std::string&) { return std::nullopt; };
  const auto family = load("alarms: {family: average}\n", "c.yaml", none, SourceNeed::kOptional);
  ASSERT_TRUE(family.settings);
  EXPECT_EQ(family.settings->family, FamilyRule::kAverage);
}

TEST(Schema, AnAddressThatCannotBePostedToIsAFaultAndNotShown) {
  for (const char* wrong : {"ftp://hunter2/", "hunter2", "http://", "http://:80/hunter2", "https://user@hunter2/", "http://a b"}) {
    const auto loaded = monitor_with(std::string("alarm: {webhook: \"") + wrong + "\"}");
    ASSERT_EQ(loaded.faults.size(), 1u) << wrong;
    EXPECT_EQ(to_string(loaded.faults[0], "c.yaml").find("hunter2"), std::string::npos) << wrong;
  }
  EXPECT_EQ(monitor_with("alarm: {webhook: \"http://a\", webhook_file: none}").faults.size(), 1u) << "given twice";
}

}  // namespace
}  // namespace gapwatch::config
