// Custom calls of cuDNN convolutions: forward, the gradients of input and filter, and forward with
// bias, side input and activation or a graph of small operations behind it. Window and dimension
// labels are always those of the forward convolution.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>

#include "core/hlo/dimension_numbers.h"
#include "core/hlo/expand/call_config.h"
#include "core/hlo/expand/custom_calls.h"
#include "core/hlo/expand/expansion.h"
#include "core/hlo/expand/library_math.h"

namespace hloscope::hlo::expand {
namespace {

using Node = Expansion::Node;

// The forward convolution a call belongs to.
struct Forward {
  ConvolutionDims dims;
  Window window;
  int64_t groups = 1;
  Shape input, filter, output;
};

size_t At(int64_t dimension) { return static_cast<size_t>(dimension); }

// All roles of one array: distinct, and as many as it has dimensions.
bool LabelsFit(const Shape& shape, int64_t first, int64_t second,
               const std::vector<int64_t>& spatial) {
  std::vector<int64_t> all = spatial;
  all.insert(all.end(), {first, second});
  std::ranges::sort(all);
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i] != static_cast<int64_t>(i)) return false;
  }
  return all.size() == shape.rank();
}

// Small enough that products of two such numbers do not overflow.
bool IsSane(const WindowDimension& w) {
  constexpr int64_t kMax = int64_t{1} << 30;
  return w.size <= kMax && w.stride >= 1 && w.stride <= kMax && w.base_dilation >= 1 &&
         w.base_dilation <= kMax && w.window_dilation >= 1 && w.window_dilation <= kMax &&
         std::abs(w.padding_low) <= kMax && std::abs(w.padding_high) <= kMax;
}

Result<Forward> ForwardOf(const CallSite& call, const Shape& input, const Shape& filter,
                          const Shape& output) {
  const ConvDims convolution = ConvDimsOf(call.module(), call.id());
  const ConvolutionDims* dims = convolution.labels;
  if (dims == nullptr) return Invalid(call, "it has no dim_labels");
  Forward f{*dims, {}, convolution.feature_groups, input, filter, output};
  if (convolution.window != nullptr) f.window = *convolution.window;
  if (!LabelsFit(input, dims->input_batch, dims->input_feature, dims->input_spatial) ||
      !LabelsFit(filter, dims->kernel_input_feature, dims->kernel_output_feature,
                 dims->kernel_spatial) ||
      !LabelsFit(output, dims->output_batch, dims->output_feature, dims->output_spatial)) {
    return Unsupported(call, "vectorised layouts (dimensions without a label) are not supported");
  }
  const size_t rank = dims->kernel_spatial.size();
  if (dims->input_spatial.size() != rank || dims->output_spatial.size() != rank ||
      f.window.dimensions.size() > rank || f.groups < 1) {
    return Invalid(call, "its window does not match its dim_labels");
  }
  f.window.dimensions.resize(rank);
  for (size_t i = 0; i < rank; ++i) {
    WindowDimension& w = f.window.dimensions[i];
    w.size = filter.dimension(At(dims->kernel_spatial[i]));
    if (!IsSane(w)) return Unsupported(call, "its window has a stride or dilation out of range");
  }
  return f;
}

// First and last elements of `count` that are `step` apart, and all between.
int64_t Extent(int64_t count, int64_t step) { return count == 0 ? 0 : (count - 1) * step + 1; }

// cuDNN adds up products of integers in s32.
Shape Wide(const Shape& shape) {
  const ElementType type = shape.element_type();
  return Shape::Array(IsInteger(type) ? ElementType::kS32 : WideType(type), Dimensions(shape));
}

bool FeaturesFit(const Forward& f, bool batch_too) {
  const int64_t in = f.input.dimension(At(f.dims.input_feature));
  const int64_t out = f.output.dimension(At(f.dims.output_feature));
  const int64_t filter_in = f.filter.dimension(At(f.dims.kernel_input_feature));
  return in == filter_in * f.groups && out % f.groups == 0 &&
         f.filter.dimension(At(f.dims.kernel_output_feature)) == out &&
         (!batch_too ||
          f.input.dimension(At(f.dims.input_batch)) == f.output.dimension(At(f.dims.output_batch)));
}

