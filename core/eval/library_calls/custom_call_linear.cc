// Custom calls of linear algebra that are plain arithmetic: triangular and tridiagonal solves,
// permutations from pivots, symmetric products.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/eval/library_calls/custom_calls.h"
#include "core/eval/library_calls/expansion.h"
#include "core/eval/library_calls/matrix_call.h"
#include "core/eval/machine/indices.h"

namespace hloscope::eval {
namespace {

using hlo::AttributeKey;
using hlo::Opcode;
using hlo::Shape;
using hlo::TransposeA;
using Node = Expansion::Node;

// How trsm is asked for: letters of BLAS as attributes, or numbers in front in older calls.
struct TrsmOptions {
  bool left, lower, unit;
  TransposeA transpose = TransposeA::kNoTranspose;
};

TrsmOptions ReadTrsmOptions(const MatrixCall& m) {
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

// The scalar factor that some calls carry, before or behind their matrices.
std::optional<size_t> FindAlpha(const KernelCall& call) {
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const Shape& shape = call.operand_shape(i);
    if (shape.rank() == 0 && !hlo::IsInteger(shape.element_type())) return i;
  }
  return std::nullopt;
}

std::vector<size_t> ArrayOperands(const KernelCall& call) {
  std::vector<size_t> arrays;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    if (call.operand_shape(i).rank() != 0) arrays.push_back(i);
  }
  return arrays;
}

}  // namespace

Result<Value> TrsmCall(KernelCall& call) {
  HLOSCOPE_ASSIGN_OR_RETURN(const MatrixCall m, MatrixCall::Of(call, 2));
  const TrsmOptions options = ReadTrsmOptions(m);
  const Shape &a = m.array(0), &b = m.array(1);
  const bool fits =
      a.rank() >= 2 && a.rank() == b.rank() && m.rows() == m.columns() &&
      m.rows() == (options.left ? m.rows(1) : m.columns(1)) &&
      std::ranges::equal(a.dimensions().first(a.rank() - 2), b.dimensions().first(b.rank() - 2));
  if (!fits) return Unsupported(call, "its matrices have incompatible shapes");
  Expansion x(call);
  const auto arrays = ArrayOperands(call);
  const hlo::ElementType wide = WideType(b.element_type());
  Node right = x.Convert(x.Operand(arrays[1]), wide);
  if (const auto alpha = FindAlpha(call)) {
    right = x.Binary(Opcode::kMultiply, right, x.Convert(x.Operand(*alpha), wide));
  }
  const Node operands[] = {x.Convert(x.Operand(arrays[0]), wide), right};
  const hlo::Attribute attributes[] = {
      x.builder().MakeBool(AttributeKey::kLeftSide, options.left),
      x.builder().MakeBool(AttributeKey::kLower, options.lower),
      x.builder().MakeEnum(AttributeKey::kTransposeA, static_cast<int32_t>(options.transpose)),
      x.builder().MakeBool(AttributeKey::kUnitDiagonal, options.unit)};
  const Node solved = x.Add(Opcode::kTriangularSolve, x.ShapeOf(right), operands, attributes);
  return x.Run(x.Convert(solved, b.element_type()));
}

