// convolution in all its forms: strides, padding, dilation of input and kernel, reversal, feature
// and batch groups. Accumulates as dot does, in order of kernel position, then input feature.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "core/eval/kernels/contraction.h"
#include "core/eval/loops/float_product.h"
#include "core/eval/machine/indices.h"
#include "core/eval/machine/kernels.h"
#include "core/hlo/dimension_numbers.h"

namespace hloscope::eval {
namespace {

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

  int64_t groups() const { return std::max(feature_groups, batch_groups); }
  // Where the inputs of group g for output batch element n are: batch element and first feature.
  int64_t BatchOf(int64_t n, int64_t g) const {
    return batch_groups > 1 ? g * (input_batch / batch_groups) + n : n;
  }
  int64_t FirstFeature(int64_t g) const { return feature_groups > 1 ? g * kernel_features : 0; }
};

int64_t Product(const std::vector<int64_t>& sizes) {
  int64_t product = 1;
  for (int64_t size : sizes) product *= size;
  return product;
}

std::vector<int64_t> Spatial(const Shape& shape, const std::vector<int64_t>& dimensions) {
  std::vector<int64_t> sizes;
  sizes.reserve(dimensions.size());
  for (int64_t d : dimensions) sizes.push_back(shape.dimension(static_cast<size_t>(d)));
  return sizes;
}

Sizes SizesOf(const KernelCall& call, const hlo::ConvDims& convolution) {
  const ConvolutionDims& dims = *convolution.labels;
  const Shape& input = call.operand_shape(0);
  const Shape& kernel = call.operand_shape(1);
  auto size = [](const Shape& shape, int64_t d) { return shape.dimension(static_cast<size_t>(d)); };
  Sizes s;
  s.input = Spatial(input, dims.input_spatial);
  s.kernel = Spatial(kernel, dims.kernel_spatial);
  s.output = Spatial(call.shape(), dims.output_spatial);
  s.window = hlo::WindowDimensions(convolution.window, s.input.size());
  s.input_batch = size(input, dims.input_batch);
  s.input_features = size(input, dims.input_feature);
  s.kernel_features = size(kernel, dims.kernel_input_feature);
  s.output_batch = size(call.shape(), dims.output_batch);
  s.output_features = size(call.shape(), dims.output_feature);
  s.feature_groups = convolution.feature_groups;
  s.batch_groups = convolution.batch_groups;
  return s;
}

// Where the input element under kernel position `k` for output position `o` is, in one dimension;
// -1 if there is none (padding, or between dilated elements).
int64_t InputPosition(const WindowDimension& w, int64_t input, int64_t kernel, int64_t o,
                      int64_t k) {
  const int64_t tap = w.window_reversal ? kernel - 1 - k : k;
  const int64_t at = o * w.stride + tap * w.window_dilation - w.padding_low;
  if (at < 0) return -1;
  if (w.base_dilation == 1) return at < input ? at : -1;
  if (at % w.base_dilation != 0) return -1;
  return at / w.base_dilation < input ? at / w.base_dilation : -1;
}

// Calls body(kernel position, offset of the input element under it, -1 if there is none) for all
// kernel positions in order. Offsets count elements of one feature.
template <typename Body>
void ForEachTap(const Sizes& s, std::span<const int64_t> input_strides, std::span<const int64_t> at,
                const Body& body) {
  const int64_t taps = Product(s.kernel);
  std::vector<int64_t> k(s.kernel.size(), 0);
  for (int64_t tap = 0; tap < taps; ++tap, NextIndex(k, s.kernel)) {
    int64_t offset = 0;
    for (size_t d = 0; d < k.size() && offset >= 0; ++d) {
      const int64_t i = InputPosition(s.window[d], s.input[d], s.kernel[d], at[d], k[d]);
      offset = i < 0 ? -1 : offset + i * input_strides[d];
    }
    body(tap, offset);
  }
}

template <typename A>
class Convolver {
 public:
  Convolver(const Sizes& sizes, const A* input, const A* kernel)
      : s_(sizes),
        input_(input),
        kernel_(kernel),
        input_strides_(RowMajorStrides(s_.input)),
        input_area_(Product(s_.input)) {}

