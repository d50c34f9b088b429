// Comparisons of what is stored with what was there.
#pragma once

#include <cstdint>
#include <cstring>

namespace hloscope::ptx {

template <typename T>
bool AllDiffer(const std::byte* a, const std::byte* b, uint32_t bytes) {
  uint32_t equal = 0;
  for (uint32_t i = 0; i < bytes / sizeof(T); ++i) {
    T x, y;
    std::memcpy(&x, a + i * sizeof(T), sizeof(T));
    std::memcpy(&y, b + i * sizeof(T), sizeof(T));
    equal |= x == y;
  }
  return equal == 0;
}

inline bool IsSame(const std::byte* a, const std::byte* b, uint32_t bytes) {
  if (bytes == 4) return !AllDiffer<uint32_t>(a, b, 4);
  if (bytes == 2) return !AllDiffer<uint16_t>(a, b, 2);
  return std::memcmp(a, b, bytes) == 0;
}

// Whether no part of `grain` bytes is the same.
inline bool DiffersEverywhere(const std::byte* a, const std::byte* b, uint32_t bytes,
                              uint32_t grain) {
  switch (grain) {
    case 1:
      return AllDiffer<uint8_t>(a, b, bytes);
    case 2:
      return AllDiffer<uint16_t>(a, b, bytes);
    case 4:
      return AllDiffer<uint32_t>(a, b, bytes);
    case 8:
      return AllDiffer<uint64_t>(a, b, bytes);
    default:
      return false;
  }
}

}  // namespace hloscope::ptx
