// The type a comparison has when the text names none, and whether it orders floats by their bits.
#pragma once

#include "core/hlo/element_type.h"
#include "core/hlo/module.h"
#include "core/hlo/opcode.h"

namespace hloscope::hlo {

// By the element type of the operands (XLA: Comparison::DefaultComparisonType).
constexpr ComparisonType DefaultComparisonType(ElementType type) {
  if (IsSigned(type)) return ComparisonType::kSigned;
  if (IsUnsigned(type) || type == ElementType::kPred) return ComparisonType::kUnsigned;
  return ComparisonType::kFloat;
}

// True for a comparison by which -NaN < -inf < … < -0 < +0 < … < inf < NaN.
inline bool IsTotalOrder(const Module& module, const Instruction& compare) {
  return module.GetInt(compare, AttributeKey::kComparisonType) ==
             static_cast<int64_t>(ComparisonType::kTotalOrder) ||
         module.GetInt(compare, AttributeKey::kOrder) ==
             static_cast<int64_t>(ComparisonOrder::kTotal);
}

}  // namespace hloscope::hlo
