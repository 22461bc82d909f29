#include "stats/null_alias.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace gapwatch::stats {
namespace {

// Rows of 1 to 33 outcomes, some of which never come.
std::vector<AliasEntry> random_row(CounterRandom& random, std::uint32_t& bits) {
  std::vector<double> weights(1 + bounded(random, 33));
  for (auto& weight : weights) weight = bernoulli(random, 0.2) ? 0.0 : uniform(random);
  weights.back() = 1;
  bits = alias_bits(weights.size());
  std::vector<AliasEntry> row(std::size_t{1} << bits);
  build_alias_row(weights, static_cast<std::uint32_t>(bounded(random, 100)), row.data(), bits);
  return row;
}

TEST(NullAlias, ARowHasItsLawToTheLastBit) {
  CounterRandom random(5);
  for (const std::size_t outcomes : {1, 2, 3, 17, 32, 33, 64, 65, 200}) {
    std::vector<double> weights(outcomes), shares(outcomes, 0.0);
    double sum = 0;
    for (auto& weight : weights) sum += weight = uniform(random);
    const auto bits = alias_bits(outcomes);
    std::vector<AliasEntry> row(std::size_t{1} << bits);
    build_alias_row(weights, 0, row.data(), bits);
    for (const auto& entry : row) {
      shares[entry.own] += entry.keep * 0x1p-32;
      shares[entry.alias] += 1 - entry.keep * 0x1p-32;
    }
    for (std::size_t k = 0; k < outcomes; ++k) {
      EXPECT_NEAR(shares[k] / static_cast<double>(row.size()), weights[k] / sum, 0x1p-32 * static_cast<double>(outcomes));
    }
  }
}

// Many look-ups at once are the single ones, ties of the upper bits included.
TEST(NullAlias, PackedRowsPickTheSame) {
  CounterRandom random(6);
  PackedAlias packed;
  for (int n = 0; n < 200; ++n) {
    std::uint32_t bits = 0;
    const auto row = random_row(random, bits);
    const auto first = packed.add(row);
    PackedAlias::Each<std::uint32_t> numbers, at, fraction, entries;
    PackedAlias::Each<std::uint8_t> outcomes;
    for (std::size_t k = 0; k < numbers.size(); ++k) {
      numbers[k] = static_cast<std::uint32_t>(random());
      if (k % 3 == 0) {  // by the slot's own bound, or next to it
        const auto slot = PackedAlias::entry_of(numbers[k], bits);
        const auto bound = row[slot].keep + static_cast<std::uint32_t>(bounded(random, 3)) - 1;
        numbers[k] = bits == 0 ? bound : (slot << (32 - bits)) | (bound >> bits);
      }
      at[k] = first + PackedAlias::entry_of(numbers[k], bits);
      fraction[k] = PackedAlias::fraction_of(numbers[k], bits);
      entries[k] = packed[at[k]];
    }
    const std::size_t count = 1 + bounded(random, numbers.size());
    packed.pick(entries, at, fraction, count, outcomes.data());
    for (std::size_t k = 0; k < count; ++k) EXPECT_EQ(outcomes[k], alias_pick(row.data(), bits, numbers[k])) << n << " " << k;
  }
}

}  // namespace
}  // namespace gapwatch::stats
