#include "stats/voting.h"

#include <algorithm>
#include <map>

namespace gapwatch::stats {

Number plurality(std::span<const Ballot> ballots) {
  if (ballots.empty()) return std::nullopt;
  struct Tally {
    double votes = 0, correct = 0;
  };
  std::map<std::uint32_t, Tally> answers;
  double most = 0;
  for (const auto& ballot : ballots) {
    auto& tally = answers[ballot.answer];
    tally.votes += 1;
    tally.correct += ballot.correct;
    most = std::max(most, tally.votes);
  }
  double right = 0, tied = 0;
  for (const auto& [answer, tally] : answers) {
    if (tally.votes < most) continue;
    right += tally.correct / tally.votes;
    tied += 1;
  }
  return right / tied;
}

Voting vote(std::span<const PromptVotes> prompts) {
  Voting out;
  double accuracy = 0, know = 0, guess = 0;
  for (const auto& prompt : prompts) {
    double sum = 0, votes = 0;
    for (const auto& ballots : prompt.votes) {
      if (const auto right = plurality(ballots)) {
        sum += *right;
        votes += 1;
      }
    }
    if (votes == 0) continue;
    ++out.prompts;
    accuracy += sum / votes;
    know += std::max(0.0, sum / votes - prompt.ceiling);
    guess += std::max(0.0, prompt.union_rate - sum / votes);
  }
  if (out.prompts == 0) return out;
  const auto n = static_cast<double>(out.prompts);
  out.accuracy = accuracy / n;
  out.know = know / n;
  out.guess = guess / n;
  return out;
}

}  // namespace gapwatch::stats
