// MatrixCall: a custom call of a linear algebra library: its batch of matrices, and its results put
// where the caller looks for them.
#pragma once

#include <complex>
#include <span>
#include <vector>

#include "core/eval/library_calls/lapack.h"
#include "core/eval/machine/machine.h"
#include "core/eval/numbers/wide.h"
#include "core/hlo/expand/matrix_shapes.h"

namespace hloscope::eval {

class MatrixCall : public hlo::expand::MatrixShapes {
 public:
  // Unsupported where there are fewer than `arrays` array operands, or sizes LAPACK cannot count.
  static Result<MatrixCall> Of(KernelCall& call, size_t arrays);

  KernelCall& call() const { return *call_; }
  // Array operand i, scalars left out.
  const Value& operand(size_t i) const { return call_->operands[operand_of(i)]; }

 private:
  MatrixCall(KernelCall& call, MatrixShapes shapes)
      : MatrixShapes(std::move(shapes)), call_(&call) {}
  KernelCall* call_;
};

// `count` matrices in column-major order, one behind the other; a vector is one column.
template <typename T>
class Matrices {
 public:
  // Room for them, zeros.
  static Result<Matrices> Make(Machine& machine, int64_t count, int64_t rows, int64_t columns);
  // The matrices in the last two dimensions of an array; vectors of the last one.
  static Result<Matrices> Load(Machine& machine, const Value& value, bool vectors = false);

  T* at(int64_t i) { return data_ + i * rows_ * columns_; }
  const T* at(int64_t i) const { return data_ + i * rows_ * columns_; }
  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  // The first `rows` × `columns` of each as an array of `shape`; a conversion rounds once.
  Result<Value> Store(Machine& machine, const hlo::Shape& shape) const;

 private:
  Buffer buffer_;
  T* data_ = nullptr;
  int64_t count_ = 0, rows_ = 0, columns_ = 0;
};

// The call's value: results in the order of the newer calls, at the tuple indices `order` says;
// zeros elsewhere and behind. Without an order they stand in order.
Result<Value> DeliverMatrices(const MatrixCall& m, std::vector<Value> results,
                              std::span<const int> order = {});
// The shape of the result element that newer calls have at `index`, order applied.
Result<hlo::Shape> ResultShape(const MatrixCall& m, int index, std::span<const int> order = {});
// An s32 array of one number per matrix.
Result<Value> Infos(const MatrixCall& m, const std::vector<int>& infos, const hlo::Shape& shape);

}  // namespace hloscope::eval
