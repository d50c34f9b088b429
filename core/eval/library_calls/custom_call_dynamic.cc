// Custom calls between arrays of dynamic sizes and arrays as long as their bounds.
#include <algorithm>
#include <utility>
#include <vector>

#include "core/eval/library_calls/custom_calls.h"
#include "core/eval/machine/indices.h"
#include "core/eval/numbers/wide.h"

namespace hloscope::eval {

// PadToStatic: the array as long as its bounds, zeros behind the live elements, and the
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

// SliceToDynamic, the way back: the array's first elements, as many as the sizes say.
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
