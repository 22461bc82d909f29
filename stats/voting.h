// Plurality vote: what answers alone give, between one policy's rate and the union.
//
// Per prompt and draw the pool's answers vote; the winner is right or wrong as its voters are, ties averaged
// over the tied answers. accuracy O_agg = mean over a prompt's votes. Against the ceiling R and the union U of the
// same prompts: know = mean (O_agg - R)+, what agreement adds to the best policy; guess = mean (U - O_agg)+,
// what the union has and a vote cannot find. What it does not say: what a trained aggregator would do.
//
// No prompt with votes: absent. Threads: pure. Cost: votes x answers.
// Source: statistics.md section 4; [RG].
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stats/running.h"

namespace gapwatch::stats {

struct Ballot {
  std::uint32_t answer = 0;  // any label, equal labels are equal answers
  bool correct = false;      // answers that are equal should agree; else the vote counts the share that is right
};

struct PromptVotes {
  std::vector<std::vector<Ballot>> votes;  // by draw: the ballots of the policies that answered
  double ceiling = 0, union_rate = 0;      // of this prompt
};

struct Voting {
  std::int64_t prompts = 0;
  Number accuracy, know, guess;
};
// Accuracy of one vote in [0, 1]; absent without ballots.
Number plurality(std::span<const Ballot> ballots);
Voting vote(std::span<const PromptVotes> prompts);

}  // namespace gapwatch::stats