Result<Node> ForwardNode(const CallSite& call, Expansion& x, const Forward& f) {
  for (size_t i = 0; i < f.window.dimensions.size(); ++i) {
    const WindowDimension& w = f.window.dimensions[i];
    const int64_t span = Extent(f.input.dimension(At(f.dims.input_spatial[i])), w.base_dilation) +
                         w.padding_low + w.padding_high - Extent(w.size, w.window_dilation);
    const int64_t size = span < 0 ? 0 : span / w.stride + 1;
    if (size != f.output.dimension(At(f.dims.output_spatial[i]))) {
      return Invalid(call, "the shape of its result does not match its window");
    }
  }
  if (!FeaturesFit(f, true))
    return Invalid(call, "its numbers of features do not match its operands");
  return x.Convolution(x.Operand(0), x.Operand(1), Wide(f.output), f.window, f.dims, f.groups, 1);
}

// [in/groups, out] of the filter to [out/groups, in], group by group.
Node SwapFilterFeatures(Expansion& x, const Forward& f, Node filter) {
  if (f.groups == 1) return filter;
  const size_t in = At(f.dims.kernel_input_feature), out = At(f.dims.kernel_output_feature);
  std::vector<int64_t> split = Dimensions(f.filter), order, merged = split;
  const int64_t out_per_group = split[out] / f.groups;
  split[out] = out_per_group;
  split.insert(split.begin() + static_cast<std::ptrdiff_t>(out), f.groups);
  const auto after_split = [&](size_t d) { return static_cast<int64_t>(d < out ? d : d + 1); };
  for (size_t d = 0; d < f.filter.rank(); ++d) {
    if (d == out) {
      order.insert(order.end(), {static_cast<int64_t>(out), after_split(in)});
    } else {
      order.push_back(d == in ? static_cast<int64_t>(out) + 1 : after_split(d));
    }
  }
  merged[out] = merged[in] * f.groups;
  merged[in] = out_per_group;
  return x.Reshape(x.Transpose(x.Reshape(filter, split), order), merged);
}

// Operands: filter's partner is the output's gradient. The forward window, transposed.
Node InputGradient(Expansion& x, const Forward& f) {
  Window window = f.window;
  for (size_t i = 0; i < window.dimensions.size(); ++i) {
    const WindowDimension& w = f.window.dimensions[i];
    const int64_t kernel = Extent(w.size, w.window_dilation);
    const int64_t in = Extent(f.input.dimension(At(f.dims.input_spatial[i])), w.base_dilation);
    const int64_t out = Extent(f.output.dimension(At(f.dims.output_spatial[i])), w.stride);
    WindowDimension& back = window.dimensions[i];
    back.stride = w.base_dilation;
    back.base_dilation = w.stride;
    back.padding_low = kernel - 1 - w.padding_low;
    back.padding_high = in - out - back.padding_low + kernel - 1;
    back.window_reversal = !w.window_reversal;
  }
  ConvolutionDims dims = f.dims;
  std::swap(dims.input_batch, dims.output_batch);
  std::swap(dims.input_feature, dims.output_feature);
  std::swap(dims.input_spatial, dims.output_spatial);
  if (f.groups == 1) std::swap(dims.kernel_input_feature, dims.kernel_output_feature);
  return x.Convolution(x.Operand(0), SwapFilterFeatures(x, f, x.Operand(1)), Wide(f.input),
                       std::move(window), std::move(dims), f.groups, 1);
}

