// Kernels of dynamic dimensions: their sizes read and set.
#include <algorithm>

#include "core/eval/kernels/kernels.h"
#include "core/eval/library_calls/custom_calls.h"
#include "core/eval/loops/indices.h"
#include "core/eval/numbers/wide.h"

namespace hloscope::eval {
namespace {

using hlo::AttributeKey;

size_t DimensionOf(const KernelCall& call) {
  return static_cast<size_t>(
      call.module().GetInts(call.instruction(), AttributeKey::kDimensions)[0]);
}

}  // namespace

Result<Value> GetDimensionSizeKernel(KernelCall& call) {
  const size_t d = DimensionOf(call);
  const auto live = call.operands[0].literal().dynamic_sizes();
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer buffer, call.machine.Allocate(call.shape()));
  *buffer.as<int32_t>() =
      static_cast<int32_t>(live.empty() ? call.operand_shape(0).dimension(d) : live[d]);
  return Value::Array(call.shape(), std::move(buffer));
}

Result<Value> SetDimensionSizeKernel(KernelCall& call) {
  const size_t d = DimensionOf(call);
  const auto before = call.operands[0].literal().dynamic_sizes();
  std::vector<int64_t> live(before.begin(), before.end());
  if (live.empty()) live = Dimensions(call.operand_shape(0));
  const int64_t bound = call.shape().dimension(d);
  live[d] = std::clamp<int64_t>(ReadIndices(call.operands[1])[0], 0, bound);
  Value result = call.operands[0].WithShape(call.shape());
  if (!std::ranges::equal(live, call.shape().dimensions())) {
    result.set_dynamic_sizes(std::move(live));
  }
  return result;
}

// The live elements in order under new live sizes, one operand each.
Result<Value> DynamicReshapeKernel(KernelCall& call) {
  std::vector<int64_t> sizes;
  for (size_t d = 0; d < call.shape().rank(); ++d) {
    sizes.push_back(
        std::clamp<int64_t>(ReadIndices(call.operands[d + 1])[0], 0, call.shape().dimension(d)));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(const Value live, LivePart(call.machine, call.operands[0]));
  const hlo::Shape shape = hlo::Shape::Array(call.shape().element_type(), sizes);
  if (ElementCount(shape) != ElementCount(live.shape())) {
    return InputError("dynamic-reshape: the new sizes do not hold the live elements");
  }
  return WithinBounds(call.machine, live.WithShape(shape), call.shape());
}

// Custom call PadToStatic: the array as long as its bounds, zeros behind the live elements, and the
// live size of every dimension.
Result<Value> PadToStaticCall(KernelCall& call) {
  const auto parts = call.shape().elements();
  if (call.operands.size() != 1 || !call.operands[0].is_array() ||
      parts.size() != call.operand_shape(0).rank() + 1 ||
      parts[0].ByteSize() != call.operand_shape(0).ByteSize()) {
    return Unsupported(call, "its result is not the array and the size of each dimension");
  }
  HLOSCOPE_ASSIGN_OR_RETURN(const Value live, LivePart(call.machine, call.operands[0]));
  HLOSCOPE_ASSIGN_OR_RETURN(const Value padded,
                            WithinBounds(call.machine, live, call.operand_shape(0)));
  std::vector<Value> values = {padded.WithShape(parts[0])};
  for (size_t d = 0; d + 1 < parts.size(); ++d) {
    const int64_t size = live.shape().dimension(d);
    HLOSCOPE_ASSIGN_OR_RETURN(Buffer buffer, call.machine.Allocate(parts[d + 1]));
    if (!parts[d + 1].IsScalar()) return Unsupported(call, "a size is not a scalar");
    StoreFrom<int64_t>(parts[d + 1].element_type(), &size, buffer.data(), 1);
    values.push_back(Value::Array(parts[d + 1], std::move(buffer)));
  }
  return Value::Tuple(std::move(values));
}

// Custom call SliceToDynamic, the way back: the array's first elements, as many as the sizes say.
Result<Value> SliceToDynamicCall(KernelCall& call) {
  const Value& padded = call.operands[0];
  const size_t rank = call.shape().rank();
  if (!call.shape().IsArray() || call.operands.size() != rank + 1 || !padded.is_array() ||
      !hlo::Compatible(padded.shape(), call.shape(), {.dynamic_dimensions = false})) {
    return Unsupported(call, "its operands are not the array and the size of each dimension");
  }
  std::vector<int64_t> live;
  for (size_t d = 0; d < rank; ++d) {
    const Value& size = call.operands[d + 1];
    if (!size.is_array() || !size.shape().IsScalar()) {
      return Unsupported(call, "a size is not a scalar");
    }
    live.push_back(std::clamp<int64_t>(ReadIndices(size)[0], 0, call.shape().dimension(d)));
  }
  Value result = padded.WithShape(call.shape());
  if (!std::ranges::equal(live, call.shape().dimensions())) {
    result.set_dynamic_sizes(std::move(live));
  }
  return result;
}

}  // namespace hloscope::eval
