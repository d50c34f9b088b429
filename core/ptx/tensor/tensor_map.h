// Tensor maps: what cp.async.bulk.tensor is told of an array in memory. Their 128 bytes on a device
// are not documented; here they are bytes of our own, which launches write and kernels change by
// tensormap.replace.
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

// By the numbers that tensormap.replace gives them (PTX ISA); not those of cuTensorMapEncodeTiled.
enum class MapElement : uint8_t {
  kU8,
  kU16,
  kU32,
  kS32,
  kU64,
  kS64,
  kF16,
  kF32,
  kF32Ftz,
  kF64,
  kBf16,
  kTf32,
  kTf32Ftz,
  kUnknown = 255
};
// 0: of packed elements, and where it is not known.
uint32_t BytesOf(MapElement element);

// As cuTensorMapEncodeTiled takes it; the contiguous dimension comes first. Without interleaving;
// what lies outside of the array is zero.
struct TensorMap {
  uint32_t element_bytes = 0;
  std::vector<uint64_t> sizes;    // elements
  std::vector<uint64_t> strides;  // bytes, of the dimensions but the first
  std::vector<uint32_t> box;      // elements that one copy spans, before its steps
  std::vector<uint32_t> steps;    // every how manyth element is copied; of the first dimension: 1
  Swizzle swizzle = Swizzle::kNone;
  MapElement element = MapElement::kUnknown;  // what copies that reduce need to know

  // Elements that a copy takes of a dimension.
  uint32_t Taken(size_t dimension) const {
    return (box[dimension] + steps[dimension] - 1) / steps[dimension];
  }
};

// Input error: a map that cuTensorMapEncodeTiled would refuse, or of an array beyond
// `memory_bytes`.
Status CheckTensorMap(const TensorMap& map, uint64_t memory_bytes);

using TensorMapBytes = std::array<std::byte, kTensorMapBytes>;

// What the bytes of a map say, field by field.
struct TensorMapFields {
  uint64_t mark = 0;
  uint64_t address = 0;
  uint64_t strides[kMaxTensorDimensions - 1] = {};
  uint32_t sizes[kMaxTensorDimensions] = {};
  uint16_t box[kMaxTensorDimensions] = {};
  uint8_t steps[kMaxTensorDimensions] = {};
  uint8_t dimensions = 0;
  uint8_t element_bytes = 0;
  uint8_t swizzle = 0;
  MapElement element = MapElement::kUnknown;
};
static_assert(sizeof(TensorMapFields) <= kTensorMapBytes);

// Of a map, or of zeros, from which a kernel makes one; nullopt for other bytes.
std::optional<TensorMapFields> FieldsOf(const TensorMapBytes& bytes);
TensorMapBytes BytesOf(const TensorMapFields& fields);

// The bytes of a parameter for an array at `address`; and back: nullopt for bytes that are no map,
// or of one that cuTensorMapEncodeTiled would refuse.
TensorMapBytes EncodeTensorMap(const TensorMap& map, uint64_t address);
struct PlacedTensorMap {
  TensorMap map;
  uint64_t address = 0;
};
std::optional<PlacedTensorMap> DecodeTensorMap(const TensorMapBytes& bytes);

}  // namespace hloscope::ptx