// Operands: input and the output's gradient. Features are the batch, the batch is summed over.
Node FilterGradient(Expansion& x, const Forward& f) {
  Window window = f.window;
  std::vector<int64_t> reversed;
  for (size_t i = 0; i < window.dimensions.size(); ++i) {
    const WindowDimension& w = f.window.dimensions[i];
    const int64_t in = Extent(f.input.dimension(At(f.dims.input_spatial[i])), w.base_dilation);
    WindowDimension& back = window.dimensions[i];
    back.size = f.output.dimension(At(f.dims.output_spatial[i]));
    back.stride = w.window_dilation;
    back.window_dilation = w.stride;
    back.window_reversal = false;
    back.padding_high =
        Extent(w.size, w.window_dilation) - 1 + Extent(back.size, w.stride) - in - w.padding_low;
    if (w.window_reversal) reversed.push_back(f.dims.kernel_spatial[i]);
  }
  ConvolutionDims dims = f.dims;
  std::swap(dims.input_batch, dims.input_feature);
  dims.kernel_input_feature = f.dims.output_batch;
  dims.kernel_output_feature = f.dims.output_feature;
  dims.kernel_spatial = f.dims.output_spatial;
  dims.output_batch = f.dims.kernel_input_feature;
  dims.output_feature = f.dims.kernel_output_feature;
  dims.output_spatial = f.dims.kernel_spatial;
  const Node gradient = x.Convolution(x.Operand(0), x.Operand(1), Wide(f.filter), std::move(window),
                                      std::move(dims), 1, f.groups);
  return reversed.empty() ? gradient : x.Reverse(gradient, std::move(reversed));
}

Result<CallConfig> ConvolutionConfig(const CallSite& call, size_t operands) {
  if (call.operand_count() < operands) return Invalid(call, "operands are missing");
  HLOSCOPE_ASSIGN_OR_RETURN(const CallConfig whole, CallConfig::Of(call));
  return whole.Section("cudnn_conv_backend_config");
}

// cuDNN saturates integers.
Node Saturated(Expansion& x, Node sum, ElementType type) {
  if (type == ElementType::kS8) {
    sum = x.Binary(Opcode::kMaximum, x.Binary(Opcode::kMinimum, sum, 127), -128);
  }
  return x.Convert(sum, type);
}

Result<ModulePtr> Finish(const CallSite& call, Expansion& x, const CallConfig& config, Node sum) {
  const double scale = config.Number("conv_result_scale", 1);
  if (scale != 1) sum = x.Binary(Opcode::kMultiply, sum, scale);
  return x.Build(Saturated(x, sum, MainShape(call).element_type()));
}

}  // namespace

Result<ModulePtr> ExpandCudnnConvForward(const CallSite& call) {
  HLOSCOPE_ASSIGN_OR_RETURN(const CallConfig config, ConvolutionConfig(call, 2));
  HLOSCOPE_ASSIGN_OR_RETURN(const Forward f, ForwardOf(call, call.operand_shape(0),
                                                       call.operand_shape(1), MainShape(call)));
  Expansion x(call);
  HLOSCOPE_ASSIGN_OR_RETURN(const Node sum, ForwardNode(call, x, f));
  return Finish(call, x, config, sum);
}

Result<ModulePtr> ExpandCudnnConvBackwardInput(const CallSite& call) {
  HLOSCOPE_ASSIGN_OR_RETURN(const CallConfig config, ConvolutionConfig(call, 2));
  HLOSCOPE_ASSIGN_OR_RETURN(const Forward f, ForwardOf(call, MainShape(call), call.operand_shape(1),
                                                       call.operand_shape(0)));
  if (!FeaturesFit(f, true))
    return Invalid(call, "its numbers of features do not match its operands");
  Expansion x(call);
  return Finish(call, x, config, InputGradient(x, f));
}

Result<ModulePtr> ExpandCudnnConvBackwardFilter(const CallSite& call) {
  HLOSCOPE_ASSIGN_OR_RETURN(const CallConfig config, ConvolutionConfig(call, 2));
  HLOSCOPE_ASSIGN_OR_RETURN(const Forward f, ForwardOf(call, call.operand_shape(0), MainShape(call),
                                                       call.operand_shape(1)));
  if (!FeaturesFit(f, true))
    return Invalid(call, "its numbers of features do not match its operands");
  Expansion x(call);
  return Finish(call, x, config, FilterGradient(x, f));
}

