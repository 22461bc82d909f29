#include "stats/margin_bytes.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/wide.h"

namespace gapwatch::stats {
namespace {

constexpr std::size_t kPairs = 256;  // at a time
// Prompts at a time, a byte each; and the same as words of two, for sums that do not fit a byte.
constexpr std::size_t kLanes = 32, kMostChunks = 128;
using Bytes = std::uint8_t __attribute__((vector_size(kLanes)));
using Words = std::uint16_t __attribute__((vector_size(kLanes)));

std::uint64_t sum_of(const Bytes& lanes) {
  constexpr std::uint64_t kEven = 0x00FF00FF00FF00FF;
  std::array<std::uint64_t, kLanes / 8> words;
  std::memcpy(words.data(), &lanes, kLanes);
  std::uint64_t sums = 0;  // four of them
  for (const auto word : words) sums += (word & kEven) + ((word >> 8) & kEven);
  return (sums * 0x0001000100010001) >> 48;
}

}  // namespace

ByteTable::ByteTable(std::span<const std::vector<std::uint32_t>> counts, std::vector<std::uint32_t> trials)
    : prompts_(counts.empty() ? 0 : counts[0].size()), trials_(std::move(trials)), columns_(counts.size()) {
  for (std::size_t m = 0; m < counts.size(); ++m) {
    columns_[m].bytes.resize((prompts_ + kLanes - 1) / kLanes * kLanes);
    std::uint64_t& sum = successes_.emplace_back(0);
    for (std::size_t i = 0; i < prompts_; ++i) {
      columns_[m].bytes[i] = static_cast<std::uint8_t>(counts[m][i]);
      sum += counts[m][i];
    }
  }
}

namespace {

// `count` bytes of the circle of `size`, upwards from `at`; or downwards.
void read_up(const std::uint8_t* circle, std::size_t size, std::size_t at, std::size_t count,
             std::uint8_t* to) {
  const std::size_t first = std::min(count, size - at);
  std::copy_n(circle + at, first, to);
  std::copy_n(circle, count - first, to + first);
}
void write_up(std::uint8_t* circle, std::size_t size, std::size_t at, std::size_t count,
              const std::uint8_t* from) {
  const std::size_t first = std::min(count, size - at);
  std::copy_n(from, first, circle + at);
  std::copy_n(from + first, count - first, circle);
}
GAPWATCH_WIDE void copy_reversed(const std::uint8_t* __restrict from, std::size_t count, std::uint8_t* __restrict to) {
  for (std::size_t k = 0; k < count; ++k) to[k] = from[count - 1 - k];
}
void read_down(const std::uint8_t* circle, std::size_t size, std::size_t at, std::size_t count,
               std::uint8_t* to) {
  const std::size_t first = std::min(count, at + 1);
  copy_reversed(circle + at + 1 - first, first, to);
  copy_reversed(circle + size - (count - first), count - first, to + first);
}
void write_down(std::uint8_t* circle, std::size_t size, std::size_t at, std::size_t count,
                const std::uint8_t* from) {
  const std::size_t first = std::min(count, at + 1);
  copy_reversed(from, first, circle + at + 1 - first);
  copy_reversed(from + first, count - first, circle + size - (count - first));
}

}  // namespace

void ByteTable::update(FastRandom& random, std::size_t turn, std::size_t a, std::size_t b) {
  const std::size_t space = bath_.make_space(trials_[a], trials_[b]), odd = Matching::turns(prompts_);
  std::uint8_t *x = columns_[a].bytes.data(), *y = columns_[b].bytes.data();
  HeatBath::Tables tables;
  // Where the prompts are even in number, the last one's partner is the turn.
  const std::size_t with_last = prompts_ % 2 == 0 ? 1 : 0;
  if (with_last != 0) {
    tables.ia[0] = x[turn], tables.ib[0] = y[turn], tables.ja[0] = x[odd], tables.jb[0] = y[odd];
  }
  std::size_t count = 0, at = with_last;
  for (std::size_t done = 0; done < odd / 2 || at != 0; done += count, at = 0) {
    count = std::min(kPairs, odd / 2 - done);
    const std::size_t up = (turn + 1 + done) % odd, down = (turn + odd - 1 - done) % odd;
    read_up(x, odd, up, count, tables.ia.data() + at);
    read_up(y, odd, up, count, tables.ib.data() + at);
    read_down(x, odd, down, count, tables.ja.data() + at);
    read_down(y, odd, down, count, tables.jb.data() + at);
    bath_.draw(random, space, tables, at + count);
    if (at != 0) x[turn] = tables.ia[0], y[turn] = tables.ib[0], x[odd] = tables.ja[0], y[odd] = tables.jb[0];
    write_up(x, odd, up, count, tables.ia.data() + at);
    write_up(y, odd, up, count, tables.ib.data() + at);
    write_down(x, odd, down, count, tables.ja.data() + at);
    write_down(y, odd, down, count, tables.jb.data() + at);
  }
}

bool ByteTable::can_score(const ScoreSpec& spec, const PatternScores& scores) {
  return scores.even() && spec.exact_scale && spec.pool_size <= kMostPoliciesInBytes;
}

void ByteTable::add_score(const ScoreSpec& spec, const PatternScores& scores, TableScore& to) const {
  const std::uint64_t rate = spec.scale / trials_[0];
  for (std::size_t m = 0; m < columns_.size(); ++m) to.value[m] += successes_[m] * rate;
  to.best_value += sum_of_best() * rate;
  for (std::size_t t = 0; t < spec.thresholds.size(); ++t) {
    add_threshold(scores.need_of(t, 0), std::span(to.policy).subspan(t * columns_.size(), columns_.size()),
                  to.any[t], to.all[t], to.uncovered_pairs[t]);
  }
}

// Sums by lane are kept for kMostChunks, in which none of them overflows.
GAPWATCH_WIDE std::uint64_t ByteTable::sum_of_best() const {
  std::uint64_t sum = 0;
  const std::size_t size = columns_[0].bytes.size();
  for (std::size_t first = 0; first < size; first += kMostChunks * kLanes) {
    Words sums{};
    for (std::size_t at = first; at < std::min(size, first + kMostChunks * kLanes); at += kLanes) {
      Bytes best{};
      for (const auto& column : columns_) {
        Bytes counts;
        std::memcpy(&counts, column.bytes.data() + at, kLanes);
        best = counts > best ? counts : best;
      }
      const auto words = reinterpret_cast<Words>(best);
      sums += (words & 0xFF) + (words >> 8);
    }
    for (std::size_t k = 0; k < kLanes / 2; ++k) sum += sums[k];
  }
  return sum;
}

GAPWATCH_WIDE void ByteTable::add_threshold(std::uint64_t need, std::span<std::uint32_t> policy, std::uint32_t& any,
                                            std::uint32_t& all, std::uint64_t& uncovered) const {
  const auto needed = static_cast<std::uint8_t>(need);
  const std::size_t size = columns_[0].bytes.size(), pool = columns_.size();
  std::uint64_t covering_pairs = 0, covered = 0;
  for (std::size_t first = 0; first < size; first += kMostChunks * kLanes) {
    std::array<Bytes, kMostPoliciesInBytes> sums;
    std::fill_n(sums.begin(), pool, Bytes{});
    Bytes any_sums{}, all_sums{};
    Words pair_sums{};
    for (std::size_t at = first; at < std::min(size, first + kMostChunks * kLanes); at += kLanes) {
      Bytes before{}, pairs{}, everyone = ~Bytes{};  // by prompt: covering policies so far, pairs of them, whether all do
      for (std::size_t m = 0; m < pool; ++m) {
        Bytes counts;
        std::memcpy(&counts, columns_[m].bytes.data() + at, kLanes);
        const auto covers = reinterpret_cast<Bytes>(counts >= needed);  // all bits, or none
        pairs += before & covers;
        before -= covers;
        everyone &= covers;
        sums[m] -= covers;
      }
      any_sums -= reinterpret_cast<Bytes>(before != 0);
      all_sums -= everyone;
      const auto words = reinterpret_cast<Words>(pairs);
      pair_sums += (words & 0xFF) + (words >> 8);
    }
    any += static_cast<std::uint32_t>(sum_of(any_sums));
    all += static_cast<std::uint32_t>(sum_of(all_sums));
    for (std::size_t k = 0; k < kLanes / 2; ++k) covering_pairs += pair_sums[k];
    for (std::size_t m = 0; m < pool; ++m) {
      const auto sum = sum_of(sums[m]);
      policy[m] += static_cast<std::uint32_t>(sum);
      covered += sum;
    }
  }
  uncovered += uncovered_pairs(prompts_, pool, covered, covering_pairs);
}

}  // namespace gapwatch::stats
