// Orders made of a seed: a number in the place of each.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace hloscope::ptx {

// Bits that depend on all of `value` (SplitMix64).
inline uint64_t Mixed(uint64_t value) {
  value += 0x9e3779b97f4a7c15u;
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
  value = (value ^ value >> 27) * 0x94d049bb133111ebu;
  return value ^ value >> 31;
}

// The `index`-th of the numbers below `count` in the order of `seed`: a Feistel network over the
// next power of four, gone round until the number is below.
inline uint64_t ShuffledIndex(uint64_t index, uint64_t count, uint64_t seed) {
  const auto half = static_cast<int>((std::bit_width(count - 1) + 1) / 2);
  const uint64_t low = (uint64_t{1} << half) - 1;
  uint64_t left = index >> half, right = index & low;
  do {
    for (uint64_t round = 0; round < 4; ++round) {
      const uint64_t next = left ^ (Mixed(seed ^ right << 3 ^ round << 60) & low);
      left = right;
      right = next;
    }
  } while ((left << half | right) >= count);
  return left << half | right;
}

// All lanes of a warp in the order of `seed`.
inline std::array<uint8_t, 32> ShuffledLanes(uint64_t seed) {
  std::array<uint8_t, 32> order;
  for (uint32_t i = 0; i < order.size(); ++i)
    order[i] = static_cast<uint8_t>(ShuffledIndex(i, order.size(), seed));
  return order;
}

}  // namespace hloscope::ptx
