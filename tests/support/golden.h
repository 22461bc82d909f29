// Reads golden files: expected values from an independent reference (tests/golden/README.md).
#pragma once

#include <gtest/gtest.h>
#include <simdjson.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "stats/count_table.h"
#include "tests/support/tables.h"

namespace gapwatch::testing {

// A parsed file. `root` lives as long as this does.
class Golden {
 public:
  explicit Golden(const std::string& path) : root(parser_.load(path)) {}
  Golden(const Golden&) = delete;
  Golden& operator=(const Golden&) = delete;

 private:
  simdjson::dom::parser parser_;

 public:
  simdjson::dom::element root;

  simdjson::dom::element input(std::string_view key) const { return root["input"][key]; }
  simdjson::dom::element expected(std::string_view key) const { return root["expected"][key]; }
  bool has_input(std::string_view key) const { return root["input"][key].error() == simdjson::SUCCESS; }
  bool expects(std::string_view key) const { return root["expected"][key].error() == simdjson::SUCCESS; }
};

inline std::string golden_path(const std::string& name) {
  std::string path = GAPWATCH_SOURCE_DIR "/tests/golden/";
  path += name;
  path += ".json";
  return path;
}

inline double number(simdjson::dom::element value) { return value.get_double().value(); }

inline std::vector<double> numbers(simdjson::dom::element list) {
  std::vector<double> values;
  for (const auto value : list.get_array()) values.push_back(number(value));
  return values;
}

// input.c and input.k as a table: k is one number for all cells, or one for each.
inline stats::CountTable table_of(simdjson::dom::element input) {
  stats::CountTable table;
  std::vector<std::vector<std::uint32_t>> trials;
  const auto k = input["k"].value();
  const bool even = !k.is_array();
  std::size_t i = 0;
  for (const auto row : input["c"].get_array()) {
    std::size_t m = 0;
    for (const auto successes : row.get_array()) {
      const auto n = (even ? k : k.at(i).at(m).value()).get_uint64().value();
      table.cells.push_back({static_cast<std::uint32_t>(n), static_cast<std::uint32_t>(successes.get_uint64().value())});
      ++m;
    }
    if (table.policies.empty()) table.policies = policy_names(m);
    ++i;
  }
  return table;
}

inline stats::CountTable table_of(const Golden& golden) { return table_of(golden.root["input"].value()); }

// Outcome strings of input.draws, by prompt and policy; empty where the file has none.
inline std::vector<std::vector<std::string>> draws_of(const Golden& golden) {
  std::vector<std::vector<std::string>> draws;
  if (!golden.has_input("draws")) return draws;
  for (const auto row : golden.input("draws").get_array()) {
    draws.emplace_back();
    for (const auto cell : row.get_array()) draws.back().emplace_back(cell.get_string().value());
  }
  return draws;
}

// input.groups: the lineage of each policy.
inline std::map<std::string, std::string> groups_of(const Golden& golden, const stats::CountTable& table) {
  std::map<std::string, std::string> groups;
  std::size_t m = 0;
  for (const auto group : golden.input("groups").get_array()) groups[table.policies[m++]] = group.get_string().value();
  return groups;
}

// Files of whole tables, and those of them that have draws.
inline constexpr const char* kTableFiles[] = {"hand_6x3x4", "quickstart_240x5x16", "uneven_missing_80x5",
                                              "draws_60x11x30"};
inline constexpr const char* kDrawFiles[] = {"quickstart_240x5x16", "draws_60x11x30"};

// The tolerance of deterministic golden values.
inline constexpr double kExact = 1e-9;

// An expected null is an undefined number.
inline void expect_number(std::optional<double> value, simdjson::dom::element expected, const std::string& what,
                          double tolerance = kExact) {
  if (expected.is_null()) {
    EXPECT_FALSE(value.has_value()) << what << " should be undefined, is " << *value;
    return;
  }
  ASSERT_TRUE(value.has_value()) << what << " is undefined";
  EXPECT_NEAR(*value, number(expected), tolerance) << what;
}

}  // namespace gapwatch::testing
