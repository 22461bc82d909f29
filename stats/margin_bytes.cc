#include "stats/margin_bytes.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace gapwatch::stats {
namespace {

constexpr std::uint64_t kOnes = 0x0101010101010101, kTops = kOnes << 7, kEven = 0x00FF00FF00FF00FF;

std::uint64_t sum_of_bytes(std::uint64_t word) {
  const std::uint64_t pairs = (word & kEven) + ((word >> 8) & kEven);
  return (pairs * 0x0001000100010001) >> 48;
}

// By byte, of bytes below 128: 1 where a >= b.
std::uint64_t at_least(std::uint64_t a, std::uint64_t b) {
  return (((a | kTops) - b) >> 7) & kOnes;
}

// Ones where the byte is 1, of bytes 0 or 1.
std::uint64_t mask_of(std::uint64_t word) {
  return (word << 8) - word;
}

}  // namespace

ByteTable::ByteTable(std::span<const std::vector<std::uint32_t>> counts, std::vector<std::uint32_t> trials)
    : prompts_(counts.empty() ? 0 : counts[0].size()), trials_(std::move(trials)), columns_(counts.size()) {
  for (std::size_t m = 0; m < counts.size(); ++m) {
    columns_[m].words.resize((prompts_ + 7) / 8);
    std::uint64_t& sum = successes_.emplace_back(0);
    for (std::size_t i = 0; i < prompts_; ++i) {
      columns_[m].bytes()[i] = static_cast<std::uint8_t>(counts[m][i]);
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
void copy_reversed(const std::uint8_t* from, std::size_t count, std::uint8_t* to) {
  for (; count >= 8; to += 8) {
    std::uint64_t word;
    std::memcpy(&word, from + (count -= 8), 8);
    word = __builtin_bswap64(word);
    std::memcpy(to, &word, 8);
  }
  while (count > 0) *to++ = from[--count];
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
  std::uint8_t *x = columns_[a].bytes(), *y = columns_[b].bytes();
  HeatBath::Tables tables;
  const auto draw = [&](std::size_t count) {
    FastRandom own = random;  // its state in registers
    for (std::size_t k = 0; k < count; k += 2) {
      const std::uint64_t bits = own();
      tables.number[k] = static_cast<std::uint32_t>(bits >> 32);
      tables.number[k + 1] = static_cast<std::uint32_t>(bits);
    }
    random = own;
    bath_.draw(space, tables, count);
  };
  if (prompts_ % 2 == 0) {  // the last one's partner is the turn
    tables.ia[0] = x[turn], tables.ib[0] = y[turn], tables.ja[0] = x[odd], tables.jb[0] = y[odd];
    draw(1);
    x[turn] = tables.ia[0], y[turn] = tables.ib[0], x[odd] = tables.ja[0], y[odd] = tables.jb[0];
  }
  std::size_t count = 0;
  for (std::size_t done = 0; done < odd / 2; done += count) {
    count = std::min(HeatBath::Tables::kMost, odd / 2 - done);
    const std::size_t up = (turn + 1 + done) % odd, down = (turn + odd - 1 - done) % odd;
    read_up(x, odd, up, count, tables.ia.data());
    read_up(y, odd, up, count, tables.ib.data());
    read_down(x, odd, down, count, tables.ja.data());
    read_down(y, odd, down, count, tables.jb.data());
    draw(count);
    write_up(x, odd, up, count, tables.ia.data());
    write_up(y, odd, up, count, tables.ib.data());
    write_down(x, odd, down, count, tables.ja.data());
    write_down(y, odd, down, count, tables.jb.data());
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

std::uint64_t ByteTable::sum_of_best() const {
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at < columns_[0].words.size(); ++at) {
    std::uint64_t best = columns_[0].words[at];
    for (std::size_t m = 1; m < columns_.size(); ++m) {
      const std::uint64_t other = columns_[m].words[at], keep = mask_of(at_least(best, other));
      best = (best & keep) | (other & ~keep);
    }
    sum += sum_of_bytes(best);
  }
  return sum;
}

void ByteTable::add_threshold(std::uint64_t need, std::span<std::uint32_t> policy, std::uint32_t& any,
                              std::uint32_t& all, std::uint64_t& uncovered) const {
  constexpr std::size_t kMostWords = 255;  // whose ones, added up, fit a byte
  const std::uint64_t needs = need * kOnes;
  const std::size_t words = columns_[0].words.size(), pool = columns_.size();
  std::uint64_t covering_pairs = 0, covered = 0;
  for (std::size_t first = 0; first < words; first += kMostWords) {
    std::array<std::uint64_t, kMostPoliciesInBytes> sums{};
    std::uint64_t any_sum = 0, all_sum = 0;
    for (std::size_t at = first; at < std::min(words, first + kMostWords); ++at) {
      std::uint64_t before = 0, pairs = 0,
                    everyone = kOnes;  // by byte: covering policies so far, pairs of them
      for (std::size_t m = 0; m < pool; ++m) {
        const std::uint64_t covers = at_least(columns_[m].words[at], needs);
        pairs += before & mask_of(covers);
        before += covers;
        everyone &= covers;
        sums[m] += covers;
      }
      any_sum += at_least(before, kOnes);
      all_sum += everyone;
      covering_pairs += sum_of_bytes(pairs);
    }
    for (std::size_t m = 0; m < pool; ++m) {
      const auto sum = sum_of_bytes(sums[m]);
      policy[m] += static_cast<std::uint32_t>(sum);
      covered += sum;
    }
    any += static_cast<std::uint32_t>(sum_of_bytes(any_sum));
    all += static_cast<std::uint32_t>(sum_of_bytes(all_sum));
  }
  uncovered += uncovered_pairs(prompts_, pool, covered, covering_pairs);
}

}  // namespace gapwatch::stats