  // All output features at output position `at` of output batch element `n`.
  void Position(int64_t n, std::span<const int64_t> at, A* out) {
    std::fill_n(out, s_.output_features, A{});
    ForEachTap(s_, input_strides_, at, [&](int64_t tap, int64_t offset) {
      if (offset >= 0) Tap(n, offset, tap, out);
    });
  }

 private:
  // Adds what one kernel position contributes. Output features fall into groups; each sees its own
  // input features (feature groups) or its own part of the input batch (batch groups).
  void Tap(int64_t n, int64_t input_offset, int64_t tap, A* out) {
    const int64_t width = s_.output_features / s_.groups();
    const A* rows = kernel_ + tap * s_.kernel_features * s_.output_features;
    if (s_.feature_groups > 1 && width == 1 && s_.kernel_features == 1) {
      const A* x = input_ + (n * input_area_ + input_offset) * s_.input_features;
      return MultiplyAddEach(x, rows, s_.output_features, out);
    }
    for (int64_t g = 0; g < s_.groups(); ++g) {
      const A* x = input_ + (s_.BatchOf(n, g) * input_area_ + input_offset) * s_.input_features +
                   s_.FirstFeature(g);
      const A* row = rows + g * width;
      for (int64_t i = 0; i < s_.kernel_features; ++i) {
        MultiplyAdd(x[i], row + i * s_.output_features, width, out + g * width);
      }
    }
  }

  const Sizes& s_;
  const A* input_;
  const A* kernel_;
  std::vector<int64_t> input_strides_;
  int64_t input_area_;
};

// The same for real numbers as a product of matrices: a row of the left one has the inputs under
// all kernel positions of an output position, zeros where there are none. That changes nothing as
// long as the kernel is finite: sums start from +0 and so never are -0.
class ProductConvolver {
 public:
  static constexpr int64_t kRows = 64;
  static constexpr int64_t kFewColumns = 4;

  ProductConvolver(const Sizes& sizes, const double* input, const double* packed, bool exact)
      : s_(sizes),
        input_(input),
        packed_(packed),
        exact_(exact),
        input_strides_(RowMajorStrides(s_.input)),
        input_area_(Product(s_.input)),
        depth_(Product(s_.kernel) * s_.kernel_features),
        width_(s_.output_features / s_.groups()),
        left_(static_cast<size_t>(kRows * depth_)),
        block_(static_cast<size_t>(kRows * PanelCount(width_) * kPanelColumns)) {}

  // Output positions [begin, begin + count) in order of batch element and position, count at most
  // kRows; `out` has all output features of each.
  void Positions(int64_t begin, int64_t count, double* out) {
    const int64_t stride = PanelCount(width_) * kPanelColumns;
    for (int64_t g = 0; g < s_.groups(); ++g) {
      FillLeft(begin, count, g);
      Multiply({left_.data(), count, depth_, packed_ + g * PackedCount(depth_, width_), 0,
                PanelCount(width_), block_.data(), exact_});
      for (int64_t r = 0; r < count; ++r) {
        std::copy_n(block_.data() + r * stride, width_, out + r * s_.output_features + g * width_);
      }
    }
  }

 private:
  void FillLeft(int64_t begin, int64_t count, int64_t g) {
    const int64_t area = Product(s_.output);
    std::vector<int64_t> at = IndexAt(begin % area, s_.output);
    for (int64_t r = 0; r < count; ++r, NextIndex(at, s_.output)) {
      const double* x = input_ +
                        s_.BatchOf((begin + r) / area, g) * input_area_ * s_.input_features +
                        s_.FirstFeature(g);
      double* row = left_.data() + r * depth_;
      ForEachTap(s_, input_strides_, at, [&](int64_t tap, int64_t offset) {
        double* to = row + tap * s_.kernel_features;
        if (offset < 0) {
          std::fill_n(to, s_.kernel_features, 0.0);
        } else {
          std::copy_n(x + offset * s_.input_features, s_.kernel_features, to);
        }
      });
    }
  }

