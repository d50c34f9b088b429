// Reading and writing batches of column-major matrices, and the options of linear algebra calls.
#include "core/eval/library_calls/matrix_call.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "core/eval/library_calls/expansion.h"
#include "core/eval/loops/blocks.h"
#include "core/eval/machine/indices.h"

namespace hloscope::eval {
namespace {

// LAPACK counts in 32 bits, and squares sizes for its workspaces.
constexpr int64_t kMaxRows = 1 << 14;

int64_t ProductOfFirst(const hlo::Shape& shape, size_t count) {
  int64_t product = 1;
  for (size_t d = 0; d < count; ++d) product *= shape.dimension(d);
  return product;
}

// The widest type of the same kind, in which elements are loaded and stored.
template <typename T>
using Wide = std::conditional_t<std::is_floating_point_v<T>, double, Complex>;

}  // namespace

Result<MatrixCall> MatrixCall::Of(KernelCall& call, size_t arrays) {
  MatrixCall m;
  m.call_ = &call;
  HLOSCOPE_ASSIGN_OR_RETURN(m.config_, CallConfig::Of(call));
  for (const Value& operand : call.operands) {
    if (!operand.is_array()) return Unsupported(call, "an operand is not an array");
    if (operand.shape().rank() != 0) {
      m.arrays_.push_back(&operand);
    } else if (!hlo::IsInteger(operand.shape().element_type())) {
      m.scalars_.push_back(0);
    } else {
      m.scalars_.push_back(ReadIndices(operand)[0]);
    }
  }
  m.is_old_ = !m.scalars_.empty() && m.config_.empty();
  if (m.arrays_.size() < arrays) return Unsupported(call, "operands are missing");
  const hlo::Shape& main = m.array(0);
  const hlo::ElementType type = main.element_type();
  if (!hlo::IsComplex(type) && !hlo::IsFloat(type)) {
    return Unsupported(call, "its matrices are neither real nor complex");
  }
  if (main.rank() >= 2) m.batch_ = ProductOfFirst(main, main.rank() - 2);
  for (const Value* operand : m.arrays_) {
    const hlo::Shape& shape = operand->shape();
    for (size_t d = shape.rank() > 2 ? shape.rank() - 2 : 0; d < shape.rank(); ++d) {
      if (shape.dimension(d) > kMaxRows) return Unsupported(call, "its matrices are too large");
    }
  }
  return m;
}

int MatrixCall::rows(size_t i) const {
  return array(i).rank() < 2 ? 1 : static_cast<int>(array(i).dimension(array(i).rank() - 2));
}

int MatrixCall::columns(size_t i) const {
  return static_cast<int>(array(i).dimension(array(i).rank() - 1));
}

int64_t MatrixCall::Option(std::string_view name, size_t position, int64_t absent) const {
  if (is_old_) return position < scalars_.size() ? scalars_[position] : absent;
  return config_.Integer(name, absent);
}

bool MatrixCall::Lower(size_t position) const {
  if (is_old_) return Option("", position, 1) != 0;
  return IsLowerTriangle(config_);
}

template <typename T>
Result<Matrices<T>> Matrices<T>::Make(Machine& machine, int64_t count, int64_t rows,
                                      int64_t columns) {
  Matrices m;
  const auto bytes = static_cast<int64_t>(sizeof(T)) * count * rows * columns;
  HLOSCOPE_ASSIGN_OR_RETURN(m.buffer_, machine.Allocate(bytes));
  std::fill_n(m.buffer_.data(), m.buffer_.size, std::byte{0});
  m.data_ = m.buffer_.template as<T>();
  m.count_ = count;
  m.rows_ = rows;
  m.columns_ = columns;
  return m;
}

template <typename T>
Result<Matrices<T>> Matrices<T>::Load(Machine& machine, const Value& value, bool vectors) {
  const hlo::Shape& shape = value.shape();
  const size_t inner = vectors ? 1 : 2;
  const int64_t rows = shape.dimension(shape.rank() - inner);
  const int64_t columns = vectors ? 1 : shape.dimension(shape.rank() - 1);
  const int64_t count = ProductOfFirst(shape, shape.rank() - inner);
  HLOSCOPE_ASSIGN_OR_RETURN(Matrices m, Make(machine, count, rows, columns));
  std::vector<Wide<T>> row(static_cast<size_t>(columns));
  const int64_t bytes = hlo::StorageBytes(shape.element_type());
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t r = 0; r < rows; ++r) {
      LoadAs<Wide<T>>(shape.element_type(), value.data() + (i * rows + r) * columns * bytes,
                      row.data(), columns);
      for (int64_t c = 0; c < columns; ++c) {
        m.at(i)[c * rows + r] = static_cast<T>(row[static_cast<size_t>(c)]);
      }
    }
  }
  return m;
}

