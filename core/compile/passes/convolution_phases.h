// Convolutions of inputs with holes (base dilation: transposed convolutions) in phases.
#pragma once

#include <cstdint>

#include "core/compile/passes/edit.h"
#include "core/hlo/dimension_numbers.h"
#include "core/hlo/window.h"

namespace hloscope::compile {

// A convolution without reversal and groups of the batch, whose result is `result`, row-major.
struct DilatedConvolution {
  hlo::InstructionId at, left, right;  // `at`: what new instructions are made beside
  const hlo::ConvolutionDims& dims;
  const hlo::Window& window;
  hlo::Shape result;
  int64_t feature_groups = 1;
};

// The same value as a convolution for each phase: results as far apart as the input's elements meet
// the same part of the kernel, and no hole. Invalid where that does not fit: windows with strides
// or dilation of their own along a dilated dimension, a phase without products, results whose
// neighbours in memory would be of several phases.
hlo::InstructionId InPhases(Edit& edit, const DilatedConvolution& whole);

}  // namespace hloscope::compile
