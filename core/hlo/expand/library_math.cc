// Activations, biases and saturating conversions as plain HLO.
#include "core/hlo/expand/library_math.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <numbers>

#include "core/hlo/float_types.h"

namespace hloscope::hlo::expand {
namespace {

using Node = Expansion::Node;

Node Relu(Expansion& x, Node v) { return x.Binary(Opcode::kMaximum, v, 0); }

Node Relu6(Expansion& x, Node v) { return x.Binary(Opcode::kMinimum, Relu(x, v), 6); }

// v/2·(1 + tanh(√(2/π)·(v + 0.044715·v³)))
Node Gelu(Expansion& x, Node v) {
  const Node square = x.Binary(Opcode::kMultiply, v, v);
  const Node factor = x.Binary(Opcode::kAdd, x.Binary(Opcode::kMultiply, square, 0.044715), 1);
  const Node inner = x.Binary(Opcode::kMultiply, x.Binary(Opcode::kMultiply, v, factor),
                              std::numbers::sqrt2 * std::numbers::inv_sqrtpi);
  const Node gate = x.Binary(Opcode::kAdd, x.Unary(Opcode::kTanh, inner), 1);
  return x.Binary(Opcode::kMultiply, x.Binary(Opcode::kMultiply, v, 0.5), gate);
}

Node Silu(Expansion& x, Node v) {
  return x.Binary(Opcode::kMultiply, v, x.Unary(Opcode::kLogistic, v));
}

// v/2·(1 + erf(v/√2))
Node GeluExact(Expansion& x, Node v) {
  const Node error = x.Unary(Opcode::kErf, x.Binary(Opcode::kMultiply, v, 1 / std::numbers::sqrt2));
  const Node gate = x.Binary(Opcode::kAdd, error, 1);
  return x.Binary(Opcode::kMultiply, x.Binary(Opcode::kMultiply, v, 0.5), gate);
}

Node PositiveOr(Expansion& x, Node v, Node otherwise) {
  const Node zero = x.Constant(x.TypeOf(v), 0);
  return x.Select(x.Compare(ComparisonDirection::kGt, v, zero), v, otherwise);
}

Node Elu(Expansion& x, Node v) { return PositiveOr(x, v, x.Unary(Opcode::kExpm1, v)); }

struct ActivationRow {
  std::string_view name;
  Node (*apply)(Expansion& x, Node value);
};

Node Nothing(Expansion&, Node v) { return v; }
Node Sigmoid(Expansion& x, Node v) { return x.Unary(Opcode::kLogistic, v); }
Node Tanh(Expansion& x, Node v) { return x.Unary(Opcode::kTanh, v); }

// XLA: GemmBackendConfig.Epilogue in backend_configs.proto, ActivationMode in
// stream_executor/dnn.h.
constexpr ActivationRow kActivations[] = {
    {"", Nothing},         {"DEFAULT", Nothing}, {"BIAS", Nothing},
    {"RELU", Relu},        {"BIAS_RELU", Relu},  {"GELU", Gelu},
    {"GELU_AUX", Gelu},    {"BIAS_GELU", Gelu},  {"BIAS_GELU_AUX", Gelu},
    {"SILU", Silu},        {"BIAS_SILU", Silu},  {"kNone", Nothing},
    {"kSigmoid", Sigmoid}, {"kRelu", Relu},      {"kRelu6", Relu6},
    {"kTanh", Tanh},       {"kElu", Elu},        {"kGeluExact", GeluExact},
    {"0", Nothing},        {"1", Sigmoid},       {"2", Relu},
    {"3", Relu6},          {"5", Tanh},          {"7", Elu},
    {"9", GeluExact},      {"relu", Relu},       {"elu", Elu},
    {"gelu", GeluExact},   {"tanh", Tanh},       {"sigmoid", Sigmoid},
};

}  // namespace

DotDimensions ReadDotDimensions(const CallConfig& config) {
  const CallConfig& dims = config.Section("dot_dimension_numbers");
  return {dims.Integers("lhs_batch_dimensions"), dims.Integers("lhs_contracting_dimensions"),
          dims.Integers("rhs_batch_dimensions"), dims.Integers("rhs_contracting_dimensions")};
}

Result<Node> Activation(const CallSite& call, Expansion& x, std::string_view name, Node value,
                        double slope) {
  if (name == "kLeakyRelu" || name == "8") {
    return PositiveOr(x, value, x.Binary(Opcode::kMultiply, value, slope));
  }
  for (const ActivationRow& row : kActivations) {
    if (row.name == name) return row.apply(x, value);
  }
  return Unsupported(call, fmt::format("unknown activation {}", name));
}

Result<Node> TrailingBroadcast(const CallSite& call, Expansion& x, Node bias, Node like) {
  const Shape from = x.ShapeOf(bias), to = x.ShapeOf(like);
  std::vector<int64_t> dimensions;
  for (size_t d = 0; d < from.rank(); ++d) {
    const size_t at = to.rank() - from.rank() + d;
    if (from.rank() > to.rank() || from.dimension(d) != to.dimension(at)) {
      return Unsupported(call, "its bias does not match the last dimensions of its result");
    }
    dimensions.push_back(static_cast<int64_t>(at));
  }
  return x.Broadcast(bias, Dimensions(to), std::move(dimensions));
}

Node SaturatingConvert(Expansion& x, Node value, ElementType type) {
  if (x.TypeOf(value) == type) return value;
  const bool narrow = IsFloat(type) && BitWidth(type) == 8;
  if (!narrow) return x.Convert(value, type);  // integers saturate anyway
  const FloatFormat& format = *FindFloatFormat(type);
  const double largest = DecodeFloat(format, format.max_finite());
  const Node below = x.Binary(Opcode::kMinimum, value, largest);
  return x.Convert(x.Binary(Opcode::kMaximum, below, -largest), type);
}

}  // namespace hloscope::hlo::expand
