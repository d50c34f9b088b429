// Denormal numbers taken for zero, as XLA:CPU takes them and as XLA's text carries them.
#pragma once

#include "core/hlo/literal.h"

namespace hloscope::analysis {

// The literal with denormals of f64, f32, bf16 and complex numbers as zeros of their sign.
// Denormals of f16 and narrower stay, as in XLA:CPU.
hlo::Literal FlushDenormals(const hlo::Literal& literal);

}  // namespace hloscope::analysis
