// A quick hash for caches: of bytes that nobody chose to collide.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace hloscope {

/// A step of a hash. The same for both orders of two values: MixKeys where these must differ.
constexpr uint64_t QuickMix(uint64_t hash, uint64_t word) {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
  hash = (hash ^ word) * kOdd;
  return hash ^ (hash >> 29);
}

/// A key out of two in this order, the same on every machine.
constexpr uint64_t MixKeys(uint64_t a, uint64_t b) {
  uint64_t x = (a ^ (b + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2))) * 0xff51afd7ed558ccdu;
  return x ^ (x >> 32);
}

// Eight bytes at a time, the rest padded with zeros. Several seeds together take hardly longer than
// one: each step waits for the one before it, not for those of other seeds.
template <size_t N>
std::array<uint64_t, N> QuickHashes(std::string_view bytes, std::array<uint64_t, N> hashes) {
  const auto mix = [&](uint64_t word) {
    for (uint64_t& hash : hashes) hash = QuickMix(hash, word);
  };
  mix(bytes.size());
  while (bytes.size() >= sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, bytes.data(), sizeof word);
    mix(word);
    bytes.remove_prefix(sizeof word);
  }
  uint64_t word = 0;
  std::memcpy(&word, bytes.data(), bytes.size());
  mix(word);
  return hashes;
}

inline uint64_t QuickHash(std::string_view bytes, uint64_t seed) {
  return QuickHashes(bytes, std::array{seed})[0];
}

}  // namespace hloscope
