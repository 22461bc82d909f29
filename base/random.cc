#include "base/random.h"

namespace gapwatch {

PhiloxCounter philox4x32(PhiloxCounter counter, PhiloxKey key) {
  constexpr std::uint64_t kMultiply0 = 0xD2511F53, kMultiply1 = 0xCD9E8D57;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = kMultiply0 * counter[0], p1 = kMultiply1 * counter[2];
    counter = {static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(p1),
               static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(p0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

void CounterRandom::refill() {
  const PhiloxCounter out = philox4x32(counter_, key_);
  block_ = {(static_cast<std::uint64_t>(out[1]) << 32) | out[0],
            (static_cast<std::uint64_t>(out[3]) << 32) | out[2]};
  left_ = 2;
  ++counter_[0];
}

}  // namespace gapwatch
