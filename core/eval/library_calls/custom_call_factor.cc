// Custom calls of LAPACK and cuSOLVER that factor a matrix in one way only (LU, Cholesky, QR,
// Hessenberg, tridiagonal): computed in f64 and rounded once.
#include <algorithm>
#include <complex>

#include "core/eval/library_calls/custom_calls.h"
#include "core/eval/library_calls/matrix_call.h"

namespace hloscope::eval {
namespace {

// Runs the routine for f64 or c128, whichever the first array is of.
Result<Value> ByKind(KernelCall& call, size_t arrays, Result<Value> (*real)(const MatrixCall&),
                     Result<Value> (*complex)(const MatrixCall&)) {
  HLOSCOPE_ASSIGN_OR_RETURN(const MatrixCall m, MatrixCall::Of(call, arrays));
  if (m.array(0).rank() < 2) return Unsupported(call, "its first operand is not a matrix");
  const int64_t n = std::max(m.rows(), m.columns());
  HLOSCOPE_TRY(call.machine.Charge(m.batch() * n * n * std::min(m.rows(), m.columns())));
  return m.is_complex() ? complex(m) : real(m);
}

bool IsSquare(const MatrixCall& m) { return m.rows() == m.columns(); }

// One integer per row or so, from a routine's counts.
Result<Value> StoreIntegers(const MatrixCall& m, const std::vector<int>& values,
                            const hlo::Shape& shape) {
  if (ElementCount(shape) != static_cast<int64_t>(values.size())) {
    return Unsupported(m.call(), "its pivots do not match its matrices");
  }
  return Infos(m, values, shape);
}

template <typename T>
Result<Value> Lu(const MatrixCall& m) {
  Machine& machine = m.call().machine;
  HLOSCOPE_ASSIGN_OR_RETURN(auto a, Matrices<T>::Load(machine, m.operand(0)));
  const int pivots_each = std::min(m.rows(), m.columns());
  std::vector<int> pivots(static_cast<size_t>(m.batch() * pivots_each)), infos;
  for (int64_t i = 0; i < m.batch(); ++i) {
    infos.push_back(
        lapack::Getrf<T>(m.rows(), m.columns(), a.at(i), pivots.data() + i * pivots_each));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(const auto lu_shape, ResultShape(m, 0));
  HLOSCOPE_ASSIGN_OR_RETURN(const auto pivot_shape, ResultShape(m, 1));
  HLOSCOPE_ASSIGN_OR_RETURN(const auto info_shape, ResultShape(m, 2));
  HLOSCOPE_ASSIGN_OR_RETURN(Value lu, a.Store(machine, lu_shape));
  HLOSCOPE_ASSIGN_OR_RETURN(Value pivot, StoreIntegers(m, pivots, pivot_shape));
  HLOSCOPE_ASSIGN_OR_RETURN(Value info, Infos(m, infos, info_shape));
  return DeliverMatrices(m, {std::move(lu), std::move(pivot), std::move(info)});
}

template <typename T>
Result<Value> CholeskyFactor(const MatrixCall& m) {
  Machine& machine = m.call().machine;
  if (!IsSquare(m)) return Unsupported(m.call(), "its matrices are not square");
  HLOSCOPE_ASSIGN_OR_RETURN(auto a, Matrices<T>::Load(machine, m.operand(0)));
  const bool lower = m.Lower(0);
  std::vector<int> infos;
  for (int64_t i = 0; i < m.batch(); ++i) {
    infos.push_back(lapack::Potrf<T>(lower, m.rows(), a.at(i)));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(const auto shape, ResultShape(m, 0));
  HLOSCOPE_ASSIGN_OR_RETURN(const auto info_shape, ResultShape(m, 1));
  HLOSCOPE_ASSIGN_OR_RETURN(Value factor, a.Store(machine, shape));
  HLOSCOPE_ASSIGN_OR_RETURN(Value info, Infos(m, infos, info_shape));
  return DeliverMatrices(m, {std::move(factor), std::move(info)});
}

template <typename T>
Result<Value> Qr(const MatrixCall& m) {
  Machine& machine = m.call().machine;
  HLOSCOPE_ASSIGN_OR_RETURN(auto a, Matrices<T>::Load(machine, m.operand(0)));
  HLOSCOPE_ASSIGN_OR_RETURN(
      auto tau, Matrices<T>::Make(machine, m.batch(), std::min(m.rows(), m.columns()), 1));
  for (int64_t i = 0; i < m.batch(); ++i) {
    lapack::Geqrf<T>(m.rows(), m.columns(), a.at(i), tau.at(i));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(const auto a_shape, ResultShape(m, 0));
  HLOSCOPE_ASSIGN_OR_RETURN(const auto tau_shape, ResultShape(m, 1));
  HLOSCOPE_ASSIGN_OR_RETURN(Value vectors, a.Store(machine, a_shape));
  HLOSCOPE_ASSIGN_OR_RETURN(Value factors, tau.Store(machine, tau_shape));
  return DeliverMatrices(m, {std::move(vectors), std::move(factors)});
}

template <typename T>
Result<Value> PivotedQr(const MatrixCall& m) {
  Machine& machine = m.call().machine;
  HLOSCOPE_ASSIGN_OR_RETURN(auto a, Matrices<T>::Load(machine, m.operand(0)));
  const int each = m.columns();
  HLOSCOPE_ASSIGN_OR_RETURN(auto wanted, Matrices<double>::Load(machine, m.operand(1), true));
  if (ElementCount(m.array(1)) != m.batch() * each) {
    return Unsupported(m.call(), "its pivots do not match its matrices");
  }
  std::vector<int> pivots;
  for (int64_t k = 0; k < m.batch() * each; ++k) {
    pivots.push_back(wanted.at(0)[k] == 0 ? 0 : 1);
  }
  HLOSCOPE_ASSIGN_OR_RETURN(
      auto tau, Matrices<T>::Make(machine, m.batch(), std::min(m.rows(), m.columns()), 1));
  for (int64_t i = 0; i < m.batch(); ++i) {
    lapack::Geqp3<T>(m.rows(), m.columns(), a.at(i), pivots.data() + i * each, tau.at(i));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(const auto a_shape, ResultShape(m, 0));
  HLOSCOPE_ASSIGN_OR_RETURN(const auto pivot_shape, ResultShape(m, 1));
  HLOSCOPE_ASSIGN_OR_RETURN(const auto tau_shape, ResultShape(m, 2));
  HLOSCOPE_ASSIGN_OR_RETURN(Value vectors, a.Store(machine, a_shape));
  HLOSCOPE_ASSIGN_OR_RETURN(Value pivot, StoreIntegers(m, pivots, pivot_shape));
  HLOSCOPE_ASSIGN_OR_RETURN(Value factors, tau.Store(machine, tau_shape));
  return DeliverMatrices(m, {std::move(vectors), std::move(pivot), std::move(factors)});
}

// True if array 1 has a batch of at most `most` scalar factors for the matrices of array 0.
bool FactorsFit(const MatrixCall& m, int most) {
  const hlo::Shape& tau = m.array(1);
  return m.columns(1) <= most && ElementCount(tau) == m.batch() * m.columns(1);
}

template <typename T>
Result<Value> FormQ(const MatrixCall& m) {
  Machine& machine = m.call().machine;
  if (!FactorsFit(m, m.columns()) || m.columns() > m.rows()) {
    return Unsupported(m.call(), "its factors do not match its matrices");
  }
  HLOSCOPE_ASSIGN_OR_RETURN(auto a, Matrices<T>::Load(machine, m.operand(0)));
  HLOSCOPE_ASSIGN_OR_RETURN(const auto tau, Matrices<T>::Load(machine, m.operand(1), true));
  std::vector<int> infos;
  for (int64_t i = 0; i < m.batch(); ++i) {
    infos.push_back(lapack::Orgqr<T>(m.rows(), m.columns(), m.columns(1), a.at(i), tau.at(i)));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(const auto shape, ResultShape(m, 0));
  HLOSCOPE_ASSIGN_OR_RETURN(Value q, a.Store(machine, shape));
  return DeliverMatrices(m, {std::move(q)});
}

template <typename T>
Result<Value> ApplyQ(const MatrixCall& m) {
  Machine& machine = m.call().machine;
  const bool left = m.IsSet("left", true), adjoint = m.IsSet("transpose", false);
  const int length = left ? m.rows(2) : m.columns(2);
  if (m.rows() != length || !FactorsFit(m, std::min(m.columns(), length)) ||
      m.array(2).rank() != m.array(0).rank()) {
    return Unsupported(m.call(), "its factors do not match its matrices");
  }
  HLOSCOPE_ASSIGN_OR_RETURN(const auto a, Matrices<T>::Load(machine, m.operand(0)));
  HLOSCOPE_ASSIGN_OR_RETURN(const auto tau, Matrices<T>::Load(machine, m.operand(1), true));
  HLOSCOPE_ASSIGN_OR_RETURN(auto c, Matrices<T>::Load(machine, m.operand(2)));
  for (int64_t i = 0; i < m.batch(); ++i) {
    lapack::Ormqr<T>(left, adjoint, m.rows(2), m.columns(2), m.columns(1), a.at(i), tau.at(i),
                     c.at(i));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(const auto shape, ResultShape(m, 0));
  HLOSCOPE_ASSIGN_OR_RETURN(Value product, c.Store(machine, shape));
  return DeliverMatrices(m, {std::move(product)});
}

template <typename T>
Result<Value> Hessenberg(const MatrixCall& m) {
  Machine& machine = m.call().machine;
  if (!IsSquare(m)) return Unsupported(m.call(), "its matrices are not square");
  const int n = m.rows();
  const int64_t low = m.Option("low", 1, 1), high = m.Option("high", 2, n);
  if (low < 1 || high > n || (n > 0 && low > high)) {
    return Unsupported(m.call(), "its rows are out of range");
  }
  HLOSCOPE_ASSIGN_OR_RETURN(auto a, Matrices<T>::Load(machine, m.operand(0)));
  HLOSCOPE_ASSIGN_OR_RETURN(auto tau, Matrices<T>::Make(machine, m.batch(), std::max(n - 1, 0), 1));
  std::vector<int> infos;
  for (int64_t i = 0; i < m.batch(); ++i) {
    infos.push_back(
        lapack::Gehrd<T>(n, static_cast<int>(low), static_cast<int>(high), a.at(i), tau.at(i)));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(const auto a_shape, ResultShape(m, 0));
  HLOSCOPE_ASSIGN_OR_RETURN(const auto tau_shape, ResultShape(m, 1));
  HLOSCOPE_ASSIGN_OR_RETURN(const auto info_shape, ResultShape(m, 2));
  HLOSCOPE_ASSIGN_OR_RETURN(Value form, a.Store(machine, a_shape));
  HLOSCOPE_ASSIGN_OR_RETURN(Value factors, tau.Store(machine, tau_shape));
  HLOSCOPE_ASSIGN_OR_RETURN(Value info, Infos(m, infos, info_shape));
  return DeliverMatrices(m, {std::move(form), std::move(factors), std::move(info)});
}

template <typename T>
Result<Value> Tridiagonal(const MatrixCall& m) {
  Machine& machine = m.call().machine;
  if (!IsSquare(m)) return Unsupported(m.call(), "its matrices are not square");
  const int n = m.rows(), less = std::max(n - 1, 0);
  HLOSCOPE_ASSIGN_OR_RETURN(auto a, Matrices<T>::Load(machine, m.operand(0)));
  HLOSCOPE_ASSIGN_OR_RETURN(auto d, Matrices<double>::Make(machine, m.batch(), n, 1));
  HLOSCOPE_ASSIGN_OR_RETURN(auto e, Matrices<double>::Make(machine, m.batch(), less, 1));
  HLOSCOPE_ASSIGN_OR_RETURN(auto tau, Matrices<T>::Make(machine, m.batch(), less, 1));
  const bool lower = m.Lower(1);
  std::vector<int> infos;
  for (int64_t i = 0; i < m.batch(); ++i) {
    infos.push_back(lapack::Sytrd<T>(lower, n, a.at(i), d.at(i), e.at(i), tau.at(i)));
  }
  std::vector<hlo::Shape> shapes;
  for (int i = 0; i < 5; ++i) {
    HLOSCOPE_ASSIGN_OR_RETURN(hlo::Shape shape, ResultShape(m, i));
    shapes.push_back(std::move(shape));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(Value form, a.Store(machine, shapes[0]));
  HLOSCOPE_ASSIGN_OR_RETURN(Value diagonal, d.Store(machine, shapes[1]));
  HLOSCOPE_ASSIGN_OR_RETURN(Value off_diagonal, e.Store(machine, shapes[2]));
  HLOSCOPE_ASSIGN_OR_RETURN(Value factors, tau.Store(machine, shapes[3]));
  HLOSCOPE_ASSIGN_OR_RETURN(Value info, Infos(m, infos, shapes[4]));
  return DeliverMatrices(m, {std::move(form), std::move(diagonal), std::move(off_diagonal),
                             std::move(factors), std::move(info)});
}

}  // namespace

Result<Value> LuCall(KernelCall& call) { return ByKind(call, 1, Lu<double>, Lu<Complex>); }

Result<Value> CholeskyFactorCall(KernelCall& call) {
  return ByKind(call, 1, CholeskyFactor<double>, CholeskyFactor<Complex>);
}

Result<Value> QrCall(KernelCall& call) { return ByKind(call, 1, Qr<double>, Qr<Complex>); }

Result<Value> PivotedQrCall(KernelCall& call) {
  return ByKind(call, 2, PivotedQr<double>, PivotedQr<Complex>);
}

Result<Value> FormQCall(KernelCall& call) { return ByKind(call, 2, FormQ<double>, FormQ<Complex>); }

Result<Value> ApplyQCall(KernelCall& call) {
  return ByKind(call, 3, ApplyQ<double>, ApplyQ<Complex>);
}

Result<Value> HessenbergCall(KernelCall& call) {
  return ByKind(call, 1, Hessenberg<double>, Hessenberg<Complex>);
}

Result<Value> TridiagonalCall(KernelCall& call) {
  return ByKind(call, 1, Tridiagonal<double>, Tridiagonal<Complex>);
}

}  // namespace hloscope::eval
