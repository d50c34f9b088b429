// The type a comparison has when the text names none.
#pragma once

#include "core/hlo/element_type.h"
#include "core/hlo/opcode.h"

namespace hloscope::hlo {

// By the element type of the operands (XLA: Comparison::DefaultComparisonType).
constexpr ComparisonType DefaultComparisonType(ElementType type) {
  if (IsSigned(type)) return ComparisonType::kSigned;
  if (IsUnsigned(type) || type == ElementType::kPred) return ComparisonType::kUnsigned;
  return ComparisonType::kFloat;
}

}  // namespace hloscope::hlo
