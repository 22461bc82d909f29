// Prompts grouped by what the null laws see of them: the trials of each policy and the total of successes.
//
// Patterns (trials by policy) and classes (pattern, total) are sorted, so nothing depends on the order of
// prompts. A class is degenerate when its total leaves one outcome only (0 or all trials).
//
// Threads: const access is safe to share. Cost: one pass over the table, 3 ns a cell where patterns repeat.
// Source: statistics.md section 5.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stats/count_table.h"

namespace gapwatch::stats {

struct TrialPattern {
  std::vector<std::uint32_t> trials;  // by policy
  std::uint64_t total = 0;            // their sum
  std::size_t present = 0;            // policies with trials
  bool even = true;                   // these have the same number of trials: the mixture is the pooled rate
};

TrialPattern make_pattern(std::vector<std::uint32_t> trials);

struct PromptClass {
  std::size_t pattern = 0;      // index into patterns
  std::uint64_t successes = 0;  // S
  std::uint64_t prompts = 0;    // how many
};

struct PromptClasses {
  std::size_t pool_size = 0;
  std::uint64_t prompts = 0;
  std::vector<TrialPattern> patterns;       // ascending
  std::vector<PromptClass> classes;         // ascending by (pattern, successes)
  std::vector<std::uint32_t> class_of_row;  // by row of the table

  const TrialPattern& pattern_of(const PromptClass& c) const { return patterns[c.pattern]; }
  bool degenerate(const PromptClass& c) const {
    return c.successes == 0 || c.successes == pattern_of(c).total;
  }
  std::uint64_t informative() const;  // prompts in classes that are not degenerate
};

// An empty table gives no classes.
PromptClasses classify_prompts(const CountTable& table);

// By pattern: its first class; one more at the end.
std::vector<std::size_t> first_classes(const PromptClasses& classes);

}  // namespace gapwatch::stats
