// Custom calls of linear algebra: triangular solves and symmetric products.
#include <algorithm>

#include "core/hlo/expand/custom_calls.h"
#include "core/hlo/expand/expansion.h"
#include "core/hlo/expand/matrix_shapes.h"

namespace hloscope::hlo::expand {
namespace {

using Node = Expansion::Node;

// How trsm is asked for: letters of BLAS as attributes, or numbers in front in older calls.
struct TrsmOptions {
  bool left, lower, unit;
  TransposeA transpose = TransposeA::kNoTranspose;
};

TrsmOptions ReadTrsmOptions(const MatrixShapes& m) {
  if (m.is_old()) {
    const int64_t how = m.Option("", 2, 0);
    return {m.Option("", 0, 1) != 0, m.Option("", 1, 1) != 0, m.Option("", 3, 0) != 0,
            how == 0   ? TransposeA::kNoTranspose
            : how == 1 ? TransposeA::kTranspose
                       : TransposeA::kAdjoint};
  }
  const int64_t how = m.Option("trans_x", 0, 'N');
  return {m.Option("side", 0, 'L') == 'L', m.Option("uplo", 0, 'L') == 'L',
          m.Option("diag", 0, 'N') == 'U',
          how == 'N'   ? TransposeA::kNoTranspose
          : how == 'T' ? TransposeA::kTranspose
                       : TransposeA::kAdjoint};
}

// The scalar factor that some calls carry, before or after their matrices.
std::optional<size_t> FindAlpha(const CallSite& call) {
  for (size_t i = 0; i < call.operand_count(); ++i) {
    const Shape& shape = call.operand_shape(i);
    if (shape.rank() == 0 && !IsInteger(shape.element_type())) return i;
  }
  return std::nullopt;
}

}  // namespace

Result<ModulePtr> ExpandTrsm(const CallSite& call) {
  HLOSCOPE_ASSIGN_OR_RETURN(const MatrixShapes m, MatrixShapes::Of(call, 2));
  const TrsmOptions options = ReadTrsmOptions(m);
  const Shape &a = m.array(0), &b = m.array(1);
  const bool fits =
      a.rank() >= 2 && a.rank() == b.rank() && m.rows() == m.columns() &&
      m.rows() == (options.left ? m.rows(1) : m.columns(1)) &&
      std::ranges::equal(a.dimensions().first(a.rank() - 2), b.dimensions().first(b.rank() - 2));
  if (!fits) return Unsupported(call, "its matrices have incompatible shapes");
  Expansion x(call);
  const ElementType wide = WideType(b.element_type());
  Node right = x.Convert(x.Operand(m.operand_of(1)), wide);
  if (const auto alpha = FindAlpha(call)) {
    right = x.Binary(Opcode::kMultiply, right, x.Convert(x.Operand(*alpha), wide));
  }
  const Node operands[] = {x.Convert(x.Operand(m.operand_of(0)), wide), right};
  const Attribute attributes[] = {
      x.builder().MakeBool(AttributeKey::kLeftSide, options.left),
      x.builder().MakeBool(AttributeKey::kLower, options.lower),
      x.builder().MakeEnum(AttributeKey::kTransposeA, static_cast<int32_t>(options.transpose)),
      x.builder().MakeBool(AttributeKey::kUnitDiagonal, options.unit)};
  const Node solved = x.Add(Opcode::kTriangularSolve, x.ShapeOf(right), operands, attributes);
  return x.Build(x.Convert(solved, b.element_type()));
}

// alpha·a·aᵀ + beta·c (alpha·aᵀ·a where it is transposed); the factors are the last operands.
Result<ModulePtr> ExpandSymmetricProduct(const CallSite& call) {
  HLOSCOPE_ASSIGN_OR_RETURN(const MatrixShapes m, MatrixShapes::Of(call, 2));
  const Shape &a = m.array(0), &c = m.array(1);
  const bool transposed = m.IsSet("transpose", false);
  const auto rank = static_cast<int64_t>(a.rank());
  if (call.operand_count() != 4 || rank < 2 || c.rank() != a.rank() ||
      call.operand_shape(2).rank() != 0 || call.operand_shape(3).rank() != 0 ||
      m.rows(1) != m.columns(1) || m.rows(1) != (transposed ? m.columns() : m.rows())) {
    return Unsupported(call, "its matrices have incompatible shapes");
  }
  Expansion x(call);
  const ElementType wide = WideType(c.element_type());
  DotDimensions dims;
  for (int64_t d = 0; d + 2 < rank; ++d) dims.lhs_batch.push_back(d);
  dims.rhs_batch = dims.lhs_batch;
  dims.lhs_contracting = dims.rhs_contracting = {transposed ? rank - 2 : rank - 1};
  auto scaled = [&](Node value, size_t factor) {
    return x.Binary(Opcode::kMultiply, value, x.Convert(x.Operand(factor), wide));
  };
  const Node product = scaled(x.Dot(x.Operand(0), x.Operand(0), dims, wide), 2);
  const Node sum = x.Binary(Opcode::kAdd, product, scaled(x.Convert(x.Operand(1), wide), 3));
  return x.Build(x.Convert(sum, c.element_type()));
}

}  // namespace hloscope::hlo::expand
