// Kernels that move elements without changing them: broadcast, reshape, transpose, slice, pad,
// concatenate, reverse, iota, bitcast.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/eval/loops/whole_arrays.h"
#include "core/eval/machine/kernels.h"
#include "core/eval/machine/strided_copy.h"

namespace hloscope::eval {
namespace {

using hlo::AttributeKey;
using hlo::Shape;

int ElementBytes(const Shape& shape) { return hlo::StorageBytes(shape.element_type()); }

// The result is `in` read from `offset` with these strides, one per dimension of the result.
Result<Value> ReadStrided(KernelCall& call, const Value& in, int64_t offset,
                          std::span<const int64_t> in_strides) {
  const Shape& shape = call.shape();
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer buffer, call.machine.Allocate(shape));
  const StridedCopy copy(shape.dimensions(), in_strides, RowMajorStrides(shape.dimensions()),
                         ElementBytes(shape));
  if (buffer.size != 0) {
    HLOSCOPE_TRY(copy.Run(call.machine, in.data() + offset * ElementBytes(shape), buffer.data()));
  }
  return Value::Array(shape, std::move(buffer));
}

// The order in which a layout keeps elements, as a permutation of the dimensions, outermost first.
std::vector<int64_t> PhysicalOrder(const Shape& shape) {
  std::vector<int64_t> order(shape.rank());
  std::iota(order.begin(), order.end(), 0);
  if (!shape.has_layout() || shape.layout().minor_to_major.size() != shape.rank()) return order;
  const auto& minor_to_major = shape.layout().minor_to_major;
  return {minor_to_major.rbegin(), minor_to_major.rend()};
}

std::vector<int64_t> Permuted(std::span<const int64_t> values, std::span<const int64_t> order) {
  std::vector<int64_t> out;
  for (int64_t d : order) out.push_back(values[static_cast<size_t>(d)]);
  return out;
}

bool IsIdentity(std::span<const int64_t> order) { return std::ranges::is_sorted(order); }

}  // namespace

Result<Value> BroadcastKernel(KernelCall& call) {
  const auto dimensions = call.module().GetInts(call.instruction(), AttributeKey::kDimensions);
  const auto strides = RowMajorStrides(call.operand_shape(0).dimensions());
  std::vector<int64_t> in_strides(call.shape().rank(), 0);
  for (size_t i = 0; i < dimensions.size(); ++i) {
    in_strides[static_cast<size_t>(dimensions[i])] = strides[i];
  }
  return ReadStrided(call, call.operands[0], 0, in_strides);
}

Result<Value> ReshapeKernel(KernelCall& call) { return call.operands[0].WithShape(call.shape()); }

Result<Value> TransposeKernel(KernelCall& call) {
  const auto dimensions = call.module().GetInts(call.instruction(), AttributeKey::kDimensions);
  const auto strides = RowMajorStrides(call.operand_shape(0).dimensions());
  return ReadStrided(call, call.operands[0], 0, Permuted(strides, dimensions));
}

Result<Value> ReverseKernel(KernelCall& call) {
  auto strides = RowMajorStrides(call.operand_shape(0).dimensions());
  int64_t offset = 0;
  for (int64_t d : call.module().GetInts(call.instruction(), AttributeKey::kDimensions)) {
    int64_t& stride = strides[static_cast<size_t>(d)];
    offset += stride * (call.shape().dimension(static_cast<size_t>(d)) - 1);
    stride = -stride;
  }
  return ReadStrided(call, call.operands[0], offset, strides);
}

Result<Value> SliceKernel(KernelCall& call) {
  const auto slices = call.module().GetInts(call.instruction(), AttributeKey::kSlice);
  auto strides = RowMajorStrides(call.operand_shape(0).dimensions());
  int64_t offset = 0;
  for (size_t d = 0; d < strides.size(); ++d) {
    offset += slices[3 * d] * strides[d];
    strides[d] *= slices[3 * d + 2];
  }
  return ReadStrided(call, call.operands[0], offset, strides);
}

