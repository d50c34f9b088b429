// Which operations may combine elements in any grouping.
#pragma once

#include "core/hlo/element_type.h"
#include "core/hlo/opcode_traits.h"

namespace hloscope::hlo {

// Floats whose range is so small that products of a few ordinary numbers leave it.
inline bool HasSmallRange(ElementType type) {
  return type == ElementType::kF16 || (IsFloat(type) && BitWidth(type) < 16);
}

// True if elements may be combined by the operation in any grouping, up to rounding. Products in a
// small range are taken from the left and rounded each, as XLA does: behind a zero nothing is
// multiplied that would overflow by itself. Products of complex infinities depend on the grouping.
inline bool CombinesInAnyGrouping(Opcode opcode, ElementType type) {
  return HasTrait(opcode, kTraitAssociative) && (opcode == Opcode::kAdd || !IsComplex(type)) &&
         (opcode != Opcode::kMultiply || !HasSmallRange(type));
}

}  // namespace hloscope::hlo
