#include "stats/draw_set.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <new>
#include <utility>

namespace gapwatch::stats {

// Words 1.. of the dense draws, and the far ones, in one piece of memory: the words follow it.
struct DrawSet::Block {
  std::vector<FarDraw> far;
  std::size_t present = 0;  // draws in this block
  std::size_t words = 0;

  Word* dense() { return reinterpret_cast<Word*>(this + 1); }
  const Word* dense() const { return reinterpret_cast<const Word*>(this + 1); }

  static Block* make(std::size_t words) {
    auto* block = new (::operator new(sizeof(Block) + words * sizeof(Word))) Block;
    block->words = words;
    std::uninitialized_fill_n(block->dense(), words, Word{0, 0});
    return block;
  }
  // With room for `size` words, the rest as in `other`.
  static Block* copy(const Block& other, std::size_t size) {
    auto* block = make(size);
    block->far = other.far;
    block->present = other.present;
    std::copy_n(other.dense(), std::min(size, other.words), block->dense());
    return block;
  }
  static void destroy(Block* block) {
    if (block == nullptr) return;
    block->~Block();
    ::operator delete(block);
  }
};

DrawSet::~DrawSet() { Block::destroy(block_); }

DrawSet::DrawSet(DrawSet&& other) noexcept
    : first_(std::exchange(other.first_, {0, 0})), block_(std::exchange(other.block_, nullptr)) {}

DrawSet& DrawSet::operator=(DrawSet&& other) noexcept {
  std::swap(first_, other.first_);
  std::swap(block_, other.block_);
  return *this;
}

DrawSet::DrawSet(const DrawSet& other)
    : first_(other.first_), block_(other.block_ != nullptr ? Block::copy(*other.block_, other.block_->words) : nullptr) {}

DrawSet& DrawSet::operator=(const DrawSet& other) { return *this = DrawSet(other); }

void DrawSet::clear() { *this = DrawSet(); }

bool DrawSet::empty() const { return first_.present() == 0 && (block_ == nullptr || block_->present == 0); }

std::size_t DrawSet::words() const { return 1 + (block_ != nullptr ? block_->words : 0); }

DrawSet::Word DrawSet::word(std::size_t w) const { return w == 0 ? first_ : block_->dense()[w - 1]; }

void DrawSet::set_word(std::size_t w, Word planes) {
  if (w == 0) {
    first_ = planes;
    return;
  }
  if (w >= words()) grow(w);
  Word& place = block_->dense()[w - 1];
  block_->present += std::popcount(planes.present()) - std::popcount(place.present());
  place = planes;
}

std::span<const DrawSet::FarDraw> DrawSet::far() const {
  if (block_ == nullptr) return {};
  return block_->far;
}

std::size_t DrawSet::heap_bytes() const {
  if (block_ == nullptr) return 0;
  return sizeof(Block) + block_->words * sizeof(Word) + block_->far.capacity() * sizeof(FarDraw);
}

DrawOutcome DrawSet::get_beyond(std::uint64_t draw) const {
  if (draw / 64 < words()) return outcome_at(block_->dense()[draw / 64 - 1], draw % 64);
  const auto entries = far();
  const auto at = std::lower_bound(entries.begin(), entries.end(), draw,
                                   [](const FarDraw& entry, std::uint64_t key) { return entry.draw < key; });
  return at != entries.end() && at->draw == draw ? at->outcome : DrawOutcome::kAbsent;
}

DrawOutcome DrawSet::exchange_beyond(std::uint64_t draw, DrawOutcome outcome) {
  const auto w = draw / 64;
  const bool adds = outcome != DrawOutcome::kAbsent;
  if (block_ == nullptr && !adds) return DrawOutcome::kAbsent;
  const std::size_t beyond = block_ != nullptr ? block_->present : 0;
  // Dense costs 16 bytes a word, far 16 bytes a draw: dense where it is at most about as much.
  if (w >= words() && adds) {
    const bool dense = w <= 4 + beyond + std::popcount(first_.present());
    if (dense || block_ == nullptr) grow(dense ? w : 0);
  }
  DrawOutcome before = DrawOutcome::kAbsent;
  if (w < words()) {
    before = exchange_at(block_->dense()[w - 1], draw % 64, outcome);
  } else {
    auto& far = block_->far;
    const auto at = std::lower_bound(far.begin(), far.end(), draw,
                                     [](const FarDraw& entry, std::uint64_t key) { return entry.draw < key; });
    if (at != far.end() && at->draw == draw) {
      before = std::exchange(at->outcome, outcome);
      if (!adds) far.erase(at);
    } else if (adds) {
      far.insert(at, {draw, outcome});
    }
  }
  block_->present += adds;
  block_->present -= before != DrawOutcome::kAbsent;
  return before;
}

// Makes the words up to `w` dense, and takes in the far draws that now have a place.
void DrawSet::grow(std::size_t w) {
  Block* grown = block_ != nullptr ? Block::copy(*block_, w) : Block::make(w);
  Block::destroy(std::exchange(block_, grown));
  auto& far = block_->far;
  const auto end = std::find_if(far.begin(), far.end(), [&](const FarDraw& entry) { return entry.draw / 64 > w; });
  for (auto at = far.begin(); at != end; ++at) {
    exchange_at(block_->dense()[at->draw / 64 - 1], at->draw % 64, at->outcome);
  }
  far.erase(far.begin(), end);
}

namespace {

// Far draws, and dense ones of cells whose last word differs: merged by index.
PairedCount paired_beyond(std::span<const DrawSet* const> pool, std::uint64_t from) {
  std::vector<DrawSet::FarDraw> common;
  bool first = true;
  for (const DrawSet* draws : pool) {
    std::vector<DrawSet::FarDraw> own;
    draws->for_each([&](std::uint64_t draw, DrawOutcome outcome) {
      if (draw >= from && outcome != DrawOutcome::kUnscored) own.push_back({draw, outcome});
    });
    if (first) {
      common = std::move(own);
      first = false;
      continue;
    }
    std::size_t kept = 0, j = 0;
    for (const auto& entry : common) {
      while (j < own.size() && own[j].draw < entry.draw) ++j;
      if (j == own.size()) break;
      if (own[j].draw != entry.draw) continue;
      const bool success = entry.outcome == DrawOutcome::kSuccess || own[j].outcome == DrawOutcome::kSuccess;
      common[kept++] = {entry.draw, success ? DrawOutcome::kSuccess : DrawOutcome::kFailure};
    }
    common.resize(kept);
  }
  PairedCount count;
  for (const auto& entry : common) {
    ++count.aligned;
    count.any_success += entry.outcome == DrawOutcome::kSuccess;
  }
  return count;
}

}  // namespace

PairedCount paired_count(std::span<const DrawSet* const> pool) {
  PairedCount count;
  if (pool.empty()) return count;
  std::size_t words = SIZE_MAX;
  bool all_have_more = true;
  for (const DrawSet* draws : pool) {
    if (draws == nullptr) return count;
    words = std::min(words, draws->words());
  }
  for (const DrawSet* draws : pool) all_have_more &= draws->words() > words || !draws->far().empty();
  for (std::size_t w = 0; w < words; ++w) {
    std::uint64_t aligned = ~std::uint64_t{0}, any = 0;
    for (const DrawSet* draws : pool) {
      const auto planes = draws->word(w);
      aligned &= planes.judged;
      any |= planes.judged & planes.success;
    }
    count.aligned += std::popcount(aligned);
    count.any_success += std::popcount(aligned & any);
  }
  if (all_have_more) {
    const auto rest = paired_beyond(pool, words * 64);
    count.aligned += rest.aligned;
    count.any_success += rest.any_success;
  }
  return count;
}

}  // namespace gapwatch::stats
