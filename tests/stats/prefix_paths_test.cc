#include "stats/prefix_paths.h"

#include "tests/support/draws.h"
#include "tests/support/golden.h"

namespace gapwatch::stats {
namespace {

using testing::Golden;
using testing::number;

std::vector<std::uint32_t> whole_numbers(simdjson::dom::element list) {
  std::vector<std::uint32_t> out;
  for (const double value : testing::numbers(list)) out.push_back(static_cast<std::uint32_t>(value));
  return out;
}

void expect_point(const PrefixPoint& point, simdjson::dom::element want) {
  EXPECT_EQ(point.k, want["k"].get_uint64().value());
  testing::expect_number(point.ceiling, want["ceiling"], "ceiling");
  testing::expect_number(point.union_product, want["product_union"], "product union");
  testing::expect_number(point.premium, want["premium"], "premium");
  testing::expect_number(point.union_paired, want["paired_union"], "paired union");
}

TEST(PrefixPaths, Golden) {
  for (const auto* file : testing::kDrawFiles) {
    SCOPED_TRACE(file);
    const Golden golden(testing::golden_path(file));
    const testing::Draws draws(testing::draws_of(golden));
    const auto ks = whole_numbers(golden.input("prefix")["ks"]);
    const auto paths = golden.expected("prefix_paths").get_array().value();
    std::size_t at = 0;
    for (const auto perm : golden.input("prefix")["perms"].get_array()) {
      const auto path = prefix_path(draws.table, ks, whole_numbers(perm));
      const auto want = paths.at(at++).get_array().value();
      ASSERT_EQ(path.size(), want.size());
      for (std::size_t i = 0; i < path.size(); ++i) expect_point(path[i], want.at(i));
    }
    std::vector<std::uint32_t> identity(ks.back());
    for (std::uint32_t j = 0; j < identity.size(); ++j) identity[j] = j;
    const auto in_order = prefix_path(draws.table, ks), permuted = prefix_path(draws.table, ks, identity);
    for (std::size_t i = 0; i < ks.size(); ++i) EXPECT_EQ(in_order[i].union_paired, permuted[i].union_paired);
  }
}

TEST(GoldenWorkedExamples, ThreeDraws) {
  const Golden golden(testing::golden_path("worked_examples"));
  std::vector<std::string> row;
  for (const auto cell : golden.input("prefix")["draws"].get_array()) row.emplace_back(cell.get_string().value());
  const testing::Draws draws({row});
  const auto path = prefix_path(draws.table, whole_numbers(golden.input("prefix")["ks"]),
                                whole_numbers(golden.input("prefix")["perm"]));
  std::size_t at = 0;
  for (const auto want : golden.expected("prefix").get_array()) expect_point(path[at++], want);
}

TEST(GoldenWorkedExamples, PairedAgainstProduct) {
  const Golden golden(testing::golden_path("worked_examples"));
  const auto expected = golden.expected("paired").get_array().value();
  std::size_t at = 0;
  for (const auto pair : golden.input("paired").get_array()) {
    const testing::Draws draws({{std::string(pair.at(0).get_string().value()), std::string(pair.at(1).get_string().value())}});
    const std::uint32_t k = 2;
    const auto point = prefix_path(draws.table, {&k, 1})[0];
    testing::expect_number(point.union_paired, expected.at(at)["paired"], "paired");
    testing::expect_number(point.union_product, expected.at(at)["product"], "product");
    ++at;
  }
}

TEST(PrefixPaths, PromptsWithoutEnoughDrawsDoNotCount) {
  testing::Draws draws({{"101", "011"}, {"1", "10"}});
  draws.sets[0].exchange(1, DrawOutcome::kUnscored);  // draws 0 and 2 are aligned
  const std::uint32_t ks[] = {1, 2, 3};
  const auto path = prefix_path(draws.table, ks);
  EXPECT_EQ(path[0].prompts, 2);
  EXPECT_EQ(path[1].prompts, 1);
  EXPECT_EQ(path[2].prompts, 0);
  EXPECT_FALSE(path[2].ceiling || path[2].premium || path[2].union_paired || path[2].noise_share_product);
  EXPECT_TRUE(prefix_path({}, ks).empty());
}

}  // namespace
}  // namespace gapwatch::stats
