// Convolutions whose operands have dynamic sizes, which XLA keeps as custom calls until its dynamic
// padder makes plain convolutions of them: forward, and the gradients of input and kernel. What
// lies behind a live element is zero, and the padding of PADDING_SAME follows the live size.
#include <algorithm>
#include <utility>

#include "core/hlo/dimension_numbers.h"
#include "core/hlo/expand/custom_calls.h"
#include "core/hlo/expand/expansion.h"
#include "core/hlo/window.h"

namespace hloscope::hlo::expand {
namespace {

using Node = Expansion::Node;
using Ints = std::vector<int64_t>;

enum class Role : uint8_t { kForward, kInputGrad, kKernelGrad };

// An array with zeros behind its live elements, and its live sizes.
struct Padded {
  Node array;
  std::vector<Node> sizes;  // s32[]
};

class DynamicConvolution {
 public:
  DynamicConvolution(const CallSite& call, Role role)
      : call_(call), role_(role), first_(role == Role::kInputGrad ? 1 : 0), x_(call) {}

  Result<ModulePtr> Expand() {
    const ConvDims attributes = ConvDimsOf(call_.module(), call_.id());
    if (attributes.labels == nullptr) return Invalid(call_, "it has no dim_labels");
    if (call_.operand_count() != first_ + 2 || !call_.has_array(first_) ||
        !call_.has_array(first_ + 1) || !call_.shape().IsArray()) {
      return Invalid(call_, "its operands are not those of a convolution");
    }
    labels_ = *attributes.labels;
    if (attributes.window != nullptr) window_ = *attributes.window;
    const size_t rank = call_.operand_shape(first_).rank();
    if (rank < 2 || call_.operand_shape(first_ + 1).rank() != rank ||
        call_.shape().rank() != rank || !LabelsFit(rank) || window_.dimensions.size() != rank - 2 ||
        !InputSizesFit(rank)) {
      return Invalid(call_, "its window and dim_labels do not match its operands");
    }
    Padded left = PadToStatic(first_);
    const Padded right = PadToStatic(first_ + 1);
    same_ = static_cast<PaddingType>(call_.module().GetInt(
                call_.instruction(), AttributeKey::kPaddingType)) == PaddingType::kSame;
    const Sizes sizes = SizesOf(left);
    if (same_) {
      HLOSCOPE_ASSIGN_OR_RETURN(left.array, PadByLiveSize(left.array, sizes.padding_low));
    }
    const Node operands[] = {left.array, right.array};
    HLOSCOPE_ASSIGN_OR_RETURN(const Node sum, Convolve(operands, attributes));
    return x_.Build(WithLiveSizes(sum, left, sizes));
  }

 private:
  static size_t At(int64_t dimension) { return static_cast<size_t>(dimension); }
  // Of every spatial dimension: elements before the first live one, and windows that begin at one.
  struct Sizes {
    std::vector<Node> padding_low, windows;
  };

  bool LabelsFit(size_t rank) const {
    const auto fit = [&](int64_t first, int64_t second, const Ints& spatial) {
      std::vector<bool> seen(rank);
      Ints all = spatial;
      all.insert(all.end(), {first, second});
      for (const int64_t d : all) {
        if (d < 0 || At(d) >= rank || seen[At(d)]) return false;
        seen[At(d)] = true;
      }
      return all.size() == rank;
    };
    return fit(labels_.input_batch, labels_.input_feature, labels_.input_spatial) &&
           fit(labels_.kernel_input_feature, labels_.kernel_output_feature,
               labels_.kernel_spatial) &&
           fit(labels_.output_batch, labels_.output_feature, labels_.output_spatial);
  }

  // The gradient of an input is told that input's sizes by its first operand.
  bool InputSizesFit(size_t rank) const {
    if (role_ != Role::kInputGrad) return true;
    const Shape& sizes = call_.operand_shape(0);
    return sizes.element_type() == ElementType::kS32 && sizes.rank() == 1 &&
           At(sizes.dimension(0)) == rank;
  }

  Node Number(int64_t value) { return x_.Constant(ElementType::kS32, static_cast<double>(value)); }