Result<Value> PadKernel(KernelCall& call) {
  const auto padding = call.module().GetInts(call.instruction(), AttributeKey::kPadding);
  const Shape& in = call.operand_shape(0);
  const Shape& shape = call.shape();
  const auto bytes = static_cast<int64_t>(ElementBytes(shape));
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer buffer, call.machine.Allocate(shape));
  const std::vector<int64_t> zeros(shape.rank(), 0);
  const auto dense = RowMajorStrides(shape.dimensions());
  HLOSCOPE_TRY(StridedCopy(shape.dimensions(), zeros, dense, ElementBytes(shape))
                   .Run(call.machine, call.operands[1].data(), buffer.data()));
  // Element i of the operand lands at low + i·(interior + 1); those that land outside are dropped.
  const auto in_strides = RowMajorStrides(in.dimensions());
  std::vector<int64_t> sizes(shape.rank()), out_strides(shape.rank());
  int64_t in_offset = 0, out_offset = 0;
  for (size_t d = 0; d < shape.rank(); ++d) {
    const int64_t low = padding[3 * d], step = padding[3 * d + 2] + 1;
    const int64_t first = low >= 0 ? 0 : (-low + step - 1) / step;
    const int64_t room = shape.dimension(d) - 1 - low;
    const int64_t last = std::min(in.dimension(d) - 1, room < 0 ? -1 : room / step);
    sizes[d] = std::max<int64_t>(0, last - first + 1);
    in_offset += first * in_strides[d];
    out_offset += (low + first * step) * dense[d];
    out_strides[d] = step * dense[d];
  }
  if (std::ranges::find(sizes, 0) == sizes.end()) {
    HLOSCOPE_TRY(StridedCopy(sizes, in_strides, out_strides, ElementBytes(shape))
                     .Run(call.machine, call.operands[0].data() + in_offset * bytes,
                          buffer.data() + out_offset * bytes));
  }
  return Value::Array(shape, std::move(buffer));
}

Result<Value> ConcatenateKernel(KernelCall& call) {
  const auto dimensions = call.module().GetInts(call.instruction(), AttributeKey::kDimensions);
  const auto d = static_cast<size_t>(dimensions[0]);
  const Shape& shape = call.shape();
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer buffer, call.machine.Allocate(shape));
  const auto out_strides = RowMajorStrides(shape.dimensions());
  int64_t offset = 0;
  for (const Value& operand : call.operands) {
    const Shape& in = operand.shape();
    HLOSCOPE_TRY(
        StridedCopy(in.dimensions(), RowMajorStrides(in.dimensions()), out_strides,
                    ElementBytes(shape))
            .Run(call.machine, operand.data(), buffer.data() + offset * ElementBytes(shape)));
    offset += in.dimension(d) * out_strides[d];
  }
  return Value::Array(shape, std::move(buffer));
}

Result<Value> IotaKernel(KernelCall& call) {
  const Shape& shape = call.shape();
  const auto d =
      static_cast<size_t>(call.module().GetInt(call.instruction(), AttributeKey::kIotaDimension));
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer buffer, call.machine.Allocate(shape));
  if (buffer.size == 0) return Value::Array(shape, std::move(buffer));
  const int64_t count = shape.dimension(d);
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer row, call.machine.Allocate(count * ElementBytes(shape)));
  std::vector<int64_t> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  HLOSCOPE_TRY(
      StoreAll<int64_t>(call.machine, shape.element_type(), numbers.data(), row.data(), count));
  if (row.size == buffer.size) return Value::Array(shape, std::move(row));
  std::vector<int64_t> in_strides(shape.rank(), 0);
  in_strides[d] = 1;
  HLOSCOPE_TRY(StridedCopy(shape.dimensions(), in_strides, RowMajorStrides(shape.dimensions()),
                           ElementBytes(shape))
                   .Run(call.machine, row.data(), buffer.data()));
  return Value::Array(shape, std::move(buffer));
}

// A bitcast keeps the bytes as the layouts lay them out, so it is a transposition to the operand's
// physical order, and one back from the result's.
Result<Value> BitcastKernel(KernelCall& call) {
  const Shape& from = call.operand_shape(0);
  const Shape& to = call.shape();
  // Entry parameters and constants may come without their layout; the instruction has it.
  const Shape& declared = call.module().shape(call.module().operands(call.id)[0]);
  const auto from_order = PhysicalOrder(declared), to_order = PhysicalOrder(to);
  if (from.ByteSize() != to.ByteSize()) {
    return Unsupported(call, "operand and result differ in size");
  }
  Value physical = call.operands[0];
  if (!IsIdentity(from_order)) {
    const auto sizes = Permuted(from.dimensions(), from_order);
    HLOSCOPE_ASSIGN_OR_RETURN(Buffer buffer, call.machine.Allocate(from));
    HLOSCOPE_TRY(StridedCopy(sizes, Permuted(RowMajorStrides(from.dimensions()), from_order),
                             RowMajorStrides(sizes), ElementBytes(from))
                     .Run(call.machine, physical.data(), buffer.data()));
    physical = Value::Array(Shape::Array(from.element_type(), sizes), std::move(buffer));
  }
  if (IsIdentity(to_order)) return physical.WithShape(to);
  const auto sizes = Permuted(to.dimensions(), to_order);
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer buffer, call.machine.Allocate(to));
  HLOSCOPE_TRY(StridedCopy(sizes, RowMajorStrides(sizes),
                           Permuted(RowMajorStrides(to.dimensions()), to_order), ElementBytes(to))
                   .Run(call.machine, physical.data(), buffer.data()));
  return Value::Array(to, std::move(buffer));
}

}  // namespace hloscope::eval
