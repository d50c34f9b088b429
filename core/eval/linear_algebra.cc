// Kernels of cholesky and triangular-solve: textbook substitution in f64 (or complex f64), rounded
// once. Only the triangle that is asked for is read.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/eval/contraction.h"
#include "core/eval/kernels.h"

namespace hloscope::eval {
namespace {

using hlo::AttributeKey;
using hlo::Shape;
using hlo::TransposeA;

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
  LoadAs<A>(shape.element_type(), call.operands[0].data(), work.as<A>(), count);
  for (int64_t at = 0; at < count; at += n * n) Factor(Matrix<A>(work.as<A>() + at, n), n, lower);
  StoreFrom<A>(shape.element_type(), work.as<A>(), out.data(), count);
  return Value::Array(shape, std::move(out));
}

struct SolveOptions {
  bool left, lower, unit;
  TransposeA transpose;
};

// Solves op(T)·x = b for one vector x, in place; op(T) is lower triangular if `forward`.
template <typename A, typename Element>
void Substitute(int64_t n, bool forward, bool unit, Element t, A* x, int64_t stride) {
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = forward ? step : n - 1 - step;
    A sum = x[i * stride];
    const int64_t begin = forward ? 0 : i + 1, end = forward ? i : n;
    for (int64_t k = begin; k < end; ++k) sum -= t(i, k) * x[k * stride];
    x[i * stride] = unit ? sum : sum / t(i, i);
  }
}

template <typename A>
void SolveOne(const SolveOptions& how, const Matrix<A> t, int64_t n, A* b, int64_t rows,
              int64_t columns) {
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
  const int64_t vectors = how.left ? columns : rows;
  for (int64_t v = 0; v < vectors; ++v) {
    A* x = how.left ? b + v : b + v * columns;
    Substitute(n, forward, how.unit, element, x, how.left ? columns : 1);
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
  LoadAs<A>(a.element_type(), call.operands[0].data(), t.as<A>(), ElementCount(a));
  LoadAs<A>(shape.element_type(), call.operands[1].data(), b.as<A>(), count);
  for (int64_t i = 0; count != 0 && i < count / (rows * columns); ++i) {
    SolveOne(how, Matrix<A>(t.as<A>() + i * n * n, n), n, b.as<A>() + i * rows * columns, rows,
             columns);
  }
  StoreFrom<A>(shape.element_type(), b.as<A>(), out.data(), count);
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
