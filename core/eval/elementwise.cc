// Kernels of elementwise instructions on whole arrays.
#include <algorithm>
#include <cstring>

#include "core/eval/kernels.h"
#include "core/eval/lanes.h"

namespace hloscope::eval {
namespace {

// A scalar operand of clamp or select stands for an array of the result's size.
Result<Value> Spread(KernelCall& call, const Value& scalar, int64_t count) {
  hlo::Shape shape = call.shape();
  shape.set_element_type(scalar.shape().element_type());
  shape.clear_layout();
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer buffer, call.machine.Allocate(shape));
  const auto size = static_cast<size_t>(hlo::StorageBytes(shape.element_type()));
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(buffer.data() + static_cast<size_t>(i) * size, scalar.data(), size);
  }
  return Value::Array(std::move(shape), std::move(buffer));
}

// A buffer for the result: an operand's own where nobody else holds it and the sizes agree.
Result<Buffer> ResultBuffer(KernelCall& call, std::array<const std::byte*, 3>& in) {
  const auto bytes = static_cast<size_t>(call.shape().ByteSize().value_or(0));
  for (size_t i = 0; i < call.operands.size(); ++i) {
    if (hlo::StorageBytes(call.operand_shape(i).element_type()) !=
        hlo::StorageBytes(call.shape().element_type())) {
      continue;
    }
    if (call.operands[i].literal().bytes().size() != bytes) continue;
    Buffer buffer = call.operands[i].TakeBuffer();
    if (buffer.data() == nullptr) continue;
    in[i] = buffer.data();
    return buffer;
  }
  return call.machine.Allocate(call.shape());
}

Result<Value> Elementwise(KernelCall& call) {
  Result<LaneKernel> kernel = LaneKernel::Find(call.module(), call.instruction());
  if (!kernel.has_value()) return Unsupported(call, kernel.error().message);
  const int64_t count = ElementCount(call.shape());
  std::array<const std::byte*, 3> in = {};
  for (size_t i = 0; i < call.operands.size(); ++i) {
    Value& operand = call.operands[i];
    if (operand.shape().IsScalar() && !call.shape().IsScalar()) {
      HLOSCOPE_ASSIGN_OR_RETURN(operand, Spread(call, operand, count));
    }
    in[i] = operand.data();
  }
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer buffer, ResultBuffer(call, in));
  kernel->Run(in, buffer.data(), count);
  return Value::Array(call.shape(), std::move(buffer));
}

}  // namespace

Result<Value> UnaryKernel(KernelCall& call) { return Elementwise(call); }
Result<Value> BinaryKernel(KernelCall& call) { return Elementwise(call); }
Result<Value> CompareKernel(KernelCall& call) { return Elementwise(call); }
Result<Value> SelectKernel(KernelCall& call) { return Elementwise(call); }
Result<Value> ClampKernel(KernelCall& call) { return Elementwise(call); }
Result<Value> ConvertKernel(KernelCall& call) { return Elementwise(call); }
Result<Value> ReducePrecisionKernel(KernelCall& call) { return Elementwise(call); }

}  // namespace hloscope::eval
