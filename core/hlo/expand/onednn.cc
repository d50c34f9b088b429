// oneDNN's calls of XLA:CPU: products of matrices with what is fused behind them, softmax and layer
// norm, computed wide and rounded once.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "core/hlo/expand/call_config.h"
#include "core/hlo/expand/custom_calls.h"
#include "core/hlo/expand/expansion.h"
#include "core/hlo/expand/library_math.h"

namespace hloscope::hlo::expand {
namespace {

using Node = Expansion::Node;

// The dimensions of an operand or result in the order the product sees them, counted from 1 in
// OneDnnTensorLayoutProto; empty: as they are.
Result<std::vector<int64_t>> OrderOf(const CallSite& call, const CallConfig& config,
                                     std::string_view name, size_t rank) {
  const CallConfig* layout = config.Find(name);
  const CallConfig* tensor = layout == nullptr ? nullptr : layout->Find("tensor");
  if (tensor == nullptr) return std::vector<int64_t>();
  std::vector<int64_t> order = tensor->Integers("dimensions");
  for (int64_t& dimension : order) --dimension;
  std::vector<int64_t> plain(rank);
  std::iota(plain.begin(), plain.end(), 0);
  if (!order.empty() && !std::ranges::is_permutation(order, plain)) {
    return Unsupported(call, "the dimensions of its layouts are not a permutation");
  }
  return order;
}

bool IsIdentity(const std::vector<int64_t>& order) { return std::ranges::is_sorted(order); }

std::vector<int64_t> Inverse(const std::vector<int64_t>& order) {
  std::vector<int64_t> inverse(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  }
  return inverse;
}

// Operand i as matrices [batch…, rows, columns].
Result<Node> AsMatrices(const CallSite& call, Expansion& x, const CallConfig& config, size_t i,
                        std::string_view layout, bool transpose) {
  const size_t rank = call.operand_shape(i).rank();
  if (rank < 2) return Unsupported(call, "its operands are not matrices");
  HLOSCOPE_ASSIGN_OR_RETURN(std::vector<int64_t> order, OrderOf(call, config, layout, rank));
  if (order.empty()) {
    for (size_t d = 0; d < rank; ++d) order.push_back(static_cast<int64_t>(d));
  }
  if (transpose) std::swap(order[rank - 1], order[rank - 2]);
  return IsIdentity(order) ? x.Operand(i) : x.Transpose(x.Operand(i), order);
}

// `value` with the sizes of `like`: dimensions stand under the last ones, those of size 1 repeat.
Result<Node> Spread(const CallSite& call, Expansion& x, Node value, Node like) {
  const Shape from = x.ShapeOf(value), to = x.ShapeOf(like);
  std::vector<int64_t> sizes, dimensions;
  if (from.rank() > to.rank()) return Unsupported(call, "a fused operand has too many dimensions");
  for (size_t d = 0; d < from.rank(); ++d) {
    const size_t at = to.rank() - from.rank() + d;
    if (from.dimension(d) == 1) continue;
    if (from.dimension(d) != to.dimension(at)) {
      return Unsupported(call, "a fused operand does not match the product");
    }
    sizes.push_back(from.dimension(d));
    dimensions.push_back(static_cast<int64_t>(at));
  }
  return x.Broadcast(x.Reshape(value, sizes), Dimensions(to), dimensions);
}

struct FusedRow {
  std::string_view op, number;  // of OneDnnFusionConfig.FusionKind
  std::string_view activation;  // a name of Activation; empty: it is none

