// Kernels of cholesky and triangular-solve: textbook substitution in f64 (or complex f64), rounded
// once. Only the triangle that is asked for is read.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/eval/kernels/contraction.h"
#include "core/eval/loops/whole_arrays.h"
#include "core/eval/machine/kernels.h"

namespace hloscope::eval {
namespace {

using hlo::AttributeKey;
using hlo::Shape;
using hlo::TransposeA;

constexpr int64_t kGrain = 1 << 21;  // multiplications
constexpr int64_t kVectors = 64;     // that are solved side by side

double Conjugate(double x) { return x; }
Complex Conjugate(Complex x) { return std::conj(x); }
double RealOf(double x) { return x; }
double RealOf(Complex x) { return x.real(); }

template <typename A>
class Matrix {
 public:
  Matrix(A* data, int64_t columns) : data_(data), columns_(columns) {}
  A& operator()(int64_t row, int64_t column) { return data_[row * columns_ + column]; }
  A operator()(int64_t row, int64_t column) const { return data_[row * columns_ + column]; }

 private:
  A* data_;
  int64_t columns_;
};

// L of A = L·Lᴴ in place, zeros above; NaN throughout where A is not positive definite. With
// `lower` false the upper triangle holds A, and L is made from its conjugate transpose.
template <typename A>
void Factor(Matrix<A> a, int64_t n, bool lower) {
  if (!lower) {
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < i; ++j) a(i, j) = Conjugate(a(j, i));
    }
  }
  bool positive = true;
  for (int64_t j = 0; j < n; ++j) {
    double pivot = RealOf(a(j, j));
    for (int64_t k = 0; k < j; ++k) pivot -= RealOf(a(j, k) * Conjugate(a(j, k)));
    positive &= pivot > 0;
    const double root = std::sqrt(pivot);
    a(j, j) = root;
    for (int64_t i = j + 1; i < n; ++i) {
      A sum = a(i, j);
      for (int64_t k = 0; k < j; ++k) sum -= a(i, k) * Conjugate(a(j, k));
      a(i, j) = sum / root;
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      if (!positive) a(i, j) = std::numeric_limits<double>::quiet_NaN();
      if (positive && j > i) a(i, j) = lower ? A{} : Conjugate(a(j, i));
    }
  }
  if (lower || !positive) return;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < i; ++j) a(i, j) = A{};
  }
}

template <typename A>
Result<Value> Cholesky(KernelCall& call) {
  const Shape& shape = call.shape();
  const int64_t n = shape.dimension(shape.rank() - 1), count = ElementCount(shape);
  const bool lower = call.module().GetBool(call.instruction(), AttributeKey::kLower);
  HLOSCOPE_ASSIGN_OR_RETURN(const Buffer work,
                            call.machine.Allocate(count * static_cast<int64_t>(sizeof(A))));
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer out, call.machine.Allocate(shape));
  HLOSCOPE_TRY(
      LoadAll<A>(call.machine, shape.element_type(), call.operands[0].data(), work.as<A>(), count));
  const int64_t matrices = n == 0 ? 0 : count / (n * n);
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, n * n * n / 3));
  HLOSCOPE_TRY(call.machine.ForRanges(matrices, grain, [&](IndexRange range) -> Status {
    for (int64_t i = range.begin; i < range.end; ++i) {
      Factor(Matrix<A>(work.as<A>() + i * n * n, n), n, lower);
    }
    return {};
  }));
  HLOSCOPE_TRY(StoreAll<A>(call.machine, shape.element_type(), work.as<A>(), out.data(), count));
  return Value::Array(shape, std::move(out));
}

struct SolveOptions {
  bool left, lower, unit;
  TransposeA transpose;
};

// Solves op(T)·x = b for `width` vectors side by side, in place; element k of vector v is
// x[k·stride + v]. op(T) is lower triangular if `forward`.
template <typename A, typename Element>
void Substitute(int64_t n, bool forward, bool unit, Element t, A* x, int64_t stride,
                int64_t width) {
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = forward ? step : n - 1 - step;
    A* to = x + i * stride;
    const int64_t begin = forward ? 0 : i + 1, end = forward ? i : n;
    for (int64_t k = begin; k < end; ++k) {
      const A factor = t(i, k);
      const A* from = x + k * stride;
      for (int64_t v = 0; v < width; ++v) to[v] -= factor * from[v];
    }
    if (unit) continue;
    const A pivot = t(i, i);
    for (int64_t v = 0; v < width; ++v) to[v] = to[v] / pivot;
  }
}

