// A quick hash for caches: of bytes that nobody chose to collide.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace hloscope {

inline uint64_t QuickMix(uint64_t hash, uint64_t word) {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
  hash = (hash ^ word) * kOdd;
  return hash ^ (hash >> 29);
}

// Eight bytes at a time, the rest padded with zeros.
inline uint64_t QuickHash(std::string_view bytes, uint64_t seed) {
  uint64_t hash = QuickMix(seed, bytes.size());
  while (bytes.size() >= sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, bytes.data(), sizeof word);
    hash = QuickMix(hash, word);
    bytes.remove_prefix(sizeof word);
  }
  uint64_t word = 0;
  std::memcpy(&word, bytes.data(), bytes.size());
  return QuickMix(hash, word);
}

}  // namespace hloscope