  bool Adds() const { return op == "BIAS" || op == "BINARY_ADD" || op == "SUM"; }
};
constexpr FusedRow kFused[] = {
    {"BIAS", "1", ""},          {"RELU", "2", "kRelu"},
    {"TANH", "3", "kTanh"},     {"GELU_ERF", "4", "gelu"},
    {"GELU_TANH", "5", "GELU"}, {"BINARY_ADD", "6", ""},
    {"LINEAR", "7", ""},        {"ELU", "8", "kElu"},
    {"RELU6", "9", "kRelu6"},   {"SIGMOID", "10", "kSigmoid"},
    {"SUM", "11", ""},          {"SWISH", "12", "SILU"},
};

// What is fused behind a product, in order; the factors of LINEAR beside it.
struct Fused {
  std::vector<const FusedRow*> rows;
  std::vector<double> factors;
};

Result<Fused> FusedOf(const CallSite& call, const CallConfig& config) {
  // Until 2024 the list stood in the config itself, until 2025 the factor as the bits of a float.
  const CallConfig& fusions = config.Section("fusions");
  const bool older = config.Has("fused_ops");
  Fused fused;
  fused.factors = fusions.Numbers("alpha");
  for (const CallConfig* place : {&config, &fusions}) {
    if (!fused.factors.empty() || !place->Has("alpha_typecast")) continue;
    const auto bits = static_cast<int32_t>(place->Integer("alpha_typecast", 0));
    fused.factors.push_back(std::bit_cast<float>(bits));
  }
  for (const std::string_view op : older ? config.Texts("fused_ops") : fusions.Texts("ops")) {
    const auto* row = std::ranges::find_if(
        kFused, [&](const FusedRow& known) { return known.op == op || known.number == op; });
    if (row == std::end(kFused)) {
      return Unsupported(call, fmt::format("unknown fused operation: {}", op));
    }
    fused.rows.push_back(row);
  }
  return fused;
}

// A bias is added before everything else; the rest follows in the order it is listed.
Result<Node> Finish(const CallSite& call, Expansion& x, const Fused& fused, Node value) {
  const ElementType wide = x.TypeOf(value);
  size_t operand = 2, factor = 0;
  std::optional<Node> bias;
  std::vector<std::pair<const FusedRow*, Node>> later;
  for (const FusedRow* row : fused.rows) {
    Node with = value;
    if (row->Adds()) {
      if (operand == x.operand_count()) return Unsupported(call, "a fused operand is missing");
      HLOSCOPE_ASSIGN_OR_RETURN(with, Spread(call, x, x.Convert(x.Operand(operand), wide), value));
      ++operand;
    }
    if (row->op == "BIAS") {
      bias = with;
    } else {
      later.emplace_back(row, with);
    }
  }
  if (operand != x.operand_count()) return Unsupported(call, "it has unused operands");
  if (bias) value = x.Binary(Opcode::kAdd, value, *bias);
  for (const auto& [row, with] : later) {
    if (row->Adds()) {
      value = x.Binary(Opcode::kAdd, value, with);
    } else if (row->op == "LINEAR") {
      if (factor == fused.factors.size()) return Unsupported(call, "its alpha is missing");
      value = x.Binary(Opcode::kMultiply, value, fused.factors[factor++]);
    } else {
      HLOSCOPE_ASSIGN_OR_RETURN(value, Activation(call, x, row->activation, value));
    }
  }
  return value;
}

}  // namespace

// Operands a, b, then one for each fused addition; the second result is a workspace.
Result<ModulePtr> ExpandOnednnMatmul(const CallSite& call) {
  HLOSCOPE_ASSIGN_OR_RETURN(const CallConfig whole, CallConfig::Of(call));
  const CallConfig& config = whole.Section("onednn_matmul_config");
  if (call.operand_count() < 2) return Unsupported(call, "it has fewer than two operands");
  if (config.Section("optimization_config").Flag("weights_prepacked") ||
      config.Flag("weights_prepacked")) {
    return Unsupported(call, "its weights are packed in a processor-specific layout");
  }
  HLOSCOPE_ASSIGN_OR_RETURN(const Fused fused, FusedOf(call, config));
  Expansion x(call);
  HLOSCOPE_ASSIGN_OR_RETURN(const Node a,
                            AsMatrices(call, x, config, 0, "lhs", config.Flag("transpose_a")));
  HLOSCOPE_ASSIGN_OR_RETURN(const Node b,
                            AsMatrices(call, x, config, 1, "rhs", config.Flag("transpose_b")));
  const Shape& result = MainShape(call);
  const auto rank = static_cast<int64_t>(x.ShapeOf(a).rank());
  if (x.ShapeOf(b).rank() != x.ShapeOf(a).rank()) {
    return Unsupported(call, "its operands have different numbers of dimensions");
  }
  DotDimensions dims{{}, {rank - 1}, {}, {rank - 2}};
  for (int64_t d = 0; d + 2 < rank; ++d) dims.lhs_batch.push_back(d);
  dims.rhs_batch = dims.lhs_batch;
  const Node product =
      x.Dot(x.Convert(a, WideType(x.TypeOf(a))), x.Convert(b, WideType(x.TypeOf(b))), dims,
            WideType(result.element_type()));
  HLOSCOPE_ASSIGN_OR_RETURN(Node value, Finish(call, x, fused, product));
  HLOSCOPE_ASSIGN_OR_RETURN(const std::vector<int64_t> order,
                            OrderOf(call, config, "result", x.ShapeOf(product).rank()));
  if (!IsIdentity(order)) {
    if (x.operand_count() > 2)
      return Unsupported(call, "it accumulates into a result of another layout");
    value = x.Transpose(value, Inverse(order));
  }
  const Node results[] = {x.Convert(value, result.element_type())};
  return x.Build(results);
}

// exp(x − max) / Σ exp(x − max) along one dimension.
Result<ModulePtr> ExpandOnednnSoftmax(const CallSite& call) {
  HLOSCOPE_ASSIGN_OR_RETURN(const CallConfig whole, CallConfig::Of(call));
  const int64_t axis = whole.Section("onednn_softmax_config").Integer("softmax_axis", 0);
  const Shape& shape = MainShape(call);
  if (call.operand_count() != 1 || axis < 0 || std::cmp_greater_equal(axis, shape.rank())) {
    return Unsupported(call, "its operand has no such dimension");
  }
  Expansion x(call);
  std::vector<int64_t> others;
  for (size_t d = 0; d < shape.rank(); ++d) {
    if (std::cmp_not_equal(d, axis)) others.push_back(static_cast<int64_t>(d));
  }
  const auto along = [&](Opcode fold, Node value, double init) {
    return x.Broadcast(x.Reduce(fold, value, init, {axis}), Dimensions(shape), others);
  };
  const Node wide = x.Convert(x.Operand(0), ElementType::kF64);
  const Node largest = along(Opcode::kMaximum, wide, -std::numeric_limits<double>::infinity());
  const Node powers = x.Unary(Opcode::kExp, x.Binary(Opcode::kSubtract, wide, largest));
  const Node sums = along(Opcode::kAdd, powers, 0);
  return x.Build(x.Convert(x.Binary(Opcode::kDivide, powers, sums), shape.element_type()));
}

// (x − mean) / √(variance + epsilon)·scale + shift over the last dimension.
Result<ModulePtr> ExpandOnednnLayerNorm(const CallSite& call) {
  HLOSCOPE_ASSIGN_OR_RETURN(const CallConfig whole, CallConfig::Of(call));
  const CallConfig& config = whole.Section("onednn_layer_norm_config");
  const Shape& shape = MainShape(call);
  if (call.operand_count() != 3 || shape.rank() == 0 ||
      !config.Section("fusions").Texts("ops").empty()) {
    return Unsupported(call, "it is not the norm of one array with a scale and a shift");
  }
  const auto bits = static_cast<int32_t>(config.Integer("epsilon_typecast", 0));
  const auto last = static_cast<int64_t>(shape.rank()) - 1;
  Expansion x(call);
  std::vector<int64_t> others;
  for (int64_t d = 0; d < last; ++d) others.push_back(d);
  const double count = static_cast<double>(shape.dimension(static_cast<size_t>(last)));
  const auto mean = [&](Node value) {
    const Node sum = x.Reduce(Opcode::kAdd, value, 0, {last});
    return x.Broadcast(x.Binary(Opcode::kDivide, sum, count), Dimensions(shape), others);
  };
  const Node wide = x.Convert(x.Operand(0), ElementType::kF64);
  const Node centred = x.Binary(Opcode::kSubtract, wide, mean(wide));
  const Node variance = mean(x.Binary(Opcode::kMultiply, centred, centred));
  const Node norm =
      x.Unary(Opcode::kRsqrt, x.Binary(Opcode::kAdd, variance, std::bit_cast<float>(bits)));
  const Node unit = x.Binary(Opcode::kMultiply, centred, norm);
  Node factors[2];
  for (size_t i = 0; i < 2; ++i) {
    HLOSCOPE_ASSIGN_OR_RETURN(
        factors[i], Spread(call, x, x.Convert(x.Operand(i + 1), ElementType::kF64), wide));
  }
  const Node scaled = x.Binary(Opcode::kMultiply, unit, factors[0]);
  return x.Build(x.Convert(x.Binary(Opcode::kAdd, scaled, factors[1]), shape.element_type()));
}

}  // namespace hloscope::hlo::expand
