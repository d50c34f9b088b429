// Kernels whose place is an operand: dynamic-slice and dynamic-update-slice. Start indices are
// clamped so that the block lies inside.
#include <algorithm>
#include <cstring>
#include <limits>

#include "core/eval/machine/indices.h"
#include "core/eval/machine/kernels.h"
#include "core/eval/machine/strided_copy.h"

namespace hloscope::eval {
namespace {

using hlo::Shape;

// Where the block of `sizes` begins in `shape`, in elements from its start: one scalar per
// dimension from operand `first` on, or, in old modules, one vector of all of them. The block lies
// within the first `room` elements of each dimension where it fits.
int64_t BlockOffset(const KernelCall& call, size_t first, const Shape& shape,
                    std::span<const int64_t> room, std::span<const int64_t> sizes) {
  const auto strides = RowMajorStrides(shape.dimensions());
  std::vector<int64_t> starts;
  for (size_t i = first; i < call.operands.size(); ++i) {
    for (int64_t start : ReadIndices(call.operands[i])) starts.push_back(start);
  }
  int64_t offset = 0;
  for (size_t d = 0; d < std::min(sizes.size(), starts.size()); ++d) {
    const int64_t last = std::max<int64_t>(0, room[d] - sizes[d]);
    offset += strides[d] * std::clamp<int64_t>(starts[d], 0, last);
  }
  return offset;
}

}  // namespace

Result<Value> DynamicSliceKernel(KernelCall& call) {
  const Shape& in = call.operand_shape(0);
  const Shape& shape = call.shape();
  const int bytes = hlo::StorageBytes(shape.element_type());
  const int64_t offset =
      BlockOffset(call, 1, in, call.operands[0].literal().live_sizes(), shape.dimensions());
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer buffer, call.machine.Allocate(shape));
  HLOSCOPE_TRY(StridedCopy(shape.dimensions(), RowMajorStrides(in.dimensions()),
                           RowMajorStrides(shape.dimensions()), bytes)
                   .Run(call.machine, call.operands[0].data() + offset * bytes, buffer.data()));
  return Value::Array(shape, std::move(buffer));
}

// The block may lie behind the live elements: programs write there before they make room.
Result<Value> DynamicUpdateSliceKernel(KernelCall& call) {
  const Shape& shape = call.shape();
  const Shape& update = call.operand_shape(1);
  const int bytes = hlo::StorageBytes(shape.element_type());
  const int64_t offset = BlockOffset(call, 2, shape, shape.dimensions(), update.dimensions());
  const std::byte* const before = call.operands[0].data();
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer buffer, OwnCopy(call, 0));
  if (buffer.data() != before) HLOSCOPE_TRY(call.machine.Charge(ElementCount(shape)));
  HLOSCOPE_TRY(StridedCopy(call.operands[1].literal().live_sizes(),
                           RowMajorStrides(update.dimensions()),
                           RowMajorStrides(shape.dimensions()), bytes)
                   .Run(call.machine, call.operands[1].data(), buffer.data() + offset * bytes));
  return Value::Array(shape, std::move(buffer));
}

}  // namespace hloscope::eval
