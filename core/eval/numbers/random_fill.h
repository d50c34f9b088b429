// Made-up elements: the generator behind replayed inputs and filled-in constants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/hlo/element_type.h"

namespace hloscope::eval {

// A fast generator with 64 bits of state (splitmix64): the same numbers everywhere.
class RandomBits {
 public:
  explicit RandomBits(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // Uniform in [0, 1), 53 bits.
  double NextUnit() { return static_cast<double>(Next() >> 11) * 0x1p-53; }
  // Uniform in [low, high].
  int64_t NextBetween(int64_t low, int64_t high) {
    const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low) + 1;
    const uint64_t draw = range == 0 ? Next() : Next() % range;
    return static_cast<int64_t>(static_cast<uint64_t>(low) + draw);
  }

 private:
  uint64_t state_;
};

// Fills `count` elements from `seed` as XLA's tools do: floats uniform in [-0.1, 0.2) (all finite
// patterns below five bits), integers over their whole range, pred 0 or 1.
void FillRandom(hlo::ElementType type, uint64_t seed, std::byte* out, int64_t count);

// The seed of a constant's made-up elements: rewriting and cutting out keep its name.
uint64_t SeedOfConstant(uint64_t seed, std::string_view name);

}  // namespace hloscope::eval
