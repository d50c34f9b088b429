// convolution in all its forms: strides, padding, dilation of input and kernel, reversal, feature
// and batch groups. Accumulates as dot does, in order of kernel position, then input feature.
#include <algorithm>

#include "core/eval/contraction.h"
#include "core/eval/indices.h"
#include "core/eval/kernels.h"

namespace hloscope::eval {
namespace {

using hlo::AttributeKey;
using hlo::ConvolutionDims;
using hlo::Shape;
using hlo::WindowDimension;

// The sizes of a convolution, its arrays being [batch, spatial…, feature] for the input and output
// and [spatial…, input feature, output feature] for the kernel.
struct Sizes {
  std::vector<WindowDimension> window;
  std::vector<int64_t> input, kernel, output;  // spatial
  int64_t input_batch, input_features, kernel_features, output_batch, output_features;
  int64_t feature_groups, batch_groups;
};

std::vector<int64_t> Spatial(const Shape& shape, const std::vector<int64_t>& dimensions) {
  std::vector<int64_t> sizes;
  for (int64_t d : dimensions) sizes.push_back(shape.dimension(static_cast<size_t>(d)));
  return sizes;
}

Sizes SizesOf(const KernelCall& call, const ConvolutionDims& dims) {
  const Shape& input = call.operand_shape(0);
  const Shape& kernel = call.operand_shape(1);
  auto size = [](const Shape& shape, int64_t d) { return shape.dimension(static_cast<size_t>(d)); };
  Sizes s;
  s.input = Spatial(input, dims.input_spatial);
  s.kernel = Spatial(kernel, dims.kernel_spatial);
  s.output = Spatial(call.shape(), dims.output_spatial);
  const auto* window = call.module().Get<hlo::Window>(call.instruction(), AttributeKey::kWindow);
  if (window != nullptr) s.window = window->dimensions;
  s.window.resize(s.input.size());
  s.input_batch = size(input, dims.input_batch);
  s.input_features = size(input, dims.input_feature);
  s.kernel_features = size(kernel, dims.kernel_input_feature);
  s.output_batch = size(call.shape(), dims.output_batch);
  s.output_features = size(call.shape(), dims.output_feature);
  s.feature_groups = call.module().GetInt(call.instruction(), AttributeKey::kFeatureGroupCount, 1);
  s.batch_groups = call.module().GetInt(call.instruction(), AttributeKey::kBatchGroupCount, 1);
  return s;
}

// Where the input element under kernel position `k` for output position `o` is, in one dimension;
// -1 if there is none (padding, or between dilated elements).
int64_t InputPosition(const WindowDimension& w, int64_t input, int64_t kernel, int64_t o,
                      int64_t k) {
  const int64_t tap = w.window_reversal ? kernel - 1 - k : k;
  const int64_t at = o * w.stride + tap * w.window_dilation - w.padding_low;
  if (at < 0 || at % w.base_dilation != 0) return -1;
  return at / w.base_dilation < input ? at / w.base_dilation : -1;
}

template <typename A>
class Convolver {
 public:
  Convolver(const Sizes& sizes, const A* input, const A* kernel)
      : s_(sizes),
        input_(input),
        kernel_(kernel),
        input_strides_(RowMajorStrides(s_.input)),
        kernel_strides_(RowMajorStrides(s_.kernel)),
        input_area_(Product(s_.input)) {}

  // All output features at output position `at` of output batch element `n`.
  void Position(int64_t n, std::span<const int64_t> at, A* out) {
    std::fill_n(out, s_.output_features, A{});
    std::vector<int64_t> k(s_.kernel.size(), 0);
    if (std::ranges::find(s_.kernel, 0) != s_.kernel.end()) return;
    do {
      int64_t offset = 0;
      bool inside = true;
      for (size_t d = 0; d < k.size() && inside; ++d) {
        const int64_t i = InputPosition(s_.window[d], s_.input[d], s_.kernel[d], at[d], k[d]);
        inside = i >= 0;
        offset += i * input_strides_[d];
      }
      if (inside) Tap(n, offset, Offset(k, kernel_strides_), out);
    } while (NextIndex(k, s_.kernel));
  }

 private:
  static int64_t Product(const std::vector<int64_t>& sizes) {
    int64_t product = 1;
    for (int64_t size : sizes) product *= size;
    return product;
  }

