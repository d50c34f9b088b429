// Denormal numbers taken for zero, as XLA:CPU takes them and as XLA's text carries them.
#pragma once

#include "core/hlo/literal.h"

namespace hloscope::analysis {

// XLA's reader of texts takes `-0` for +0.
enum class ZeroSign : uint8_t { kKept, kDropped };

// The literal with denormals of f64, f32, bf16 and complex numbers as zeros; all zeros keep their
// sign or drop it. Denormals of f16 and narrower stay, as in XLA:CPU.
hlo::Literal FlushDenormals(const hlo::Literal& literal, ZeroSign sign = ZeroSign::kKept);

}  // namespace hloscope::analysis
