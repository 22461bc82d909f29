// AnswerBook: the answers that events gave, for the plurality vote of an offline report.
//
// The state keeps outcomes, not answers; a report over files keeps both for as long as it runs. An answer belongs to
// (eval, scorer, prompt, policy, draw): the latest event's holds. Whether it is right, and whether the draw is still
// there and inside the monitor's window, the snapshot says. Draws without an index of their own are left out: they
// do not align, so there is nothing to vote together.
//
// Threads: one. Memory: about 60 bytes an answer, each distinct text once.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "state/event.h"
#include "state/ledger.h"
#include "stats/draw_table.h"
#include "stats/voting.h"

namespace gapwatch::app {

class AnswerBook {
 public:
  void note(const state::Event& event, state::Applied applied);

  // Over the complete prompts of the monitor; absent where no draw of them has answers of two policies. `snapshot`
  // has draws.
  std::optional<stats::Voting> vote(const state::MonitorMoment& moment, const state::TableSnapshot& snapshot) const;

 private:
  struct Given {
    std::uint64_t draw;
    std::uint32_t policy, answer;
  };
  using Key = std::tuple<std::string, std::string, std::string>;  // eval, scorer, prompt

  std::uint32_t intern(std::string_view text);
  stats::PromptVotes votes_of(const std::vector<Given>& given, const state::TableSnapshot& snapshot, std::size_t row) const;

  std::map<Key, std::vector<Given>> given_;
  std::unordered_map<std::string, std::uint32_t> ids_;  // of policies and of answers
};

}  // namespace gapwatch::app
