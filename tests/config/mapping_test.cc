#include "config/mapping.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "config/load.h"
#include "config/schema.h"

namespace gapwatch::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using PartKind = MappedPart::Kind;
using StepKind = MappedPath::Step::Kind;

const Environment kNone = [](const std::string&) { return std::nullopt; };

std::vector<std::string> faults(const std::string& text) {
  std::vector<std::string> out;
  for (const auto& fault : load(text, "c.yaml", kNone, SourceNeed::kOptional).faults) out.push_back(to_string(fault, "c.yaml"));
  return out;
}

TEST(Mapping, ATemplateIsTextWithSources) {
  const auto parts = parse_template("{{a}} {/x/~1y~0}:{row@key}{header:ce_id}").value();
  ASSERT_EQ(parts.size(), 5u);
  EXPECT_EQ(parts[0].text, "{a} ");
  EXPECT_EQ(parts[1].path.variable, "");
  EXPECT_EQ(parts[1].path.steps[1].name, "/y~");
  EXPECT_EQ(parts[2].text, ":");
  EXPECT_EQ(parts[3].kind, PartKind::kKeyOf);
  EXPECT_EQ(parts[3].path.variable, "row");
  EXPECT_EQ(parts[4].kind, PartKind::kHeader);
  EXPECT_EQ(parts[4].text, "ce_id");
}

TEST(Mapping, StepsOfAPath) {
  const auto path = parse_path("log/attributes/[key=a=b]/value/*/<metric>").value();
  EXPECT_EQ(path.variable, "log");
  ASSERT_EQ(path.steps.size(), 5u);
  EXPECT_EQ(path.steps[1].kind, StepKind::kWhere);
  EXPECT_EQ(path.steps[1].name, "key");
  EXPECT_EQ(path.steps[1].text, "a=b");
  EXPECT_EQ(path.steps[3].kind, StepKind::kSole);
  EXPECT_EQ(path.steps[4].kind, StepKind::kVariable);
  EXPECT_TRUE(parse_path("")->steps.empty());
  EXPECT_EQ(parse_path("/")->steps.size(), 1u);
}

TEST(Mapping, BrokenTemplatesSayWhy) {
  EXPECT_THAT(parse_template("{/a").error().message, HasSubstr("without its }"));
  EXPECT_THAT(parse_template("a}").error().message, HasSubstr("without its {"));
  EXPECT_THAT(parse_template("{a b}").error().message, HasSubstr("neither a JSON Pointer"));
  EXPECT_THAT(parse_template("{/a~2}").error().message, HasSubstr("neither ~0 nor ~1"));
  EXPECT_THAT(parse_template("{header:}").error().message, HasSubstr("without a name"));
  EXPECT_THAT(parse_template("{@key}").error().message, HasSubstr("without a loop's name"));
}

TEST(Mapping, EveryPresetIsAMapping) {
  EXPECT_THAT(format_names(), ElementsAre("native", "cloudevents", "csv", "inspect", "langfuse", "llmrouterbench", "lm-eval", "otel"));
  for (const auto& preset : presets()) {
    const auto mapping = parse_mapping(preset.text, std::string(preset.name));
    ASSERT_TRUE(mapping) << mapping.error().message;
    EXPECT_TRUE(mapping->fields.contains("prompt")) << preset.name;
    EXPECT_TRUE(preset_mapping(preset.name)) << preset.name;
    std::ifstream file(fmt::format("{}/config/presets/{}.yaml", GAPWATCH_SOURCE_DIR, preset.name));
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), preset.text) << preset.name;
  }
  EXPECT_FALSE(preset_mapping("native"));
}

TEST(Mapping, TheConfigNamesAPresetOrSpellsItOut) {
  const auto preset = load("format: otel\n", "c.yaml", kNone, SourceNeed::kOptional);
  ASSERT_TRUE(preset.settings);
  EXPECT_EQ(preset.settings->mapping->each.size(), 3u);

  const auto own = load(R"(
format:
  preset: lm-eval
  fields:
    policy: "acme: 7b"
    prompt: ["{/doc_id}", {from: "{key}", match: "^(.+)$", first: 8}]
events: {success_at_by_scorer: {"acc,none": 0.5}, errors: failure, errors_by_scorer: {judge: skip}}
)",
                        "c.yaml", kNone, SourceNeed::kOptional);
  ASSERT_TRUE(own.settings) << to_string(own.faults.front(), "c.yaml");
  const auto& mapping = *own.settings->mapping;
  EXPECT_EQ(mapping.fields.at("policy")[0].parts[0].text, "acme: 7b");
  EXPECT_EQ(mapping.fields.at("prompt")[1].first, 8u);
  EXPECT_TRUE(mapping.fields.contains("value")) << "the preset's fields stay";
  EXPECT_EQ(own.settings->events.errors, ErrorOutcome::kFailure);
  EXPECT_EQ(own.settings->events.errors_by_scorer.at("judge"), ErrorOutcome::kSkip);

  const auto described = describe(*own.settings);
  const auto again = load(described, "c.yaml", kNone, SourceNeed::kOptional);
  ASSERT_TRUE(again.settings) << to_string(again.faults.front(), "described") << described;
  EXPECT_EQ(describe(*again.settings), described);
  EXPECT_EQ(again.settings->mapping->fields.at("policy")[0].parts[0].text, "acme: 7b");
}

