#include "app/answers.h"

#include <gtest/gtest.h>

namespace gapwatch::app {
namespace {

constexpr auto kSuccess = stats::DrawOutcome::kSuccess, kFailure = stats::DrawOutcome::kFailure;

// One complete prompt of three policies with two draws each, and what they answered.
class Answers : public testing::Test {
 protected:
  Answers() {
    moment_.eval = "e";
    moment_.scorer = "s";
    moment_.spec.pool_size = 3;
    snapshot_.table.policies = {"a", "b", "c@2"};
    snapshot_.table.prompts = {"p"};
    snapshot_.slices = {""};
    snapshot_.table.cells = {{2, 1}, {2, 1}, {2, 1}};
    snapshot_.draws.resize(3);
    give(0, "a", "", 0, "x", kSuccess);
    give(0, "a", "", 1, "x", kFailure);
    give(1, "b", "", 0, "x", kSuccess);
    give(1, "b", "", 1, "y", kFailure);
    give(2, "c", "2", 0, "z", kFailure);
    give(2, "c", "2", 1, "x", kSuccess);
  }

  void give(std::size_t column, std::string_view policy, std::string_view version, std::optional<std::uint64_t> draw,
            std::string_view answer, stats::DrawOutcome outcome, state::Applied applied = state::Applied::kApplied) {
    state::Event event;
    event.eval = "e";
    event.scorer = "s";
    event.prompt = "p";
    event.policy = policy;
    event.version = version;
    event.draw = draw;
    event.answer = answer;
    book_.note(event, applied);
    if (draw && applied != state::Applied::kRejected) snapshot_.draws[column].exchange(*draw, outcome);
  }

  AnswerBook book_;
  state::MonitorMoment moment_;
  state::TableSnapshot snapshot_;
};

// Draw 0: x, x, z: x wins, both right: 1. Draw 1: x wrong, y wrong, x right: x wins with one of two right: 1/2.
// Accuracy 3/4; ceiling 1/2; union 7/8. know 1/4, guess 1/8.
TEST_F(Answers, VoteByDraw) {
  const auto vote = book_.vote(moment_, snapshot_);
  ASSERT_TRUE(vote);
  EXPECT_EQ(vote->prompts, 1);
  EXPECT_DOUBLE_EQ(*vote->accuracy, 0.75);
  EXPECT_DOUBLE_EQ(*vote->know, 0.25);
  EXPECT_DOUBLE_EQ(*vote->guess, 0.125);
}

TEST_F(Answers, TheLatestAnswerOfADrawHolds) {
  give(2, "c", "2", 0, "x", kSuccess, state::Applied::kCorrection);
  give(1, "b", "", 0, "y", kFailure, state::Applied::kRejected);
  EXPECT_DOUBLE_EQ(*book_.vote(moment_, snapshot_)->accuracy, 0.75);
  give(1, "b", "", 1, "z", kFailure, state::Applied::kCorrection);
  give(0, "a", "", 1, "w", kFailure, state::Applied::kCorrection);
  // Draw 1 is w, z, x: a tie of three, one of them right.
  EXPECT_DOUBLE_EQ(*book_.vote(moment_, snapshot_)->accuracy, (1 + 1.0 / 3) / 2);
}

TEST_F(Answers, DrawsThatAreGoneOrUnindexedDoNotVote) {
  snapshot_.draws[2].exchange(1, stats::DrawOutcome::kAbsent);
  snapshot_.draws[1].exchange(1, stats::DrawOutcome::kAbsent);
  give(1, "b", "", std::nullopt, "x", kSuccess);
  EXPECT_DOUBLE_EQ(*book_.vote(moment_, snapshot_)->accuracy, 1) << "draw 1 has one answer left: no vote";
}

TEST_F(Answers, NothingToVoteOn) {
  EXPECT_FALSE(AnswerBook().vote(moment_, snapshot_));
  moment_.scorer = "other";
  EXPECT_FALSE(book_.vote(moment_, snapshot_));
  moment_.scorer = "s";
  snapshot_.table.cells[0] = {0, 0};
  EXPECT_FALSE(book_.vote(moment_, snapshot_)) << "not complete";
}

}  // namespace
}  // namespace gapwatch::app