  Padded PadToStatic(size_t operand) {
    const Shape& shape = call_.operand_shape(operand);
    Padded padded{x_.Operand(operand), {}};
    for (size_t d = 0; d < shape.rank(); ++d) padded.sizes.push_back(Number(shape.dimension(d)));
    if (!shape.has_dynamic_dimension()) return padded;
    std::vector<Shape> parts(shape.rank() + 1, Shape::Scalar(ElementType::kS32));
    parts[0] = Shape::Array(shape.element_type(), Dimensions(shape));
    const Attribute target =
        x_.builder().MakeString(AttributeKey::kCustomCallTarget, "PadToStatic");
    const Node call = x_.Add(Opcode::kCustomCall, Shape::Tuple(std::move(parts)),
                             {&padded.array, 1}, {&target, 1});
    padded.array = x_.Element(call, 0);
    for (size_t d = 0; d < shape.rank(); ++d) {
      if (!shape.is_dynamic_dimension(d)) continue;
      padded.sizes[d] = x_.Element(call, static_cast<int64_t>(d) + 1);
      const Node live = x_.Compare(
          ComparisonDirection::kLt,
          x_.Iota(ElementType::kS32, Dimensions(shape), static_cast<int64_t>(d)), padded.sizes[d]);
      padded.array = x_.Select(live, padded.array, x_.Constant(shape.element_type(), 0));
    }
    return padded;
  }

  // The live size of a spatial dimension of the array that the forward convolution reads.
  Node InputSize(const Padded& left, size_t i) {
    const auto d = labels_.input_spatial[i];
    if (role_ != Role::kInputGrad) return left.sizes[At(d)];
    const Ints begin = {d}, end = {d + 1};
    return x_.Reshape(x_.Slice(x_.Operand(0), begin, end), {});
  }

  // XLA: GetWindowedOutputSize and GetWindowedInputGradSize.
  Sizes SizesOf(const Padded& left) {
    Sizes sizes;
    for (size_t i = 0; i < window_.dimensions.size(); ++i) {
      const WindowDimension& w = window_.dimensions[i];
      // Size, stride and dilation of the forward window.
      int64_t size = w.size, stride = w.stride, dilation = w.window_dilation;
      if (role_ == Role::kInputGrad) stride = w.base_dilation;
      if (role_ == Role::kKernelGrad) {
        size = call_.shape().dimension(At(labels_.output_spatial[i]));
        std::swap(stride, dilation);
      }
      const int64_t extent = DilatedExtent(size, dilation).value_or(0);
      const Node n = InputSize(left, i);
      const int64_t more = same_ ? stride - 1 : w.padding_low + w.padding_high + stride - extent;
      const Node windows =
          x_.Binary(Opcode::kMaximum,
                    x_.Binary(Opcode::kDivide, x_.Binary(Opcode::kAdd, n, Number(more)),
                              Number(std::max<int64_t>(stride, 1))),
                    Number(0));
      const Node covered =
          x_.Binary(Opcode::kAdd,
                    x_.Binary(Opcode::kMultiply, x_.Binary(Opcode::kSubtract, windows, Number(1)),
                              Number(stride)),
                    Number(extent));
      Node low = x_.Binary(
          Opcode::kDivide,
          x_.Binary(Opcode::kMaximum, x_.Binary(Opcode::kSubtract, covered, n), Number(0)),
          Number(2));
      if (role_ == Role::kInputGrad) low = x_.Binary(Opcode::kSubtract, Number(extent - 1), low);
      sizes.windows.push_back(windows);
      sizes.padding_low.push_back(low);
    }
    return sizes;
  }

