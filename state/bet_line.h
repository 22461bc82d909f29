// BetLine: the responses of a partition on their way to its evidence, which is kept by a thread of its own.
//
// Bets are taken in the order in which they were put, by one thread at a time: the same numbers come out as if
// each were taken at once. Whoever looks at evidence drains the line first.
//
// Threads: one owner puts and drains; takers are called from the line's thread, or from the owner's within drain()
// where little waits or the system gives no thread. Cost: 64 bytes a bet, at most ten thousand of them.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "state/catalog.h"

namespace gapwatch::state {

struct Bet;

class BetTaker {
 public:
  virtual void take(const Bet& bet) = 0;
  // take() comes soon: depth 0 first, then 1 and 2, each when what the one before asked for is there.
  virtual void prefetch(const Bet& bet, int depth) const = 0;

 protected:
  ~BetTaker() = default;
};

// A cache line, for it goes from one core to another.
struct alignas(64) Bet {
  enum class Kind : std::uint8_t { kResponse, kAmendment, kRetraction };
  // What few bets have.
  struct More {
    std::uint64_t seed = 0;            // of the partition, where it has none yet; 0: it has
    std::vector<double> propensities;  // by column; empty: not all are known
  };

  BetTaker* taker = nullptr;
  const More* more = nullptr;   // null: nothing
  const char* prompt = nullptr;  // memory of the shard, prompt_bytes of it
  std::uint64_t identity = 0;   // which response of the cell it is
  std::uint64_t order = 0;      // its place in order of request
  TimeMs time = 0;              // 0: none
  std::uint32_t place = 0, column = 0, prompt_bytes = 0;
  std::uint16_t monitor = 0;    // a MonitorIndex, of which there are fewer
  Kind kind = Kind::kResponse;
  bool success = false;  // not of a retraction
};
static_assert(sizeof(Bet) == 64);

class BetLine {
 public:
  BetLine() = default;
  ~BetLine();
  BetLine(const BetLine&) = delete;
  BetLine& operator=(const BetLine&) = delete;

  // The next place: every field is to be set before the next call. What it held before is anything.
  Bet& next();
  // The rest of the bet that next() gave last, empty.
  Bet::More& more();
  // Returns when all have been taken.
  void drain();

 private:
  static constexpr std::size_t kTogether = 1'024, kMostWaiting = 8;
  struct Batch {
    std::vector<Bet> bets = std::vector<Bet>(kTogether);
    std::size_t size = 0;
    std::deque<Bet::More> more;
    std::size_t more_size = 0;
  };
  void hand_over();
  void work();
  static void take(Batch& batch);

  std::unique_ptr<Batch> filling_;
  bool handed_over_ = false;  // since the last drain
  bool alone_ = false;        // there is no thread to be had

  std::mutex mutex_;
  std::condition_variable ready_, done_;
  std::deque<std::unique_ptr<Batch>> waiting_;
  std::vector<std::unique_ptr<Batch>> spare_;
  bool busy_ = false, stopping_ = false;
  std::thread thread_;
};

}  // namespace gapwatch::state
