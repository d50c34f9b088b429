#include "core/codegen/library/convolution_form.h"

#include <algorithm>

#include "core/hlo/dimension_numbers.h"
#include "core/hlo/row_major.h"

namespace hloscope::codegen {

using hlo::Shape;

namespace {

ArrayForm ActivationForm(const Shape& shape, int64_t batch, int64_t feature,
                         const std::vector<int64_t>& spatial) {
  const std::vector<int64_t> strides = hlo::RowMajorStrides(shape.dimensions());
  ArrayForm out{.type = shape.element_type()};
  const auto add = [&](int64_t d) {
    out.Add(shape.dimension(static_cast<size_t>(d)), strides[static_cast<size_t>(d)]);
  };
  add(batch);
  add(feature);
  for (const int64_t d : spatial) add(d);
  if (spatial.empty()) out.Add(1, 1);
  return out;
}

ArrayForm WeightsForm(const Shape& shape, const hlo::ConvolutionDims& dims, int64_t groups) {
  const std::vector<int64_t> strides = hlo::RowMajorStrides(shape.dimensions());
  const auto out = static_cast<size_t>(dims.kernel_output_feature),
             in = static_cast<size_t>(dims.kernel_input_feature);
  const int64_t of_group = shape.dimension(out) / groups;
  ArrayForm weights{.type = shape.element_type()};
  weights.Add(groups, of_group * strides[out]);
  weights.Add(of_group, strides[out]);
  weights.Add(shape.dimension(in), strides[in]);
  for (const int64_t d : dims.kernel_spatial) {
    weights.Add(shape.dimension(static_cast<size_t>(d)), strides[static_cast<size_t>(d)]);
  }
  if (dims.kernel_spatial.empty()) weights.Add(1, 1);
  return weights;
}

}  // namespace

int64_t ArrayForm::bytes() const { return hlo::BitWidth(type) / 8; }

int64_t ArrayForm::ElementCount() const {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  return count;
}

ConvolutionForm ConvolutionForm::Of(const hlo::Module& module, hlo::InstructionId convolution) {
  const auto operands = module.operands(convolution);
  const hlo::ConvDims read = hlo::ConvDimsOf(module, convolution);
  const hlo::ConvolutionDims& dims = *read.labels;
  return {
      .input = ActivationForm(module.shape(operands[0]), dims.input_batch, dims.input_feature,
                              dims.input_spatial),
      .output = ActivationForm(module.shape(convolution), dims.output_batch, dims.output_feature,
                               dims.output_spatial),
      .weights = WeightsForm(module.shape(operands[1]), dims, read.feature_groups),
      .window = hlo::WindowDimensions(read.window, std::max<size_t>(1, dims.input_spatial.size()))};
}

bool ConvolutionForm::HasGaps() const {
  for (size_t s = 0; s < window.size(); ++s) {
    if (hlo::HasGaps(window[s], input.sizes[s + 2], weights.sizes[s + 3], output.sizes[s + 2])) {
      return true;
    }
  }
  return false;
}

}  // namespace hloscope::codegen