  // Adds what one kernel position contributes. Output features fall into groups; each sees its own
  // input features (feature groups) or its own part of the input batch (batch groups).
  void Tap(int64_t n, int64_t input_offset, int64_t kernel_offset, A* out) {
    const int64_t groups = std::max(s_.feature_groups, s_.batch_groups);
    const int64_t width = s_.output_features / groups;
    const int64_t batch_part = s_.input_batch / s_.batch_groups;
    for (int64_t g = 0; g < groups; ++g) {
      const int64_t batch = s_.batch_groups > 1 ? g * batch_part + n : n;
      const int64_t first = s_.feature_groups > 1 ? g * s_.kernel_features : 0;
      const A* x = input_ + (batch * input_area_ + input_offset) * s_.input_features + first;
      const A* row = kernel_ + kernel_offset * s_.kernel_features * s_.output_features + g * width;
      for (int64_t i = 0; i < s_.kernel_features; ++i) {
        MultiplyAdd(x[i], row + i * s_.output_features, width, out + g * width);
      }
    }
  }

  const Sizes& s_;
  const A* input_;
  const A* kernel_;
  std::vector<int64_t> input_strides_, kernel_strides_;
  int64_t input_area_;
};

std::vector<int64_t> Order(int64_t first, const std::vector<int64_t>& spatial, int64_t last) {
  std::vector<int64_t> order = {first};
  order.insert(order.end(), spatial.begin(), spatial.end());
  order.push_back(last);
  return order;
}

template <typename A>
Result<Value> Convolve(KernelCall& call, const ConvolutionDims& dims) {
  const Sizes s = SizesOf(call, dims);
  std::vector<int64_t> kernel_order = dims.kernel_spatial;
  kernel_order.push_back(dims.kernel_input_feature);
  kernel_order.push_back(dims.kernel_output_feature);
  HLOSCOPE_ASSIGN_OR_RETURN(
      const Buffer input,
      Arranged<A>(call, 0, Order(dims.input_batch, dims.input_spatial, dims.input_feature)));
  HLOSCOPE_ASSIGN_OR_RETURN(const Buffer kernel, Arranged<A>(call, 1, kernel_order));
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer out, call.machine.Allocate(call.shape()));
  std::vector<A> row(static_cast<size_t>(s.output_features));
  const hlo::ElementType type = call.shape().element_type();
  const int bytes = hlo::StorageBytes(type);

  // One position's features, from the computed row to where the output's order has them.
  const auto strides = RowMajorStrides(call.shape().dimensions());
  auto stride = [&](int64_t d) { return strides[static_cast<size_t>(d)]; };
  std::vector<int64_t> spatial_strides;
  for (int64_t d : dims.output_spatial) spatial_strides.push_back(stride(d));
  const int64_t sizes[] = {s.output_features}, dense[] = {1};
  const int64_t out_stride[] = {stride(dims.output_feature)};
  const StridedCopy place(sizes, dense, out_stride, bytes);
  std::vector<std::byte> rounded(row.size() * static_cast<size_t>(bytes));

  Convolver<A> convolver(s, input.as<A>(), kernel.as<A>());
  if (out.size == 0) return Value::Array(call.shape(), std::move(out));
  int64_t work = s.kernel_features * s.output_features;
  for (int64_t k : s.kernel) work *= k;
  for (int64_t n = 0; n < s.output_batch; ++n) {
    std::vector<int64_t> at(s.output.size(), 0);
    do {
      HLOSCOPE_TRY(call.machine.Charge(work));
      convolver.Position(n, at, row.data());
      StoreFrom<A>(type, row.data(), rounded.data(), s.output_features);
      const int64_t offset = n * stride(dims.output_batch) + Offset(at, spatial_strides);
      place.Run(rounded.data(), out.data() + offset * bytes);
    } while (NextIndex(at, s.output));
  }
  return Value::Array(call.shape(), std::move(out));
}

}  // namespace

Result<Value> ConvolutionKernel(KernelCall& call) {
  const auto* dims =
      call.module().Get<ConvolutionDims>(call.instruction(), AttributeKey::kDimLabels);
  if (dims == nullptr || call.operands.size() != 2) {
    return Unsupported(call, "only two operands with dim_labels are known");
  }
  switch (AccumulatorOf(call)) {
    case Accumulator::kComplex:
      return Convolve<Complex>(call, *dims);
    case Accumulator::kFloat:
      return Convolve<double>(call, *dims);
    case Accumulator::kInteger:
      return Convolve<int64_t>(call, *dims);
  }
  return Unsupported(call, "it has no element type");
}

}  // namespace hloscope::eval
