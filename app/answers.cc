#include "app/answers.h"

#include <algorithm>

#include "stats/rates.h"

namespace gapwatch::app {

std::uint32_t AnswerBook::intern(std::string_view text) {
  return ids_.try_emplace(std::string(text), static_cast<std::uint32_t>(ids_.size())).first->second;
}

void AnswerBook::note(const state::Event& event, state::Applied applied) {
  if (event.kind != state::EventKind::kDraw || event.answer.empty() || !event.draw) return;
  if (applied == state::Applied::kRejected) return;
  auto policy = std::string(event.policy);
  if (!event.version.empty()) policy.append("@").append(event.version);
  given_[{std::string(event.eval), std::string(event.scorer), std::string(event.prompt)}].push_back(
      {*event.draw, intern(policy), intern(event.answer)});
}

stats::PromptVotes AnswerBook::votes_of(const std::vector<Given>& given, const state::TableSnapshot& snapshot,
                                        std::size_t row) const {
  const auto cells = snapshot.table.row(row);
  std::map<std::uint64_t, std::map<std::size_t, stats::Ballot>> by_draw;  // draw -> column -> its latest ballot
  for (std::size_t m = 0; m < cells.size(); ++m) {
    const auto id = ids_.find(snapshot.table.policies[m]);
    if (id == ids_.end()) continue;
    for (const auto& one : given) {
      if (one.policy != id->second) continue;
      const auto outcome = snapshot.draws[row * cells.size() + m].get(one.draw);
      if (!stats::is_judged(outcome)) continue;
      by_draw[one.draw][m] = {one.answer, outcome == stats::DrawOutcome::kSuccess};
    }
  }
  stats::PromptVotes votes;
  double all_fail = 1;
  for (const auto cell : cells) {
    const double rate = stats::raw_rate(cell);
    votes.ceiling = std::max(votes.ceiling, rate);
    all_fail *= 1 - rate;
  }
  votes.union_rate = 1 - all_fail;
  for (const auto& [draw, ballots] : by_draw) {
    if (ballots.size() < 2) continue;
    votes.votes.emplace_back();
    for (const auto& [column, ballot] : ballots) votes.votes.back().push_back(ballot);
  }
  return votes;
}

std::optional<stats::Voting> AnswerBook::vote(const state::MonitorMoment& moment,
                                              const state::TableSnapshot& snapshot) const {
  if (given_.empty() || snapshot.draws.empty()) return std::nullopt;
  std::vector<stats::PromptVotes> prompts;
  for (std::size_t i = 0; i < snapshot.table.prompt_count(); ++i) {
    if (!stats::is_complete(snapshot.table.row(i), moment.spec.completeness)) continue;
    const auto given = given_.find({moment.eval, moment.scorer, snapshot.table.prompts[i]});
    if (given == given_.end()) continue;
    auto votes = votes_of(given->second, snapshot, i);
    if (!votes.votes.empty()) prompts.push_back(std::move(votes));
  }
  if (prompts.empty()) return std::nullopt;
  return stats::vote(prompts);
}

}  // namespace gapwatch::app
