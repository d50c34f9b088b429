// Blocks are one strided copy each.
#include "core/eval/loops/blocks.h"

#include <algorithm>

#include "core/eval/machine/indices.h"
#include "core/eval/machine/strided_copy.h"

namespace hloscope::eval {

void CopyBlock(std::span<const int64_t> sizes, int element_bytes, const BlockPlace& from,
               const std::byte* in, const BlockPlace& to, std::byte* out) {
  const auto in_strides = RowMajorStrides(from.dimensions);
  const auto out_strides = RowMajorStrides(to.dimensions);
  StridedCopy(sizes, in_strides, out_strides, element_bytes)
      .Run(in + Offset(from.start, in_strides) * element_bytes,
           out + Offset(to.start, out_strides) * element_bytes);
}

Result<Value> SliceOf(KernelCall& call, const Value& array, size_t dimension, int64_t start,
                      int64_t size) {
  std::vector<int64_t> sizes = Dimensions(array.shape()), from(sizes.size(), 0);
  const std::vector<int64_t> zero(sizes.size(), 0);
  sizes[dimension] = size;
  from[dimension] = start;
  hlo::Shape shape = hlo::Shape::Array(array.shape().element_type(), sizes);
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer buffer, call.machine.Allocate(shape));
  CopyBlock(sizes, hlo::StorageBytes(shape.element_type()), {array.shape().dimensions(), from},
            array.data(), {sizes, zero}, buffer.data());
  return Value::Array(std::move(shape), std::move(buffer));
}

Result<Value> Joined(KernelCall& call, std::span<const Value> arrays, size_t dimension,
                     const hlo::Shape& shape) {
  int64_t filled = 0;
  for (const Value& array : arrays) {
    bool fits = array.is_array() && array.shape().rank() == shape.rank() &&
                array.shape().element_type() == shape.element_type() && dimension < shape.rank();
    for (size_t d = 0; fits && d < shape.rank(); ++d) {
      fits = d == dimension || array.shape().dimension(d) == shape.dimension(d);
    }
    if (!fits) return Unsupported(call, "the operands of its devices do not match its shape");
    filled += array.shape().dimension(dimension);
  }
  if (filled != shape.dimension(dimension)) {
    return Unsupported(call, "the operands of its devices do not fill its shape");
  }
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer buffer, call.machine.Allocate(shape));
  std::vector<int64_t> to(shape.rank(), 0);
  const std::vector<int64_t> zero(shape.rank(), 0);
  for (const Value& array : arrays) {
    CopyBlock(array.shape().dimensions(), hlo::StorageBytes(shape.element_type()),
              {array.shape().dimensions(), zero}, array.data(), {shape.dimensions(), to},
              buffer.data());
    to[dimension] += array.shape().dimension(dimension);
  }
  return Value::Array(shape, std::move(buffer));
}

Result<Value> Zeros(KernelCall& call, const hlo::Shape& shape) {
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer buffer, call.machine.Allocate(shape));
  std::fill_n(buffer.data(), buffer.size, std::byte{0});
  return Value::Array(shape, std::move(buffer));
}

}  // namespace hloscope::eval