  const Sizes& s_;
  const double* input_;
  const double* packed_;
  bool exact_;
  std::vector<int64_t> input_strides_;
  int64_t input_area_, depth_, width_;
  std::vector<double> left_, block_;
};

std::vector<int64_t> Order(int64_t first, const std::vector<int64_t>& spatial, int64_t last) {
  std::vector<int64_t> order = {first};
  order.insert(order.end(), spatial.begin(), spatial.end());
  order.push_back(last);
  return order;
}

// Rounds rows of output features and puts them where the output's order has them.
class OutputPlacer {
 public:
  OutputPlacer(const KernelCall& call, const Sizes& s, const ConvolutionDims& dims, std::byte* out)
      : type_(call.shape().element_type()),
        bytes_(hlo::StorageBytes(type_)),
        features_(s.output_features),
        area_(Product(s.output)),
        sizes_(s.output),
        out_(out) {
    const auto strides = RowMajorStrides(call.shape().dimensions());
    auto stride = [&](int64_t d) { return strides[static_cast<size_t>(d)]; };
    for (int64_t d : dims.output_spatial) spatial_strides_.push_back(stride(d));
    batch_stride_ = stride(dims.output_batch);
    feature_stride_ = stride(dims.output_feature);
  }

  // The features of positions [begin, begin + count).
  template <typename A>
  void Place(int64_t begin, int64_t count, const A* rows) const {
    std::vector<std::byte> rounded(static_cast<size_t>(features_ * bytes_));
    std::vector<int64_t> at = IndexAt(begin % area_, sizes_);
    const int64_t sizes[] = {features_}, dense[] = {1}, out_stride[] = {feature_stride_};
    const StridedCopy place(sizes, dense, out_stride, bytes_);
    for (int64_t r = 0; r < count; ++r, NextIndex(at, sizes_)) {
      const int64_t offset = (begin + r) / area_ * batch_stride_ + Offset(at, spatial_strides_);
      std::byte* to = out_ + offset * bytes_;
      if (feature_stride_ == 1) {
        StoreFrom<A>(type_, rows + r * features_, to, features_);
        continue;
      }
      StoreFrom<A>(type_, rows + r * features_, rounded.data(), features_);
      place.Run(rounded.data(), to);
    }
  }

