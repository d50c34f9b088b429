// Kernels of dynamic dimensions: their sizes read and set.
#include <algorithm>

#include "core/eval/machine/indices.h"
#include "core/eval/machine/kernels.h"

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

}  // namespace hloscope::eval
