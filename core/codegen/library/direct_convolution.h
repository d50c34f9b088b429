// Convolutions by their definition: what lies outside the input, or between its elements, has no
// product. For weights that are not finite, which make NaN of a zero.
#pragma once

#include <cstddef>

#include "core/codegen/library/convolution_form.h"

namespace hloscope::codegen {

/// Whether no element is an infinity or a NaN; of f32 or bf16.
bool AreFinite(hlo::ElementType type, const std::byte* elements, int64_t count);

/// Writes the weights as the convolution below reads them: by group, place of the window, input
/// feature and output feature.
void PackWeights(const ConvolutionForm& form, const std::byte* weights, float* packed);

/// Convolves the first `batch` elements of the batch, summed up in f32.
void ConvolveDirectly(const ConvolutionForm& form, const std::byte* input, const float* packed,
                      std::byte* output, int64_t batch);

}  // namespace hloscope::codegen
