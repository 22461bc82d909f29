// Seeded random count tables for tests.
#pragma once

#include <cstdio>
#include <random>
#include <string>

#include "stats/count_table.h"

namespace gapwatch::testing {

inline std::vector<std::string> policy_names(std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t m = 0; m < count; ++m) {
    char name[32];
    std::snprintf(name, sizeof name, "policy-%04zu", m);
    names.emplace_back(name);
  }
  return names;
}

struct RandomTable {
  std::size_t prompts = 20, policies = 4;
  std::uint32_t trials_from = 0, trials_to = 12;  // each cell's own, uniform; 0 is a missing cell
  double certain = 0.15;                          // share of cells that always or never succeed
};

inline stats::CellCount random_cell(const RandomTable& shape, std::mt19937_64& random) {
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  stats::CellCount cell;
  cell.trials = shape.trials_from + static_cast<std::uint32_t>(random() % (shape.trials_to - shape.trials_from + 1));
  const double rate = uniform() < shape.certain ? static_cast<double>(random() % 2) : uniform();
  for (std::uint32_t j = 0; j < cell.trials; ++j) cell.successes += uniform() < rate;
  return cell;
}

inline stats::CountTable random_table(const RandomTable& shape, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  stats::CountTable table;
  table.policies = policy_names(shape.policies);
  for (std::size_t i = 0; i < shape.prompts * shape.policies; ++i) table.cells.push_back(random_cell(shape, random));
  return table;
}

}  // namespace gapwatch::testing