TEST(Mapping, FaultsHaveTheirPlace) {
  EXPECT_THAT(faults("format: lm_eval\n"), ElementsAre(HasSubstr("did you mean lm-eval?")));
  EXPECT_THAT(faults("format: {preset: otell}\n"), ElementsAre(HasSubstr("did you mean otel?")));
  EXPECT_THAT(faults("format:\n  fields:\n    promt: \"{/a}\"\n"), ElementsAre(HasSubstr("c.yaml:3:5: format.fields.promt")));
  EXPECT_THAT(faults("format:\n  fields: {prompt: \"{/a\"}\n"), ElementsAre(HasSubstr("without its }")));
  EXPECT_THAT(faults("format:\n  fields: {prompt: \"{row/a}\"}\n"), ElementsAre(HasSubstr("there is no variable row")));
  EXPECT_THAT(faults("format:\n  fields: {prompt: {from: \"{/a}\", match: \"(\"}}\n"), ElementsAre(HasSubstr("no regular expression")));
  EXPECT_THAT(faults("format:\n  fields: {prompt: {from: \"{/a}\", match: \"a\"}}\n"), ElementsAre(HasSubstr("0 groups, not one")));
  EXPECT_THAT(faults("format:\n  each: {in: /a, as: key}\n"), ElementsAre(HasSubstr("no name for a variable")));
  EXPECT_THAT(faults("format:\n  each: [{in: /a, as: x}, {in: /b, as: x}]\n"), ElementsAre(HasSubstr("there already")));
  EXPECT_THAT(faults("format:\n  skip_when: {value: \"{/a}\"}\n"), ElementsAre(HasSubstr("one of is, is_not, present")));
  EXPECT_THAT(faults("format:\n  skip_when: {value: \"{/a}\", is: 1, present: true}\n"), ElementsAre(HasSubstr("second test")));
  EXPECT_THAT(faults("format:\n  skip_when: {value: \"{/a}\", is: 1, reason: No Good}\n"), ElementsAre(HasSubstr("is no word")));
  EXPECT_THAT(faults("format:\n  let: {t: \"{u}\", u: \"{/x}\"}\n"), ElementsAre(HasSubstr("there is no variable u")));
  EXPECT_THAT(faults("format: nothing.yaml\n"), ElementsAre(HasSubstr("cannot read")));
  EXPECT_THAT(faults("format:\n  encoding: xml\n"), ElementsAre(HasSubstr("\"xml\" is not known")));
  EXPECT_THAT(faults("format:\n  labels: {good: yes please}\n"), ElementsAre(HasSubstr("labels.good")));
  EXPECT_THAT(faults("format:\n  fields: {ts: {from: \"{/a}\", unit: hours}}\n"), ElementsAre(HasSubstr("\"hours\" is not known")));
}

TEST(Mapping, AFileIsReadAndItsFaultsNameIt) {
  const auto dir = std::filesystem::temp_directory_path() / fmt::format("gapwatch-mapping-{}", ::getpid());
  std::filesystem::create_directories(dir);
  std::ofstream(dir / "mine.yaml") << "preset: csv\nfields: {prompt: '{/item}'}\n";
  std::ofstream(dir / "bad.yaml") << "fields:\n  nothing: x\n";
  const auto good = load("format: mine.yaml\n", (dir / "c.yaml").string(), kNone, SourceNeed::kOptional);
  ASSERT_TRUE(good.settings) << to_string(good.faults.front(), "c.yaml");
  EXPECT_EQ(good.settings->mapping->name, "mine");
  EXPECT_EQ(good.settings->mapping->encoding, Mapping::Encoding::kCsv);
  const auto bad = load("format: bad.yaml\n", (dir / "c.yaml").string(), kNone, SourceNeed::kOptional);
  ASSERT_EQ(bad.faults.size(), 1u);
  EXPECT_THAT(to_string(bad.faults[0], "c.yaml"), HasSubstr("bad.yaml:2:3: fields.nothing: is not known"));
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace gapwatch::config