  // The array with the padding and dilation of the window, moved so that `low` elements lie before
  // it; the window loses them. XLA: RewriteInputWithDynamicPadding.
  Result<Node> PadByLiveSize(Node array, const std::vector<Node>& low) {
    const Shape shape = x_.ShapeOf(array);
    Ints padding(3 * shape.rank(), 0), lengths = Dimensions(shape);
    std::vector<Node> operands(shape.rank() + 1, Number(0));
    for (size_t i = 0; i < low.size(); ++i) {
      WindowDimension& w = window_.dimensions[i];
      const size_t d = At(labels_.input_spatial[i]);
      const auto extent = DilatedExtent(w.size, w.window_dilation);
      const auto length = DilatedExtent(lengths[d], w.base_dilation);
      if (!extent || !length) return Invalid(call_, "its window overflows");
      padding[3 * d] = *extent;
      padding[3 * d + 1] = w.padding_low + w.padding_high;
      padding[3 * d + 2] = w.base_dilation - 1;
      lengths[d] = *length + w.padding_low + w.padding_high;
      operands[d + 1] = x_.Binary(Opcode::kSubtract, Number(*extent), low[i]);
      w.padding_low = w.padding_high = 0;
      w.base_dilation = 1;
    }
    const Node pad_operands[] = {array, x_.Constant(shape.element_type(), 0)};
    const Attribute pad = x_.builder().MakeInts(AttributeKey::kPadding, padding);
    HLOSCOPE_ASSIGN_OR_RETURN(operands[0], x_.AddInferred(Opcode::kPad, pad_operands, {&pad, 1}));
    const Attribute sizes = x_.builder().MakeInts(AttributeKey::kDynamicSliceSizes, lengths);
    return x_.AddInferred(Opcode::kDynamicSlice, operands, {&sizes, 1});
  }

  Result<Node> Convolve(std::span<const Node> operands, const ConvDims& attributes) {
    ModuleBuilder& builder = x_.builder();
    const Attribute made[] = {
        builder.MakeInt(AttributeKey::kBatchGroupCount, attributes.batch_groups),
        builder.Make(AttributeKey::kDimLabels, labels_),
        builder.MakeInt(AttributeKey::kFeatureGroupCount, attributes.feature_groups),
        builder.Make(AttributeKey::kWindow, window_)};
    HLOSCOPE_ASSIGN_OR_RETURN(const Node sum, x_.AddInferred(Opcode::kConvolution, operands, made));
    return x_.Convert(sum, call_.shape().element_type());
  }

  // XLA: the handlers of these calls in dynamic_dimension_inference.cc.
  Node WithLiveSizes(Node sum, const Padded& left, const Sizes& sizes) {
    const Shape& result = call_.shape();
    for (size_t d = 0; d < result.rank(); ++d) {
      if (!result.is_dynamic_dimension(d) || role_ == Role::kKernelGrad) continue;
      const auto at = static_cast<int64_t>(d);
      Node size = left.sizes[At(labels_.input_batch)];
      if (role_ == Role::kInputGrad) {
        const Ints begin = {at}, end = {at + 1};
        size = x_.Reshape(x_.Slice(x_.Operand(0), begin, end), {});
      } else if (at == labels_.output_feature) {
        continue;
      }
      for (size_t i = 0; i < sizes.windows.size() && role_ == Role::kForward; ++i) {
        if (labels_.output_spatial[i] == at) size = sizes.windows[i];
      }
      Shape shape = x_.ShapeOf(sum);
      shape.set_dynamic_dimension(d, true);
      const Node operands[] = {sum, size};
      const Attribute dimension =
          x_.builder().MakeInts(AttributeKey::kDimensions, std::span(&at, 1));
      sum = x_.Add(Opcode::kSetDimensionSize, std::move(shape), operands, {&dimension, 1});
    }
    return sum;
  }

  const CallSite& call_;
  const Role role_;
  const size_t first_;  // the first of the two arrays
  Expansion x_;
  ConvolutionDims labels_;
  Window window_;
  bool same_ = false;
};

}  // namespace

Result<ModulePtr> ExpandDynamicConvolutionForward(const CallSite& call) {
  return DynamicConvolution(call, Role::kForward).Expand();
}

Result<ModulePtr> ExpandDynamicConvolutionInputGrad(const CallSite& call) {
  return DynamicConvolution(call, Role::kInputGrad).Expand();
}

Result<ModulePtr> ExpandDynamicConvolutionKernelGrad(const CallSite& call) {
  return DynamicConvolution(call, Role::kKernelGrad).Expand();
}

}  // namespace hloscope::hlo::expand