namespace {

// Gaussian elimination with exchanges of neighbouring rows, as gtsv does it; the diagonals are
// overwritten. False where the matrix is singular.
template <typename T>
bool SolveTridiagonal(int64_t n, std::vector<T> lower, std::vector<T> diagonal,
                      std::vector<T> upper, T* b, int64_t columns) {
  std::vector<T> second(static_cast<size_t>(n), T{});  // fill-in two above the diagonal
  auto at = [](std::vector<T>& v, int64_t i) -> T& { return v[static_cast<size_t>(i)]; };
  for (int64_t i = 0; i + 1 < n; ++i) {
    T &d = at(diagonal, i), &u = at(upper, i), &l = at(lower, i + 1);
    T& next = at(diagonal, i + 1);
    if (std::abs(d) < std::abs(l)) {
      std::swap(d, l);
      std::swap(u, next);
      if (i + 2 < n) std::swap(at(second, i), at(upper, i + 1));
      for (int64_t c = 0; c < columns; ++c) std::swap(b[c * n + i], b[c * n + i + 1]);
    }
    if (d == T{}) return false;
    const T factor = l / d;
    next -= factor * u;
    if (i + 2 < n) at(upper, i + 1) -= factor * at(second, i);
    for (int64_t c = 0; c < columns; ++c) b[c * n + i + 1] -= factor * b[c * n + i];
  }
  if (n > 0 && at(diagonal, n - 1) == T{}) return false;
  for (int64_t c = 0; c < columns; ++c) {
    for (int64_t i = n - 1; i >= 0; --i) {
      T sum = b[c * n + i];
      if (i + 1 < n) sum -= at(upper, i) * b[c * n + i + 1];
      if (i + 2 < n) sum -= at(second, i) * b[c * n + i + 2];
      b[c * n + i] = sum / at(diagonal, i);
    }
  }
  return true;
}

template <typename T>
Result<Value> TridiagonalSolution(const MatrixCall& m) {
  Machine& machine = m.call().machine;
  const Shape& right = m.array(3);
  const int64_t n = m.rows(3), columns = m.columns(3);
  for (size_t i = 0; i < 3; ++i) {
    if (right.rank() < 2 || ElementCount(m.array(i)) * columns != ElementCount(right) ||
        m.columns(i) != n) {
      return Unsupported(m.call(), "its diagonals do not match its right-hand side");
    }
  }
  std::vector<Matrices<T>> diagonals;
  for (size_t i = 0; i < 3; ++i) {
    HLOSCOPE_ASSIGN_OR_RETURN(auto diagonal, Matrices<T>::Load(machine, m.operand(i), true));
    diagonals.push_back(std::move(diagonal));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(auto b, Matrices<T>::Load(machine, m.operand(3)));
  const int64_t count = n * columns == 0 ? 0 : ElementCount(right) / (n * columns);
  std::vector<int> infos;
  for (int64_t i = 0; i < count; ++i) {
    std::vector<std::vector<T>> d;
    for (const auto& diagonal : diagonals) d.emplace_back(diagonal.at(i), diagonal.at(i) + n);
    infos.push_back(SolveTridiagonal<T>(n, d[0], d[1], d[2], b.at(i), columns) ? 0 : 1);
  }
  // lapack's calls give back the diagonals too, which nobody uses once they are overwritten.
  const bool lapack = m.call().shape().IsTuple() && m.call().shape().elements().size() >= 5;
  if (!lapack) {
    HLOSCOPE_ASSIGN_OR_RETURN(Value solution, b.Store(machine, MainShape(m.call())));
    return DeliverMatrices(m, {std::move(solution)});
  }
  const auto shapes = m.call().shape().elements();
  std::vector<Value> results;
  for (size_t i = 0; i < 3; ++i) {
    HLOSCOPE_ASSIGN_OR_RETURN(Value diagonal, diagonals[i].Store(machine, shapes[i]));
    results.push_back(std::move(diagonal));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(Value solution, b.Store(machine, shapes[3]));
  HLOSCOPE_ASSIGN_OR_RETURN(Value info, Infos(m, infos, shapes[4]));
  results.push_back(std::move(solution));
  results.push_back(std::move(info));
  return DeliverMatrices(m, std::move(results));
}

}  // namespace

// Diagonals below, on and above, each as long as the matrix has rows, and the right side.
Result<Value> TridiagonalSolveCall(KernelCall& call) {
  HLOSCOPE_ASSIGN_OR_RETURN(const MatrixCall m, MatrixCall::Of(call, 4));
  return m.is_complex() ? TridiagonalSolution<Complex>(m) : TridiagonalSolution<double>(m);
}

// Row i was swapped with row pivots[i], counting from 0; what permutation that makes.
Result<Value> PivotsToPermutationCall(KernelCall& call) {
  if (call.operands.empty() || call.operand_shape(0).rank() == 0 || !call.shape().IsArray() ||
      call.shape().rank() == 0) {
    return Unsupported(call, "it has no pivots");
  }
  const Shape& in = call.operand_shape(0);
  const int64_t pivots = in.dimension(in.rank() - 1);
  const int64_t size = call.shape().dimension(call.shape().rank() - 1);
  const int64_t batch = pivots == 0 ? 0 : ElementCount(in) / pivots;
  if (pivots > size || (pivots != 0 && ElementCount(call.shape()) != batch * size)) {
    return Unsupported(call, "its permutation does not match its pivots");
  }
  const std::vector<int64_t> swaps = ReadIndices(call.operands[0]);
  std::vector<int64_t> all(static_cast<size_t>(ElementCount(call.shape())));
  for (size_t k = 0; k < all.size(); ++k)
    all[k] = static_cast<int64_t>(k) % std::max<int64_t>(size, 1);
  for (int64_t i = 0; i < batch; ++i) {
    const auto permutation = std::span(all).subspan(static_cast<size_t>(i * size));
    for (int64_t k = 0; k < pivots; ++k) {
      const int64_t with = swaps[static_cast<size_t>(i * pivots + k)];
      if (with < 0 || with >= size) continue;  // nothing is read out of range
      std::swap(permutation[static_cast<size_t>(k)], permutation[static_cast<size_t>(with)]);
    }
  }
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer out, call.machine.Allocate(call.shape()));
  StoreFrom<int64_t>(call.shape().element_type(), all.data(), out.data(),
                     static_cast<int64_t>(all.size()));
  return Value::Array(call.shape(), std::move(out));
}

// alpha·a·aᵀ + beta·c (alpha·aᵀ·a where it is transposed); the factors are the last operands.
Result<Value> SymmetricProductCall(KernelCall& call) {
  HLOSCOPE_ASSIGN_OR_RETURN(const MatrixCall m, MatrixCall::Of(call, 2));
  const Shape &a = m.array(0), &c = m.array(1);
  const bool transposed = m.IsSet("transpose", false);
  const auto rank = static_cast<int64_t>(a.rank());
  if (call.operands.size() != 4 || rank < 2 || c.rank() != a.rank() ||
      call.operand_shape(2).rank() != 0 || call.operand_shape(3).rank() != 0 ||
      m.rows(1) != m.columns(1) || m.rows(1) != (transposed ? m.columns() : m.rows())) {
    return Unsupported(call, "its matrices have incompatible shapes");
  }
  Expansion x(call);
  const hlo::ElementType wide = WideType(c.element_type());
  DotDimensions dims;
  for (int64_t d = 0; d + 2 < rank; ++d) dims.lhs_batch.push_back(d);
  dims.rhs_batch = dims.lhs_batch;
  dims.lhs_contracting = dims.rhs_contracting = {transposed ? rank - 2 : rank - 1};
  auto scaled = [&](Node value, size_t factor) {
    return x.Binary(Opcode::kMultiply, value, x.Convert(x.Operand(factor), wide));
  };
  const Node product = scaled(x.Dot(x.Operand(0), x.Operand(0), dims, wide), 2);
  const Node sum = x.Binary(Opcode::kAdd, product, scaled(x.Convert(x.Operand(1), wide), 3));
  return x.Run(x.Convert(sum, c.element_type()));
}

}  // namespace hloscope::eval
