// ThreeFry 2x32 and Philox 4x32, a block of counters at a time.
#include "core/eval/numbers/random_bits.h"

#include <bit>
#include <cstddef>

namespace hloscope::eval {

void ThreeFry2x32(CounterBlock<2>& counters, std::array<uint32_t, 2> key) {
  constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const uint32_t keys[3] = {key[0], key[1], key[0] ^ key[1] ^ 0x1bd11bdau};
  auto& [x, y] = counters;
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] += keys[0];
    y[i] += keys[1];
  }
  for (uint32_t group = 0; group < 5; ++group) {
    for (int rotation : kRotations[group % 2]) {
      for (size_t i = 0; i < x.size(); ++i) {
        x[i] += y[i];
        y[i] = std::rotl(y[i], rotation) ^ x[i];
      }
    }
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] += keys[(group + 1) % 3];
      y[i] += keys[(group + 2) % 3] + group + 1;
    }
  }
}

void Philox4x32(CounterBlock<4>& counters, std::array<uint32_t, 2> key) {
  auto& [c0, c1, c2, c3] = counters;
  for (int round = 0; round < 10; ++round) {
    for (size_t i = 0; i < c0.size(); ++i) {
      const uint64_t a = uint64_t{c0[i]} * 0xd2511f53u;
      const uint64_t b = uint64_t{c2[i]} * 0xcd9e8d57u;
      c0[i] = static_cast<uint32_t>(b >> 32) ^ c1[i] ^ key[0];
      c1[i] = static_cast<uint32_t>(b);
      c2[i] = static_cast<uint32_t>(a >> 32) ^ c3[i] ^ key[1];
      c3[i] = static_cast<uint32_t>(a);
    }
    key[0] += 0x9e3779b9u;
    key[1] += 0xbb67ae85u;
  }
}

}  // namespace hloscope::eval
