// Reading and writing batches of column-major matrices.
#include "core/eval/library_calls/matrix_call.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "core/eval/loops/blocks.h"
#include "core/eval/machine/indices.h"

namespace hloscope::eval {
namespace {

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
  const std::vector<std::optional<int64_t>> integers = IntegerScalars(call.operands);
  HLOSCOPE_ASSIGN_OR_RETURN(
      MatrixShapes shapes,
      MatrixShapes::Of(hlo::expand::CallSite(call.module(), call.id, integers), arrays));
  return MatrixCall(call, std::move(shapes));
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
