// How many products a convolution takes.
#pragma once

#include "core/hlo/module.h"

namespace hloscope::hlo {

// Products of the convolution `id`, those with padding or between dilated elements left out, as XLA
// counts them. Where that would take longer than a moment to count, all are counted.
double ConvolutionProducts(const Module& module, InstructionId id);

}  // namespace hloscope::hlo