template <typename T>
Result<Value> Matrices<T>::Store(Machine& machine, const hlo::Shape& shape) const {
  if (shape.rank() < 2 && columns_ != 1) return UnsupportedError("a result is not a matrix");
  const bool vectors = columns_ == 1 && ElementCount(shape) == count_ * rows_;
  const int64_t width = vectors ? 1 : shape.rank() == 0 ? 0 : shape.dimension(shape.rank() - 1);
  const int64_t columns = std::min(columns_, width);
  const bool matrix = shape.rank() >= 2;
  const int64_t height = vectors || !matrix ? rows_ : shape.dimension(shape.rank() - 2);
  if (ElementCount(shape) != count_ * height * width) {
    return UnsupportedError("a result " + hlo::ToString(shape, false) +
                            " has a different number of matrices than the operand");
  }
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer out, machine.Allocate(shape));
  std::fill_n(out.data(), out.size, std::byte{0});
  const int64_t bytes = hlo::StorageBytes(shape.element_type());
  std::vector<Wide<T>> row(static_cast<size_t>(columns));
  for (int64_t i = 0; i < count_; ++i) {
    for (int64_t r = 0; r < std::min(rows_, height); ++r) {
      for (int64_t c = 0; c < columns; ++c) {
        row[static_cast<size_t>(c)] = static_cast<Wide<T>>(at(i)[c * rows_ + r]);
      }
      StoreFrom<Wide<T>>(shape.element_type(), row.data(),
                         out.data() + (i * height + r) * width * bytes, columns);
    }
  }
  return Value::Array(shape, std::move(out));
}

template class Matrices<float>;
template class Matrices<double>;
template class Matrices<std::complex<float>>;
template class Matrices<std::complex<double>>;

Result<Value> DeliverMatrices(const MatrixCall& m, std::vector<Value> results,
                              std::span<const int> order) {
  KernelCall& call = m.call();
  if (!call.shape().IsTuple()) return results[0];
  const auto shapes = call.shape().elements();
  std::vector<Value> elements;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const int from = i < order.size() ? order[i] : static_cast<int>(i);
    const bool there = (order.empty() || i < order.size()) && from >= 0 &&
                       static_cast<size_t>(from) < results.size();
    if (there) {
      elements.push_back(results[static_cast<size_t>(from)]);
    } else {
      HLOSCOPE_ASSIGN_OR_RETURN(Value zeros, Zeros(call, shapes[i]));
      elements.push_back(std::move(zeros));
    }
  }
  return Value::Tuple(std::move(elements));
}

Result<hlo::Shape> ResultShape(const MatrixCall& m, int index, std::span<const int> order) {
  const hlo::Shape& shape = m.call().shape();
  if (!shape.IsTuple() && index == 0) return shape;
  size_t at = static_cast<size_t>(index);
  if (!order.empty()) {
    at = static_cast<size_t>(std::ranges::find(order, index) - order.begin());
  }
  if (!shape.IsTuple() || at >= shape.elements().size() || !shape.elements()[at].IsArray()) {
    return Unsupported(m.call(), "a result is missing");
  }
  return shape.elements()[at];
}

Result<Value> Infos(const MatrixCall& m, const std::vector<int>& infos, const hlo::Shape& shape) {
  if (ElementCount(shape) != static_cast<int64_t>(infos.size())) {
    return Unsupported(m.call(), "it does not have one status per matrix");
  }
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer out, m.call().machine.Allocate(shape));
  const std::vector<int64_t> wide(infos.begin(), infos.end());
  StoreFrom<int64_t>(shape.element_type(), wide.data(), out.data(),
                     static_cast<int64_t>(wide.size()));
  return Value::Array(shape, std::move(out));
}

}  // namespace hloscope::eval