// activation(conv_result_scale·conv + side_input_scale·side input + bias)
Result<ModulePtr> ExpandCudnnConvBiasActivation(const CallSite& call) {
  HLOSCOPE_ASSIGN_OR_RETURN(const CallConfig config, ConvolutionConfig(call, 3));
  const Shape& result = MainShape(call);
  HLOSCOPE_ASSIGN_OR_RETURN(const Forward f,
                            ForwardOf(call, call.operand_shape(0), call.operand_shape(1), result));
  Expansion x(call);
  HLOSCOPE_ASSIGN_OR_RETURN(Node sum, ForwardNode(call, x, f));
  // Integer convolutions are scaled and added to as floats.
  const ElementType wide = IsComplex(x.TypeOf(sum)) ? ElementType::kC128 : ElementType::kF64;
  sum = x.Convert(sum, wide);
  const double scale = config.Number("conv_result_scale", 1);
  if (scale != 1) sum = x.Binary(Opcode::kMultiply, sum, scale);
  const double side_scale = config.Number("side_input_scale", call.operand_count() > 3 ? 1 : 0);
  if (call.operand_count() > 3 && side_scale != 0) {
    if (!std::ranges::equal(call.operand_shape(3).dimensions(), result.dimensions())) {
      return Invalid(call, "its side input does not have the shape of its result");
    }
    const Node side = x.Convert(x.Operand(3), wide);
    sum = x.Binary(Opcode::kAdd, sum, x.Binary(Opcode::kMultiply, side, side_scale));
  }
  const Shape& bias_shape = call.operand_shape(2);
  if (bias_shape.rank() != 1 ||
      bias_shape.dimension(0) != result.dimension(At(f.dims.output_feature))) {
    return Invalid(call, "its bias is not one number per output feature");
  }
  const Node bias =
      x.Broadcast(x.Convert(x.Operand(2), wide), Dimensions(result), {f.dims.output_feature});
  HLOSCOPE_ASSIGN_OR_RETURN(const Node active, Activation(call, x, config.Text("activation_mode"),
                                                          x.Binary(Opcode::kAdd, sum, bias),
                                                          config.Number("leakyrelu_alpha", 0)));
  return x.Build(Saturated(x, active, result.element_type()));
}

namespace {

// One step of a serialized graph: `12:[f32]scale(10);`.
struct GraphStep {
  int64_t id = 0;
  ElementType type = ElementType::kInvalid;
  std::string_view operation;
  std::vector<int64_t> operands;  // ids of steps; operands from outside are left out
};

// Takes what stands before `end`; false if that is not there.
bool TakeUntil(std::string_view& text, char end, std::string_view& taken) {
  const size_t at = text.find(end);
  if (at == std::string_view::npos) return false;
  taken = text.substr(0, at);
  text.remove_prefix(at + 1);
  return true;
}

bool ReadNumber(std::string_view text, int64_t& number) {
  return std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc();
}

// XLA: GraphString in cudnn_fused_conv_rewriter.cc.
Result<std::vector<GraphStep>> ReadGraph(const CallSite& call, std::string_view text) {
  std::vector<GraphStep> steps;
  while (!text.empty()) {
    GraphStep& step = steps.emplace_back();
    std::string_view id, open, type, operands, rest;
    if (!TakeUntil(text, ':', id) || !ReadNumber(id, step.id) || !TakeUntil(text, '[', open) ||
        !TakeUntil(text, ']', type) || !TakeUntil(text, '(', step.operation) ||
        !TakeUntil(text, ')', operands) || !TakeUntil(text, ';', rest)) {
      return Invalid(call, "its serialized_graph cannot be parsed");
    }
    step.type = ElementTypeFromText(type);
    while (!operands.empty()) {
      std::string_view one = operands;
      if (!TakeUntil(operands, ',', one)) operands = {};
      if (!ReadNumber(one, step.operands.emplace_back())) {
        return Invalid(call, "its serialized_graph cannot be parsed");
      }
    }
  }
  return steps;
}

struct GraphOperation {
  std::string_view name;
  Opcode opcode;
};
constexpr GraphOperation kGraphOperations[] = {
    {"add", Opcode::kAdd},     {"scale", Opcode::kMultiply}, {"invscale", Opcode::kDivide},
    {"min", Opcode::kMinimum}, {"max", Opcode::kMaximum},
};

// Runs the steps behind the convolution; every value is wide.
class GraphRunner {
 public:
  GraphRunner(const CallSite& call, Expansion& x, Node convolution)
      : call_(call), x_(x), convolution_(convolution) {}

