// A convolution as libraries name its dimensions.
#pragma once

#include <cstdint>
#include <vector>

#include "core/hlo/module.h"

namespace hloscope::codegen {

/// Where the elements of a dense array lie.
struct ArrayForm {
  hlo::ElementType type = hlo::ElementType::kInvalid;
  std::vector<int64_t> sizes = {}, strides = {};  // strides in elements

  void Add(int64_t size, int64_t stride) {
    sizes.push_back(size);
    strides.push_back(stride);
  }
  int64_t bytes() const;  // of an element
  int64_t ElementCount() const;
};

/// A convolution without reversal and groups of the batch, in at least one spatial dimension.
struct ConvolutionForm {
  ArrayForm input, output;  // batch, features, then what is spatial
  ArrayForm weights;        // groups, output features of a group, its input features, spatial
  std::vector<hlo::WindowDimension> window;

  static ConvolutionForm Of(const hlo::Module& module, hlo::InstructionId convolution);
  int64_t groups() const { return weights.sizes[0]; }
  /// Whether products are left out: outside of the input, or between its elements.
  bool HasGaps() const;
};

}  // namespace hloscope::codegen
