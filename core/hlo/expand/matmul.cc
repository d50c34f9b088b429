// Custom calls of cuBLAS and cuBLASLt: d = epilogue(alpha·a·b + beta·c), computed wide and rounded
// once. Layouts, strides, workspaces and chosen algorithms do not change what they mean.
#include <algorithm>

#include "core/hlo/dimension_numbers.h"
#include "core/hlo/expand/call_config.h"
#include "core/hlo/expand/custom_calls.h"
#include "core/hlo/expand/expansion.h"
#include "core/hlo/expand/library_math.h"

namespace hloscope::hlo::expand {
namespace {

using Node = Expansion::Node;

// Which operand is what. Behind a and b: c (if beta is not 0), scales of f8 operands (always of a
// and b, then of c and d as far as they are there) and a vector bias, the only one of rank 1 up.
struct Roles {
  std::optional<Node> c, bias;
  std::vector<Node> scales;
};

Roles RolesOf(const Expansion& x, bool has_c, bool has_scales) {
  Roles roles;
  for (size_t i = 2; i < x.operand_count(); ++i) {
    const Node operand = x.Operand(i);
    if (has_c && !roles.c) {
      roles.c = operand;
    } else if (has_scales && x.ShapeOf(operand).rank() == 0) {
      roles.scales.push_back(operand);
    } else {
      roles.bias = operand;
    }
  }
  return roles;
}

// x times a real or complex constant.
Node Scaled(Expansion& x, Node value, double real, double imaginary) {
  if (imaginary == 0) return real == 1 ? value : x.Binary(Opcode::kMultiply, value, real);
  const Node parts[] = {x.Constant(ElementType::kF64, real),
                        x.Constant(ElementType::kF64, imaginary)};
  const Node alpha = x.Add(Opcode::kComplex, Shape::Scalar(ElementType::kC128), parts);
  return x.Binary(Opcode::kMultiply, value, alpha);
}

struct Product {
  Node value;
  std::optional<Node> aux, largest;
};

// alpha·scales·a·b + beta·c, then bias and activation, all in the wide type.
Result<Product> Compute(const CallSite& call, Expansion& x, const CallConfig& config, Node product,
                        const Roles& roles) {
  const ElementType wide = x.TypeOf(product);
  Product d{
      Scaled(x, product, config.Number("alpha_real", 1), config.Number("alpha_imag", 0)), {}, {}};
  const double beta = config.Number("beta", 0);
  for (size_t i = 0; i < std::min<size_t>(roles.scales.size(), 2); ++i) {
    d.value = x.Binary(Opcode::kMultiply, d.value, x.Convert(roles.scales[i], wide));
  }
  if (roles.c) {
    if (!std::ranges::equal(x.ShapeOf(*roles.c).dimensions(), x.ShapeOf(d.value).dimensions())) {
      return Unsupported(call, "the matrix to add has a different shape");
    }
    Node c = Scaled(x, x.Convert(*roles.c, wide), beta, 0);
    if (roles.scales.size() > 3) {
      c = x.Binary(Opcode::kMultiply, c, x.Convert(roles.scales[2], wide));
    }
    d.value = x.Binary(Opcode::kAdd, d.value, c);
  }
  const std::string_view epilogue = config.Text("epilogue");
  if (epilogue.find("BIAS") != std::string_view::npos) {
    if (!roles.bias) return Unsupported(call, "its epilogue adds a bias that is missing");
    HLOSCOPE_ASSIGN_OR_RETURN(const Node bias,
                              TrailingBroadcast(call, x, x.Convert(*roles.bias, wide), d.value));
    d.value = x.Binary(Opcode::kAdd, d.value, bias);
  }
  if (epilogue.ends_with("AUX")) d.aux = d.value;
  HLOSCOPE_ASSIGN_OR_RETURN(d.value, Activation(call, x, epilogue, d.value));
  return d;
}

Node LargestMagnitude(Expansion& x, Node value) {
  std::vector<int64_t> all;
  for (size_t d = 0; d < x.ShapeOf(value).rank(); ++d) all.push_back(static_cast<int64_t>(d));
  return x.Reduce(Opcode::kMaximum, x.Unary(Opcode::kAbs, value), 0, std::move(all));
}

// The results in the order of the call's tuple: d, then what the epilogue leaves.
Result<ModulePtr> Deliver(const CallSite& call, Expansion& x, const CallConfig& config, Product d,
                          const Roles& roles) {
  const ElementType type = MainShape(call).element_type();
  const auto elements = call.shape().elements();
  const bool wants_largest = config.Flag("damax_output") && elements.size() > 1;
  if (wants_largest) d.largest = LargestMagnitude(x, d.value);
  if (roles.scales.size() > 2) {
    const Node scale = x.Convert(roles.scales.back(), x.TypeOf(d.value));
    d.value = x.Binary(Opcode::kMultiply, d.value, scale);
  }
  std::vector<Node> results = {SaturatingConvert(x, d.value, type)};
  if (d.aux && elements.size() > 1) {
    results.push_back(x.Convert(*d.aux, elements[1].element_type()));
  } else if (d.largest) {
    results.push_back(x.Convert(*d.largest, elements[1].element_type()));
  }
  return x.Build(results);
}

}  // namespace

Result<ModulePtr> ExpandCublasMatmul(const CallSite& call) {
  HLOSCOPE_ASSIGN_OR_RETURN(const CallConfig whole, CallConfig::Of(call));
  const CallConfig& config = whole.Section("gemm_backend_config");
  if (!config.Has("dot_dimension_numbers")) {
    return Unsupported(call, "its backend_config has no dot_dimension_numbers");
  }
  if (call.operand_count() < 2) return Unsupported(call, "it has fewer than two operands");
  const DotDimensions dims = ReadDotDimensions(config);
  const bool has_scales =
      call.module().GetString(call.instruction(), AttributeKey::kCustomCallTarget).ends_with("$f8");
  Expansion x(call);
  const Roles roles = RolesOf(x, config.Number("beta", 0) != 0, has_scales);
  const ElementType wide = WideType(MainShape(call).element_type());
  const Node product = x.Dot(x.Operand(0), x.Operand(1), dims, wide);
  HLOSCOPE_ASSIGN_OR_RETURN(const Product d, Compute(call, x, config, product, roles));
  return Deliver(call, x, config, d, roles);
}

// x of op(a)·x = b or x·op(a) = b; the options are those of triangular-solve.
Result<ModulePtr> ExpandCublasTriangularSolve(const CallSite& call) {
  HLOSCOPE_ASSIGN_OR_RETURN(const CallConfig config, CallConfig::Of(call));
  if (call.operand_count() != 2) return Unsupported(call, "it does not have two operands");
  const std::string_view transpose = config.Text("transpose_a");
  TransposeA how = TransposeA::kNoTranspose;
  if (transpose == "TRANSPOSE" || transpose == "2") how = TransposeA::kTranspose;
  if (transpose == "ADJOINT" || transpose == "3") how = TransposeA::kAdjoint;
  Expansion x(call);
  const Node operands[] = {x.Operand(0), x.Operand(1)};
  const Attribute attributes[] = {
      x.builder().MakeBool(AttributeKey::kLeftSide, config.Flag("left_side")),
      x.builder().MakeBool(AttributeKey::kLower, config.Flag("lower")),
      x.builder().MakeEnum(AttributeKey::kTransposeA, static_cast<int32_t>(how)),
      x.builder().MakeBool(AttributeKey::kUnitDiagonal, config.Flag("unit_diagonal"))};
  return x.Build(x.Add(Opcode::kTriangularSolve, x.ShapeOf(operands[1]), operands, attributes));
}

// Rows of a group, given by how many each group has, times the group's own matrix: ragged-dot.
Result<ModulePtr> ExpandCublasGroupedMatmul(const CallSite& call) {
  HLOSCOPE_ASSIGN_OR_RETURN(const CallConfig whole, CallConfig::Of(call));
  const CallConfig& config = whole.Section("grouped_gemm_backend_config");
  const CallConfig& gemm = config.Section("gemm_backend_config");
  const CallConfig& ragged = config.Section("ragged_dot_dimension_numbers");
  if (call.operand_count() != 3 || !ragged.Has("lhs_ragged_dimensions")) {
    return Unsupported(call, "its backend_config has no ragged_dot_dimension_numbers");
  }
  const DotDimensions dims = ReadDotDimensions(ragged);
  Expansion x(call);
  const Node operands[] = {x.Operand(0), x.Operand(1), x.Operand(2)};
  const auto lhs_ragged = ragged.Integers("lhs_ragged_dimensions");
  const auto rhs_group = ragged.Integers("rhs_group_dimensions");
  const auto attributes =
      MakeDotDims(x.builder(), {{dims.lhs_batch, dims.lhs_contracting},
                                {dims.rhs_batch, dims.rhs_contracting, rhs_group},
                                lhs_ragged});
  const double alpha = gemm.Number("alpha_real", 1);
  if (alpha != 1 || gemm.Number("beta", 0) != 0) {
    return Unsupported(call, "alpha and beta are not supported");
  }
  return x.Build(x.Add(Opcode::kRaggedDot, MainShape(call).WithoutLayouts(), operands, attributes));
}

}  // namespace hloscope::hlo::expand
