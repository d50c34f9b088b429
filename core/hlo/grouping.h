// Which operations may combine elements in any grouping.
#pragma once

#include "core/hlo/element_type.h"
#include "core/hlo/opcode_traits.h"

namespace hloscope::hlo {

// Floats whose range is so small that products of a few ordinary numbers leave it.
inline bool HasSmallRange(ElementType type) {
  return type == ElementType::kF16 || (IsFloat(type) && BitWidth(type) < 16);
}

// True where partial results are rounded each, in one order (RoundedFold in analysis/reducer.h), as
// XLA does: sums of floats so narrow that they soon stop to grow, and products in a small range,
// where behind a zero nothing is multiplied that would overflow by itself.
inline bool RoundsEachStep(Opcode opcode, ElementType type) {
  if (opcode == Opcode::kAdd) return IsFloat(type) && BitWidth(type) < 16;
  return opcode == Opcode::kMultiply && HasSmallRange(type);
}

// True if elements may be combined by the operation in any grouping, up to rounding. Products of
// complex infinities depend on the grouping.
inline bool CombinesInAnyGrouping(Opcode opcode, ElementType type) {
  return HasTrait(opcode, kTraitAssociative) && (opcode == Opcode::kAdd || !IsComplex(type)) &&
         !RoundsEachStep(opcode, type);
}

}  // namespace hloscope::hlo