// Vectors [begin, end) of one system: columns of b, or rows where T is on the right.
template <typename A>
void SolveSome(const SolveOptions& how, const Matrix<A> t, int64_t n, A* b, int64_t columns,
               IndexRange vectors) {
  // x·op(T) = b is op(T)ᵀ·xᵀ = bᵀ: one more transposition, and vectors along the rows.
  const bool transposed =
      how.transpose == TransposeA::kTranspose || how.transpose == TransposeA::kAdjoint;
  const bool conjugate = how.transpose == TransposeA::kAdjoint;
  const bool swap = transposed == how.left;
  auto element = [&](int64_t i, int64_t k) {
    const A value = swap ? t(k, i) : t(i, k);
    return conjugate ? Conjugate(value) : value;
  };
  const bool forward = how.lower != swap;
  const int64_t width = vectors.end - vectors.begin;
  if (how.left) {
    Substitute(n, forward, how.unit, element, b + vectors.begin, columns, width);
    return;
  }
  std::vector<A> turned(static_cast<size_t>(n * width));
  auto at = [&](int64_t k, int64_t v) -> A& { return turned[static_cast<size_t>(k * width + v)]; };
  A* rows = b + vectors.begin * columns;
  for (int64_t v = 0; v < width; ++v) {
    for (int64_t k = 0; k < n; ++k) at(k, v) = rows[v * columns + k];
  }
  Substitute(n, forward, how.unit, element, turned.data(), width, width);
  for (int64_t v = 0; v < width; ++v) {
    for (int64_t k = 0; k < n; ++k) rows[v * columns + k] = at(k, v);
  }
}

template <typename A>
Result<Value> TriangularSolve(KernelCall& call) {
  const auto& instruction = call.instruction();
  const hlo::Module& module = call.module();
  const SolveOptions how{
      module.GetBool(instruction, AttributeKey::kLeftSide),
      module.GetBool(instruction, AttributeKey::kLower),
      module.GetBool(instruction, AttributeKey::kUnitDiagonal),
      static_cast<TransposeA>(module.GetInt(instruction, AttributeKey::kTransposeA))};
  const Shape& a = call.operand_shape(0);
  const Shape& shape = call.shape();
  const int64_t n = a.dimension(a.rank() - 1), count = ElementCount(shape);
  const int64_t rows = shape.dimension(shape.rank() - 2);
  const int64_t columns = shape.dimension(shape.rank() - 1);
  const auto element = static_cast<int64_t>(sizeof(A));
  HLOSCOPE_ASSIGN_OR_RETURN(const Buffer t, call.machine.Allocate(ElementCount(a) * element));
  HLOSCOPE_ASSIGN_OR_RETURN(const Buffer b, call.machine.Allocate(count * element));
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer out, call.machine.Allocate(shape));
  HLOSCOPE_TRY(LoadAll<A>(call.machine, a.element_type(), call.operands[0].data(), t.as<A>(),
                          ElementCount(a)));
  HLOSCOPE_TRY(
      LoadAll<A>(call.machine, shape.element_type(), call.operands[1].data(), b.as<A>(), count));
  const int64_t vectors = how.left ? columns : rows;
  const int64_t blocks = (vectors + kVectors - 1) / kVectors;
  const int64_t systems = count == 0 ? 0 : count / (rows * columns);
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, n * n * kVectors / 2));
  HLOSCOPE_TRY(call.machine.ForRanges(systems * blocks, grain, [&](IndexRange range) -> Status {
    for (int64_t i = range.begin; i < range.end; ++i) {
      const int64_t system = i / blocks, begin = i % blocks * kVectors;
      SolveSome(how, Matrix<A>(t.as<A>() + system * n * n, n), n,
                b.as<A>() + system * rows * columns, columns,
                {begin, std::min(vectors, begin + kVectors)});
    }
    return {};
  }));
  HLOSCOPE_TRY(StoreAll<A>(call.machine, shape.element_type(), b.as<A>(), out.data(), count));
  return Value::Array(shape, std::move(out));
}

}  // namespace

Result<Value> CholeskyKernel(KernelCall& call) {
  return AccumulatorOf(call) == Accumulator::kComplex ? Cholesky<Complex>(call)
                                                      : Cholesky<double>(call);
}

Result<Value> TriangularSolveKernel(KernelCall& call) {
  return AccumulatorOf(call) == Accumulator::kComplex ? TriangularSolve<Complex>(call)
                                                      : TriangularSolve<double>(call);
}

}  // namespace hloscope::eval
