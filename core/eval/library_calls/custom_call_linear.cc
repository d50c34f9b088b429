// Custom calls of linear algebra that are plain arithmetic: tridiagonal solves, permutations from
// pivots.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/eval/library_calls/custom_calls.h"
#include "core/eval/library_calls/matrix_call.h"
#include "core/eval/machine/indices.h"

namespace hloscope::eval {
namespace {

using hlo::Shape;

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
    HLOSCOPE_ASSIGN_OR_RETURN(Value solution, b.Store(machine, m.call().shape().results()[0]));
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

// Rows of a matrix in CSR: where each begins among the numbers, and the column of each number.
struct SparseRows {
  std::vector<int64_t> begins, columns;
};

template <typename T>
Result<Value> SparseProduct(KernelCall& call, const SparseRows& sparse, int64_t width) {
  const Shape &in = call.operand_shape(3), &shape = call.shape();
  const auto load = [&](size_t i) {
    std::vector<T> values(static_cast<size_t>(ElementCount(call.operand_shape(i))));
    LoadAs<T>(call.operand_shape(i).element_type(), call.operands[i].data(), values.data(),
              std::ssize(values));
    return values;
  };
  const std::vector<T> numbers = load(0), dense = load(3);
  std::vector<T> out(static_cast<size_t>(ElementCount(shape)));
  for (int64_t row = 0; row < shape.dimension(0); ++row) {
    const auto end = sparse.begins[static_cast<size_t>(row) + 1];
    for (int64_t k = sparse.begins[static_cast<size_t>(row)]; k < end; ++k) {
      const int64_t column = sparse.columns[static_cast<size_t>(k)];
      if (column < 0 || column >= in.dimension(0)) {
        return Unsupported(
            call, fmt::format("number {} is in column {} of {}", k, column, in.dimension(0)));
      }
      for (int64_t c = 0; c < width; ++c) {
        out[static_cast<size_t>(row * width + c)] +=
            numbers[static_cast<size_t>(k)] * dense[static_cast<size_t>(column * width + c)];
      }
    }
  }
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer buffer, call.machine.Allocate(shape));
  StoreFrom<T>(shape.element_type(), out.data(), buffer.data(), std::ssize(out));
  return Value::Array(shape, std::move(buffer));
}

}  // namespace

// The numbers of a matrix in CSR, where its rows begin, their columns, and a dense matrix or
// vector.
Result<Value> SparseDenseProductCall(KernelCall& call) {
  const auto is_array = [&](size_t i, size_t least, size_t most) {
    const Shape& shape = call.operand_shape(i);
    return shape.IsArray() && shape.rank() >= least && shape.rank() <= most;
  };
  const Shape& shape = call.shape();
  if (call.operands.size() != 4 || !is_array(0, 1, 1) || !is_array(1, 1, 1) || !is_array(2, 1, 1) ||
      !is_array(3, 1, 2) || !shape.IsArray() || shape.rank() != call.operand_shape(3).rank()) {
    return Unsupported(call, "it does not multiply a sparse matrix by a dense one");
  }
  const SparseRows sparse{ReadIndices(call.operands[1]), ReadIndices(call.operands[2])};
  const int64_t count = call.operand_shape(0).dimension(0);
  const int64_t width = shape.rank() == 2 ? shape.dimension(1) : 1;
  const bool is_fit = std::ssize(sparse.begins) == shape.dimension(0) + 1 &&
                      std::ssize(sparse.columns) == count &&
                      std::ranges::is_sorted(sparse.begins) && sparse.begins.front() >= 0 &&
                      sparse.begins.back() <= count &&
                      (shape.rank() == 1 || call.operand_shape(3).dimension(1) == width);
  if (!is_fit) return Unsupported(call, "its rows do not match its numbers");
  const hlo::ElementType type = shape.element_type();
  if (hlo::IsComplex(type)) return SparseProduct<Complex>(call, sparse, width);
  return hlo::IsFloat(type) ? SparseProduct<double>(call, sparse, width)
                            : SparseProduct<int64_t>(call, sparse, width);
}

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

}  // namespace hloscope::eval