  Result<std::vector<Node>> Run(const std::vector<GraphStep>& steps) {
    ElementType type = MainShape(call_).element_type();
    Node last = convolution_;
    for (const GraphStep& step : steps) {
      HLOSCOPE_ASSIGN_OR_RETURN(const Node value, RunStep(step));
      if (step.operation == "amax") {
        largest_.push_back(value);
      } else {
        values_[step.id] = last = value;
      }
    }
    std::vector<Node> results = {SaturatingConvert(x_, last, type)};
    const auto elements = call_.shape().elements();
    for (size_t i = 0; i < largest_.size() && i + 1 < elements.size(); ++i) {
      results.push_back(x_.Convert(largest_[i], elements[i + 1].element_type()));
    }
    return results;
  }

 private:
  Result<Node> RunStep(const GraphStep& step) {
    if (step.operation == "conv") return convolution_;
    std::vector<Node> operands;
    for (int64_t id : step.operands) {
      const auto found = values_.find(id);
      if (found == values_.end()) return Invalid(call_, "its serialized_graph is incomplete");
      operands.push_back(found->second);
    }
    if (operands.empty()) return Invalid(call_, "its serialized_graph is incomplete");
    if (step.operation == "amax") {
      std::vector<int64_t> all;
      for (size_t d = 0; d < x_.ShapeOf(operands[0]).rank(); ++d) {
        all.push_back(static_cast<int64_t>(d));
      }
      return x_.Reduce(Opcode::kMaximum, x_.Unary(Opcode::kAbs, operands[0]), 0, std::move(all));
    }
    for (const GraphOperation& row : kGraphOperations) {
      if (row.name == step.operation) return Combine(row.opcode, operands);
    }
    return Activation(call_, x_, step.operation, operands[0]);
  }

  // The operand that is not in the graph is the next of the call's.
  Result<Node> Combine(Opcode opcode, std::vector<Node>& operands) {
    if (operands.size() < 2) {
      if (next_operand_ >= x_.operand_count()) return Invalid(call_, "operands are missing");
      operands.push_back(x_.Convert(x_.Operand(next_operand_++), x_.TypeOf(operands[0])));
    }
    const Shape left = x_.ShapeOf(operands[0]), right = x_.ShapeOf(operands[1]);
    if (right.rank() != 0 && !std::ranges::equal(left.dimensions(), right.dimensions())) {
      return Invalid(call_, "an operand of its graph has a different shape");
    }
    return x_.Binary(opcode, operands[0], operands[1]);
  }

  const CallSite& call_;
  Expansion& x_;
  Node convolution_;
  size_t next_operand_ = 2;
  std::map<int64_t, Node> values_;
  std::vector<Node> largest_;
};

}  // namespace

Result<ModulePtr> ExpandCudnnConvForwardGraph(const CallSite& call) {
  HLOSCOPE_ASSIGN_OR_RETURN(const CallConfig config, ConvolutionConfig(call, 2));
  HLOSCOPE_ASSIGN_OR_RETURN(const Forward f, ForwardOf(call, call.operand_shape(0),
                                                       call.operand_shape(1), MainShape(call)));
  HLOSCOPE_ASSIGN_OR_RETURN(const auto steps, ReadGraph(call, config.Text("serialized_graph")));
  Expansion x(call);
  HLOSCOPE_ASSIGN_OR_RETURN(const Node sum, ForwardNode(call, x, f));
  HLOSCOPE_ASSIGN_OR_RETURN(const auto results, GraphRunner(call, x, sum).Run(steps));
  return x.Build(results);
}

// How a filter (and a bias) lie in memory for int8 convolutions: the numbers stay the same.
Result<ModulePtr> ExpandCudnnConvReorderFilter(const CallSite& call) {
  if (call.operand_count() == 0) return Invalid(call, "it has no operand");
  Expansion x(call);
  std::vector<Node> results;
  for (size_t i = 0; i < x.operand_count(); ++i) results.push_back(x.Operand(i));
  return x.Build(results);
}

}  // namespace hloscope::hlo::expand
