// Counting of the positions at which kernel and input meet, one dimension at a time.
#include "core/hlo/analysis/cost_convolution.h"

#include <algorithm>
#include <numeric>

#include "core/hlo/dimension_numbers.h"

namespace hloscope::hlo {
namespace {

constexpr int64_t kPatience = 1 << 20;

struct Extents {
  int64_t input = 1, kernel = 1, output = 1;
};

int64_t SizeAt(const Shape& shape, int64_t dimension) {
  const bool exists = dimension >= 0 && static_cast<size_t>(dimension) < shape.rank();
  return exists ? std::max<int64_t>(shape.dimension(static_cast<size_t>(dimension)), 0) : 1;
}

// Pairs of an output and a kernel position whose input element exists.
double ValidPositions(const Extents& e, const WindowDimension& d) {
  const double all = static_cast<double>(e.kernel) * static_cast<double>(e.output);
  const bool is_plain = d.stride == 1 && d.base_dilation == 1;
  constexpr int64_t kFar = int64_t{1} << 40;
  const bool is_sane = e.input < kFar && e.output < kFar && d.stride > 0 && d.stride < kFar &&
                       d.base_dilation > 0 && d.base_dilation < kFar &&
                       std::max(d.padding_low, -d.padding_low) < kFar && d.window_dilation > 0 &&
                       d.window_dilation < (1 << 20);
  if (!is_sane || (is_plain ? static_cast<double>(e.kernel) : all) > kPatience) return all;
  double count = 0;
  for (int64_t k = 0; k < e.kernel; ++k) {
    const int64_t shift = k * d.window_dilation - d.padding_low;
    if (is_plain) {
      const int64_t first = std::max<int64_t>(-shift, 0);
      const int64_t last = std::min(e.input - shift, e.output);
      count += static_cast<double>(std::max<int64_t>(last - first, 0));
      continue;
    }
    for (int64_t o = 0; o < e.output; ++o) {
      const int64_t dilated = o * d.stride + shift;
      const bool exists =
          dilated >= 0 && dilated % d.base_dilation == 0 && dilated / d.base_dilation < e.input;
      count += exists ? 1 : 0;
    }
  }
  return count;
}

}  // namespace

double ConvolutionProducts(const Module& module, InstructionId id) {
  const auto operands = module.operands(id);
  const ConvDims dims = ConvDimsOf(module, id);
  const ConvolutionDims* labels = dims.labels;
  const Window* window = dims.window;
  if (labels == nullptr || operands.size() < 2) return 0;
  const Shape& input = module.shape(operands[0]);
  const Shape& kernel = module.shape(operands[1]);
  const Shape& output = module.shape(id);
  const int64_t features =
      SizeAt(input, labels->input_feature) / std::max<int64_t>(dims.feature_groups, 1);
  const int64_t batch =
      SizeAt(input, labels->input_batch) / std::max<int64_t>(dims.batch_groups, 1);
  double products = static_cast<double>(features) * static_cast<double>(batch) *
                    static_cast<double>(SizeAt(output, labels->output_feature));
  const size_t dimensions =
      std::min({labels->input_spatial.size(), labels->kernel_spatial.size(),
                labels->output_spatial.size(), window ? window->dimensions.size() : size_t{0}});
  for (size_t i = 0; i < dimensions; ++i) {
    const Extents extents{SizeAt(input, labels->input_spatial[i]),
                          SizeAt(kernel, labels->kernel_spatial[i]),
                          SizeAt(output, labels->output_spatial[i])};
    products *= ValidPositions(extents, window->dimensions[i]);
  }
  return products;
}

}  // namespace hloscope::hlo
