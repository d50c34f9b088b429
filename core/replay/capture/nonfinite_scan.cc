// Scanning arrays for NaNs and infinities, block by block so that compilers can vectorise.
#include "core/replay/capture/nonfinite_scan.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/eval/numbers/wide.h"

namespace hloscope::replay {
namespace {

using hlo::ElementType;
using hlo::Literal;

constexpr int64_t kScanBlock = 1024;

// An IEEE-like type: magnitudes above `infinity` are NaNs.
template <typename Bits>
std::optional<int64_t> FindByBits(const std::byte* data, int64_t from, int64_t count, Bits infinity,
                                  NonFiniteKind kind) {
  constexpr Bits kMagnitude = static_cast<Bits>(~Bits{0}) >> 1;
  const bool nan = kind == NonFiniteKind::kNan;
  Bits block[kScanBlock];
  for (int64_t begin = from; begin < count; begin += kScanBlock) {
    const int64_t n = std::min(kScanBlock, count - begin);
    std::memcpy(block, data + begin * static_cast<int64_t>(sizeof(Bits)),
                static_cast<size_t>(n) * sizeof(Bits));
    unsigned any = 0;
    for (int64_t i = 0; i < n; ++i) any |= (block[i] & kMagnitude) >= infinity ? 1u : 0u;
    for (int64_t i = 0; any != 0 && i < n; ++i) {
      const Bits magnitude = block[i] & kMagnitude;
      if (nan ? magnitude > infinity : magnitude == infinity) return begin + i;
    }
  }
  return std::nullopt;
}

std::optional<int64_t> FindByValue(ElementType type, const std::byte* data, int64_t from,
                                   int64_t count, NonFiniteKind kind) {
  double block[kScanBlock];
  for (int64_t begin = from; begin < count; begin += kScanBlock) {
    const int64_t n = std::min(kScanBlock, count - begin);
    eval::LoadAs<double>(type, data + begin * hlo::StorageBytes(type), block, n);
    for (int64_t i = 0; i < n; ++i) {
      if (kind == NonFiniteKind::kNan ? std::isnan(block[i]) : std::isinf(block[i])) {
        return begin + i;
      }
    }
  }
  return std::nullopt;
}

// Of `count` elements of a real type, from the one numbered `from`.
std::optional<int64_t> FindReal(ElementType type, const std::byte* data, int64_t from,
                                int64_t count, NonFiniteKind kind) {
  switch (type) {
    case ElementType::kF64:
      return FindByBits<uint64_t>(data, from, count, 0x7ff0000000000000u, kind);
    case ElementType::kF32:
      return FindByBits<uint32_t>(data, from, count, 0x7f800000u, kind);
    case ElementType::kBF16:
      return FindByBits<uint16_t>(data, from, count, uint16_t{0x7f80u}, kind);
    case ElementType::kF16:
      return FindByBits<uint16_t>(data, from, count, uint16_t{0x7c00u}, kind);
    default:
      return FindByValue(type, data, from, count, kind);
  }
}

// Type and number of the real parts of all elements.
struct Parts {
  ElementType type;
  int64_t count = 0;
  int64_t each = 1;
};
Parts PartsOf(const Literal& array) {
  const ElementType type = array.shape().element_type();
  const int64_t each = hlo::IsComplex(type) ? 2 : 1;
  const int64_t bytes = hlo::StorageBytes(type);
  const auto size = static_cast<int64_t>(array.bytes().size());
  return {hlo::RealPart(type), bytes == 0 ? 0 : size / bytes * each, each};
}

}  // namespace

std::optional<int64_t> FindNonFinite(const Literal& array, NonFiniteKind kind, int64_t from) {
  if (!array.shape().IsArray() || array.elided()) return std::nullopt;
  const Parts parts = PartsOf(array);
  if (!hlo::IsFloat(parts.type)) return std::nullopt;
  const auto part =
      FindReal(parts.type, array.bytes().data(), from * parts.each, parts.count, kind);
  if (!part) return std::nullopt;
  return *part / parts.each;
}

bool IsNonFinite(const Literal& array, int64_t at, NonFiniteKind kind) {
  const Parts parts = PartsOf(array);
  if (!hlo::IsFloat(parts.type)) return false;
  const int64_t first = at * parts.each, end = first + parts.each;
  const std::byte* data = array.bytes().data();
  if (FindReal(parts.type, data, first, end, NonFiniteKind::kNan)) return true;
  return kind == NonFiniteKind::kInfinity &&
         FindReal(parts.type, data, first, end, NonFiniteKind::kInfinity).has_value();
}

std::optional<FiniteRange> FiniteRangeOf(const Literal& array) {
  if (!array.shape().IsArray() || array.elided()) return std::nullopt;
  const Parts parts = PartsOf(array);
  if (!hlo::IsFloat(parts.type)) return std::nullopt;
  std::optional<FiniteRange> range;
  double block[kScanBlock];
  for (int64_t begin = 0; begin < parts.count; begin += kScanBlock) {
    const int64_t n = std::min(kScanBlock, parts.count - begin);
    eval::LoadAs<double>(parts.type, array.bytes().data() + begin * hlo::StorageBytes(parts.type),
                         block, n);
    for (int64_t i = 0; i < n; ++i) {
      if (!std::isfinite(block[i])) continue;
      if (!range) range = FiniteRange{block[i], block[i]};
      range->low = std::min(range->low, block[i]);
      range->high = std::max(range->high, block[i]);
    }
  }
  return range;
}

}  // namespace hloscope::replay
