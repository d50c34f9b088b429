// The inner loops of dot and convolution, and their operands made ready.
#include "core/eval/kernels/contraction.h"

#include <algorithm>
#include <numeric>
#include <type_traits>

#include "core/eval/loops/whole_arrays.h"
#include "core/hlo/float_types.h"

namespace hloscope::eval {

using hlo::Shape;

Accumulator AccumulatorOf(const KernelCall& call) {
  bool is_float = hlo::IsFloat(call.shape().element_type());
  for (const Value& operand : call.operands) {
    const hlo::ElementType type = operand.shape().element_type();
    if (hlo::IsComplex(type) || hlo::IsComplex(call.shape().element_type())) {
      return Accumulator::kComplex;
    }
    is_float |= hlo::IsFloat(type);
  }
  return is_float ? Accumulator::kFloat : Accumulator::kInteger;
}

std::optional<hlo::ElementType> ProductRounding(const KernelCall& call) {
  const hlo::ElementType type = call.operand_shape(0).element_type();
  if (type != call.operand_shape(1).element_type()) return std::nullopt;
  return hlo::RoundedProduct(type, call.shape().element_type());
}

void RoundTo(hlo::ElementType type, std::span<double> values) {
  const auto count = static_cast<int64_t>(values.size());
  std::vector<std::byte> narrow(static_cast<size_t>(count * hlo::StorageBytes(type)));
  StoreFrom<double>(type, values.data(), narrow.data(), count);
  LoadAs<double>(type, narrow.data(), values.data(), count);
}

Result<Ordered> InOrder(KernelCall& call, size_t i, std::span<const int64_t> order) {
  const Value& in = call.operands[i];
  if (std::ranges::is_sorted(order)) return Ordered{{}, in.data()};
  const Shape& shape = in.shape();
  const auto strides = RowMajorStrides(shape.dimensions());
  std::vector<int64_t> sizes, in_strides;
  for (int64_t d : order) {
    sizes.push_back(shape.dimension(static_cast<size_t>(d)));
    in_strides.push_back(strides[static_cast<size_t>(d)]);
  }
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer buffer, call.machine.Allocate(shape));
  HLOSCOPE_TRY(StridedCopy(sizes, in_strides, RowMajorStrides(sizes),
                           hlo::StorageBytes(shape.element_type()))
                   .Run(call.machine, in.data(), buffer.data()));
  const std::byte* data = buffer.data();
  return Ordered{std::move(buffer), data};
}

template <typename A>
Result<Buffer> Arranged(KernelCall& call, size_t i, std::span<const int64_t> order) {
  const hlo::ElementType type = call.operand_shape(i).element_type();
  const int64_t count = ElementCount(call.operand_shape(i));
  HLOSCOPE_ASSIGN_OR_RETURN(const Ordered ordered, InOrder(call, i, order));
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer out,
                            call.machine.Allocate(count * static_cast<int64_t>(sizeof(A))));
  HLOSCOPE_TRY(LoadAll<A>(call.machine, type, ordered.data, out.as<A>(), count));
  return out;
}

namespace {

// a + x·y; integers modulo 2^64.
template <typename A>
A Accumulated(A a, A x, A y) {
  if constexpr (std::is_same_v<A, int64_t>) {
    return static_cast<A>(static_cast<uint64_t>(a) +
                          static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
  } else if constexpr (std::is_same_v<A, Complex>) {
    return {a.real() + (x.real() * y.real() - x.imag() * y.imag()),
            a.imag() + (x.real() * y.imag() + x.imag() * y.real())};
  } else {
    return a + x * y;
  }
}

}  // namespace

template <typename A>
void MultiplyAdd(A x, const A* row, int64_t columns, A* out) {
  for (int64_t c = 0; c < columns; ++c) out[c] = Accumulated(out[c], x, row[c]);
}

template <typename A>
void MultiplyAddEach(const A* x, const A* row, int64_t columns, A* out) {
  for (int64_t c = 0; c < columns; ++c) out[c] = Accumulated(out[c], x[c], row[c]);
}

template <typename A>
void MultiplyRows(const A* left, int64_t rows, int64_t depth, const A* right, int64_t columns,
                  A* out) {
  std::fill_n(out, rows * columns, A{});
  if (rows < kRowsAtOnce) {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t k = 0; k < depth; ++k) {
        MultiplyAdd(left[r * depth + k], right + k * columns, columns, out + r * columns);
      }
    }
    return;
  }
  // Four rows share each load of the right side; columns go in pieces that stay in the cache.
  constexpr int64_t kColumns = 256;
  for (int64_t begin = 0; begin < columns; begin += kColumns) {
    const int64_t end = std::min(begin + kColumns, columns);
    for (int64_t k = 0; k < depth; ++k) {
      const A* row = right + k * columns;
      const A x0 = left[k], x1 = left[depth + k];
      const A x2 = left[2 * depth + k], x3 = left[3 * depth + k];
      A *out1 = out + columns, *out2 = out1 + columns, *out3 = out2 + columns;
      for (int64_t c = begin; c < end; ++c) {
        const A y = row[c];
        out[c] = Accumulated(out[c], x0, y);
        out1[c] = Accumulated(out1[c], x1, y);
        out2[c] = Accumulated(out2[c], x2, y);
        out3[c] = Accumulated(out3[c], x3, y);
      }
    }
  }
}

#define INSTANTIATE(A)                                                                \
  template Result<Buffer> Arranged<A>(KernelCall&, size_t, std::span<const int64_t>); \
  template void MultiplyAdd<A>(A, const A*, int64_t, A*);                             \
  template void MultiplyAddEach<A>(const A*, const A*, int64_t, A*);                  \
  template void MultiplyRows<A>(const A*, int64_t, int64_t, const A*, int64_t, A*);
INSTANTIATE(int64_t)
INSTANTIATE(double)
INSTANTIATE(Complex)
#undef INSTANTIATE

}  // namespace hloscope::eval
