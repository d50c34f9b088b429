// MatrixCall: a custom call of a linear algebra library: its batch of matrices, whichever way its
// options come, and its results put where the caller looks for them.
#pragma once

#include <complex>
#include <optional>
#include <span>
#include <vector>

#include "core/eval/library_calls/call_config.h"
#include "core/eval/library_calls/lapack.h"
#include "core/eval/machine/machine.h"
#include "core/eval/numbers/wide.h"

namespace hloscope::eval {

// jaxlib has two kinds of these calls. Typed FFI calls (names ending in _ffi, and all newer GPU
// ones) have options as attributes; older ones have sizes and options as scalar operands in front
// of the arrays, and workspaces among the results.
class MatrixCall {
 public:
  // Unsupported where there are fewer than `arrays` array operands, or sizes LAPACK cannot count.
  static Result<MatrixCall> Of(KernelCall& call, size_t arrays);

  KernelCall& call() const { return *call_; }
  const CallConfig& config() const { return config_; }
  bool is_old() const { return is_old_; }
  bool is_complex() const { return hlo::IsComplex(array(0).element_type()); }

  // Array operand i, scalars left out.
  const Value& operand(size_t i) const { return *arrays_[i]; }
  const hlo::Shape& array(size_t i) const { return arrays_[i]->shape(); }
  int rows(size_t i = 0) const;
  int columns(size_t i = 0) const;
  int64_t batch() const { return batch_; }

  // An option: attribute `name`, or scalar operand `position` of an old call.
  int64_t Option(std::string_view name, size_t position, int64_t absent) const;
  // The triangle: uplo='L', or lower=true; scalar operand `position` of an old call.
  bool Lower(size_t position) const;
  bool IsSet(std::string_view name, bool absent) const { return config_.Flag(name, absent); }

 private:
  KernelCall* call_ = nullptr;
  CallConfig config_;
  bool is_old_ = false;
  std::vector<const Value*> arrays_;
  std::vector<int64_t> scalars_;  // of operands of rank 0, in order
  int64_t batch_ = 1;
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
