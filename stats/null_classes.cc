#include "stats/null_classes.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>

namespace gapwatch::stats {
namespace {

struct TrialsHash {
  std::size_t operator()(const std::vector<std::uint32_t>& trials) const {
    std::uint64_t hash = 0x9E3779B97F4A7C15;
    for (const auto n : trials) hash = (hash ^ n) * 0xFF51AFD7ED558CCD, hash ^= hash >> 32;
    return hash;
  }
};

bool same_trials(std::span<const CellCount> row, const std::vector<std::uint32_t>& trials) {
  for (std::size_t m = 0; m < row.size(); ++m) {
    if (row[m].trials != trials[m]) return false;
  }
  return true;
}

// Patterns by first sight, classes by (pattern, successes) found through a dense vector or a map.
class Grouping {
 public:
  std::uint32_t add(std::span<const CellCount> row) {
    std::uint64_t successes = 0;
    for (const auto& cell : row) successes += cell.successes;
    if (patterns_.empty() || !same_trials(row, patterns_[last_])) last_ = find(row);
    return count(last_, successes);
  }

  std::vector<std::vector<std::uint32_t>> patterns_;
  std::vector<PromptClass> classes_;

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;
  static constexpr std::uint64_t kDense = 4096;

  std::size_t find(std::span<const CellCount> row) {
    std::vector<std::uint32_t> trials(row.size());
    std::transform(row.begin(), row.end(), trials.begin(), [](CellCount c) { return c.trials; });
    const auto [at, fresh] = index_.try_emplace(std::move(trials), patterns_.size());
    if (fresh) {
      patterns_.push_back(at->first);
      dense_.emplace_back();
      sparse_.emplace_back();
    }
    return at->second;
  }

  std::uint32_t count(std::size_t pattern, std::uint64_t successes) {
    std::uint32_t& slot = slot_of(pattern, successes);
    if (slot == kNone) {
      slot = static_cast<std::uint32_t>(classes_.size());
      classes_.push_back({pattern, successes, 0});
    }
    ++classes_[slot].prompts;
    return slot;
  }

  std::uint32_t& slot_of(std::size_t pattern, std::uint64_t successes) {
    if (successes >= kDense) return sparse_[pattern].try_emplace(successes, kNone).first->second;
    auto& slots = dense_[pattern];
    if (slots.size() <= successes) slots.resize(successes + 1, kNone);
    return slots[successes];
  }

  std::unordered_map<std::vector<std::uint32_t>, std::size_t, TrialsHash> index_;
  std::vector<std::vector<std::uint32_t>> dense_;
  std::vector<std::map<std::uint64_t, std::uint32_t>> sparse_;
  std::size_t last_ = 0;
};

std::vector<std::size_t> sorted_indices(std::size_t count, auto less) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), less);
  return order;
}

}  // namespace

std::uint64_t PromptClasses::informative() const {
  std::uint64_t count = 0;
  for (const auto& c : classes) count += degenerate(c) ? 0 : c.prompts;
  return count;
}

TrialPattern make_pattern(std::vector<std::uint32_t> trials) {
  TrialPattern out{std::move(trials), 0, 0, true};
  const auto first = std::find_if(out.trials.begin(), out.trials.end(), [](auto n) { return n > 0; });
  for (const auto n : out.trials) {
    out.total += n;
    out.present += n > 0 ? 1 : 0;
    out.even = out.even && (n == 0 || n == *first);
  }
  return out;
}

PromptClasses classify_prompts(const CountTable& table) {
  PromptClasses out;
  out.pool_size = table.pool_size();
  out.prompts = table.prompt_count();
  out.class_of_row.resize(out.prompts);
  Grouping groups;
  for (std::size_t i = 0; i < out.prompts; ++i) out.class_of_row[i] = groups.add(table.row(i));

  const auto patterns = sorted_indices(
      groups.patterns_.size(), [&](auto a, auto b) { return groups.patterns_[a] < groups.patterns_[b]; });
  std::vector<std::size_t> new_pattern(patterns.size());
  for (std::size_t k = 0; k < patterns.size(); ++k) {
    new_pattern[patterns[k]] = k;
    out.patterns.push_back(make_pattern(std::move(groups.patterns_[patterns[k]])));
  }
  for (auto& c : groups.classes_) c.pattern = new_pattern[c.pattern];
  const auto order = sorted_indices(groups.classes_.size(), [&](auto a, auto b) {
    const auto &x = groups.classes_[a], &y = groups.classes_[b];
    return std::pair(x.pattern, x.successes) < std::pair(y.pattern, y.successes);
  });
  std::vector<std::uint32_t> new_class(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) {
    new_class[order[k]] = static_cast<std::uint32_t>(k);
    out.classes.push_back(groups.classes_[order[k]]);
  }
  for (auto& c : out.class_of_row) c = new_class[c];
  return out;
}

std::vector<std::size_t> first_classes(const PromptClasses& classes) {
  std::vector<std::size_t> first(classes.patterns.size() + 1, classes.classes.size());
  for (std::size_t k = classes.classes.size(); k-- > 0;) first[classes.classes[k].pattern] = k;
  return first;
}

}  // namespace gapwatch::stats
