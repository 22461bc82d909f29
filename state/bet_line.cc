#include "state/bet_line.h"

#include <system_error>
#include <utility>

namespace gapwatch::state {

BetLine::~BetLine() {
  drain();
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  ready_.notify_one();
  if (thread_.joinable()) thread_.join();
}

Bet& BetLine::next() {
  if (filling_ != nullptr && filling_->size == kTogether) hand_over();
  if (filling_ == nullptr) filling_ = std::make_unique<Batch>();
  return filling_->bets[filling_->size++];
}

Bet::More& BetLine::more() {
  auto& batch = *filling_;
  if (batch.more_size == batch.more.size()) batch.more.emplace_back();
  auto& more = batch.more[batch.more_size++];
  more.seed = 0;
  more.propensities.clear();
  batch.bets[batch.size - 1].more = &more;
  return more;
}

void BetLine::drain() {
  if (handed_over_) {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return waiting_.empty() && !busy_; });
    handed_over_ = false;
  }
  if (filling_ != nullptr) take(*filling_);
}

void BetLine::hand_over() {
  if (!thread_.joinable() && !alone_) {
    try {
      thread_ = std::thread([this] { work(); });
    } catch (const std::system_error&) {
      alone_ = true;
    }
  }
  if (alone_) return take(*filling_);
  {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return waiting_.size() < kMostWaiting; });
    waiting_.push_back(std::move(filling_));
    if (!spare_.empty()) {
      filling_ = std::move(spare_.back());
      spare_.pop_back();
    }
  }
  handed_over_ = true;
  ready_.notify_one();
}

void BetLine::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ready_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    auto batch = std::move(waiting_.front());
    waiting_.pop_front();
    busy_ = true;
    lock.unlock();
    take(*batch);
    lock.lock();
    busy_ = false;
    spare_.push_back(std::move(batch));
    done_.notify_one();
  }
}

void BetLine::take(Batch& batch) {
  constexpr std::size_t kAhead[] = {12, 8, 4};
  const auto size = std::exchange(batch.size, 0);
  for (std::size_t i = 0; i < size; ++i) {
    for (int depth = 0; depth < 3; ++depth) {
      const auto ahead = i + kAhead[depth];
      if (ahead < size) batch.bets[ahead].taker->prefetch(batch.bets[ahead], depth);
    }
    batch.bets[i].taker->take(batch.bets[i]);
  }
  batch.more_size = 0;
}

}  // namespace gapwatch::state
