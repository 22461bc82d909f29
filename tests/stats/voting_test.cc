#include "stats/voting.h"

namespace gapwatch::stats {
namespace {

TEST(Voting, ThePluralityWinsAndTiesAreAveraged) {
  const std::vector<Ballot> clear{{1, true}, {1, true}, {2, false}};
  EXPECT_EQ(plurality(clear), 1.0);
  const std::vector<Ballot> wrong{{1, true}, {2, false}, {2, false}};
  EXPECT_EQ(plurality(wrong), 0.0);
  const std::vector<Ballot> tied{{1, true}, {2, false}, {3, false}};
  EXPECT_DOUBLE_EQ(*plurality(tied), 1.0 / 3);
  EXPECT_FALSE(plurality({}));
}

TEST(Voting, WhatAgreementAddsAndWhatItMisses) {
  // First prompt: the vote is always right, the best policy only half the time. Second: never right,
  // although some policy is.
  PromptVotes found{{{{1, true}, {1, true}}, {{1, true}, {1, true}, {2, false}}}, 0.5, 0.9};
  PromptVotes missed{{{{2, false}, {2, false}, {1, true}}}, 0.5, 0.75};
  PromptVotes silent{{{}}, 1, 1};
  const std::vector<PromptVotes> prompts{found, missed, silent};
  const auto voting = vote(prompts);
  EXPECT_EQ(voting.prompts, 2);
  EXPECT_DOUBLE_EQ(*voting.accuracy, 0.5);
  EXPECT_DOUBLE_EQ(*voting.know, 0.25);
  EXPECT_DOUBLE_EQ(*voting.guess, 0.375);
  EXPECT_FALSE(vote({}).accuracy);
}

}  // namespace
}  // namespace gapwatch::stats
