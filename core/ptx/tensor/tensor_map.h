// Tensor maps: what cp.async.bulk.tensor is told of an array in memory. Their 128 bytes on a device
// are not documented; here they are bytes of our own, which only a launch writes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/result.h"

namespace hloscope::ptx {

// Which bits of a shared address choose the order of its chunks of 16 bytes: bits 4 to 6 are xored
// with bits 7 to 9 (k128), 4 and 5 with 7 and 8 (k64), 4 with 7 (k32).
enum class Swizzle : uint8_t { kNone, k32, k64, k128 };

// Bytes of a row of the pattern: 16 without one.
constexpr uint32_t RowBytes(Swizzle swizzle) { return 16u << static_cast<uint32_t>(swizzle); }
constexpr uint64_t Swizzled(uint64_t address, Swizzle swizzle) {
  const uint64_t chunks = RowBytes(swizzle) / 16 - 1;
  return address ^ ((address >> 7 & chunks) << 4);
}

inline constexpr size_t kMaxTensorDimensions = 5;
inline constexpr uint64_t kTensorMapBytes = 128;

// As cuTensorMapEncodeTiled takes it; the contiguous dimension comes first. Without interleaving;
// what lies outside of the array is zero.
struct TensorMap {
  uint32_t element_bytes = 0;
  std::vector<uint64_t> sizes;    // elements
  std::vector<uint64_t> strides;  // bytes, of the dimensions but the first
  std::vector<uint32_t> box;      // elements that one copy spans, before its steps
  std::vector<uint32_t> steps;    // every how manyth element is copied; of the first dimension: 1
  Swizzle swizzle = Swizzle::kNone;

  // Elements that a copy takes of a dimension.
  uint32_t Taken(size_t dimension) const {
    return (box[dimension] + steps[dimension] - 1) / steps[dimension];
  }
};

// Input error: a map that cuTensorMapEncodeTiled would refuse, or of an array beyond
// `memory_bytes`.
Status CheckTensorMap(const TensorMap& map, uint64_t memory_bytes);

// The bytes of a parameter for an array at `address`; and back: nullopt for other bytes.
std::array<std::byte, kTensorMapBytes> EncodeTensorMap(const TensorMap& map, uint64_t address);
struct PlacedTensorMap {
  TensorMap map;
  uint64_t address = 0;
};
std::optional<PlacedTensorMap> DecodeTensorMap(const std::array<std::byte, kTensorMapBytes>& bytes);

}  // namespace hloscope::ptx