 private:
  hlo::ElementType type_;
  int bytes_;
  int64_t features_, area_, batch_stride_, feature_stride_;
  std::vector<int64_t> sizes_, spatial_strides_;
  std::byte* out_;
};

constexpr int64_t kGrain = 1 << 21;  // multiplications

std::vector<int64_t> KernelOrder(const ConvolutionDims& dims) {
  std::vector<int64_t> order = dims.kernel_spatial;
  order.push_back(dims.kernel_input_feature);
  order.push_back(dims.kernel_output_feature);
  return order;
}

// The kernel packed for ProductConvolver, a part for each group; null where that does not pay or
// the kernel is not finite.
Result<Buffer> PackedKernel(KernelCall& call, const ConvolutionDims& dims, const Sizes& s) {
  const int64_t depth = Product(s.kernel) * s.kernel_features, groups = s.groups();
  const int64_t width = s.output_features / groups, packed = PackedCount(depth, width);
  if (width < ProductConvolver::kFewColumns || depth == 0) return Buffer{};
  const hlo::ElementType type = call.operand_shape(1).element_type();
  HLOSCOPE_ASSIGN_OR_RETURN(const Ordered ordered, InOrder(call, 1, KernelOrder(dims)));
  HLOSCOPE_ASSIGN_OR_RETURN(
      Buffer buffer, call.machine.Allocate(groups * packed * static_cast<int64_t>(sizeof(double))));
  double* data = buffer.as<double>();
  for (int64_t g = 0; g < groups; ++g) {
    HLOSCOPE_TRY(PackRight(call.machine, type, ordered.data, depth, s.output_features, g * width,
                           width, data + g * packed));
  }
  const bool is_finite =
      std::all_of(data, data + groups * packed, [](double x) { return std::isfinite(x); });
  return is_finite ? buffer : Buffer{};
}

template <typename A>
Result<Value> Convolve(KernelCall& call, const hlo::ConvDims& convolution) {
  const ConvolutionDims& dims = *convolution.labels;
  const Sizes s = SizesOf(call, convolution);
  HLOSCOPE_ASSIGN_OR_RETURN(
      const Buffer input,
      Arranged<A>(call, 0, Order(dims.input_batch, dims.input_spatial, dims.input_feature)));
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer out, call.machine.Allocate(call.shape()));
  if (out.size == 0) return Value::Array(call.shape(), std::move(out));
  const OutputPlacer placer(call, s, dims, out.data());
  const int64_t positions = s.output_batch * Product(s.output);
  const int64_t work = Product(s.kernel) * s.kernel_features * s.output_features;
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(work, 1));
  if constexpr (std::is_same_v<A, double>) {
    HLOSCOPE_ASSIGN_OR_RETURN(const Buffer packed, PackedKernel(call, dims, s));
    if (packed.data() != nullptr) {
      const bool exact = HasExactProducts(call.operand_shape(0).element_type(),
                                          call.operand_shape(1).element_type());
      constexpr int64_t kRows = ProductConvolver::kRows;
      const Status done = call.machine.ForRanges(
          positions, (grain + kRows - 1) / kRows * kRows, [&](IndexRange range) -> Status {
            ProductConvolver convolver(s, input.as<double>(), packed.as<double>(), exact);
            std::vector<double> rows(static_cast<size_t>(kRows * s.output_features));
            for (int64_t i = range.begin; i < range.end; i += kRows) {
              const int64_t count = std::min(kRows, range.end - i);
              HLOSCOPE_TRY(call.machine.Charge(count * work));
              convolver.Positions(i, count, rows.data());
              placer.Place(i, count, rows.data());
            }
            return {};
          });
      HLOSCOPE_TRY(done);
      return Value::Array(call.shape(), std::move(out));
    }
  }
  HLOSCOPE_ASSIGN_OR_RETURN(const Buffer kernel, Arranged<A>(call, 1, KernelOrder(dims)));
  const Status done = call.machine.ForRanges(positions, grain, [&](IndexRange range) -> Status {
    Convolver<A> convolver(s, input.as<A>(), kernel.as<A>());
    std::vector<A> row(static_cast<size_t>(s.output_features));
    std::vector<int64_t> at = IndexAt(range.begin % Product(s.output), s.output);
    for (int64_t i = range.begin; i < range.end; ++i, NextIndex(at, s.output)) {
      HLOSCOPE_TRY(call.machine.Charge(work));
      convolver.Position(i / Product(s.output), at, row.data());
      placer.Place(i, 1, row.data());
    }
    return {};
  });
  HLOSCOPE_TRY(done);
  return Value::Array(call.shape(), std::move(out));
}

}  // namespace

Result<Value> ConvolutionKernel(KernelCall& call) {
  const hlo::ConvDims dims = hlo::ConvDimsOf(call.module(), call.id);
  if (dims.labels == nullptr || call.operands.size() != 2) {
    return Unsupported(call, "only two operands with dim_labels are supported");
  }
  switch (AccumulatorOf(call)) {
    case Accumulator::kComplex:
      return Convolve<Complex>(call, dims);
    case Accumulator::kFloat:
      return Convolve<double>(call, dims);
    case Accumulator::kInteger:
      return Convolve<int64_t>(call, dims);
  }
  return Unsupported(call, "its result has no numeric element type");
}

}  // namespace hloscope::eval
