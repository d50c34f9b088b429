// Kernels of elementwise instructions on whole arrays.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "core/eval/loops/lanes.h"
#include "core/eval/machine/kernels.h"

namespace hloscope::eval {
namespace {

constexpr int64_t kGrain = 1 << 16;
constexpr int64_t kSpread = 1 << 11;  // lanes of a scalar operand that are made at a time

// A scalar operand of clamp or select stands for an array of the result's size.
std::vector<std::byte> Spread(const Value& scalar, int64_t count) {
  const auto size = static_cast<size_t>(hlo::StorageBytes(scalar.shape().element_type()));
  std::vector<std::byte> lanes(size * static_cast<size_t>(count));
  for (size_t at = 0; at < lanes.size(); at += size) {
    std::memcpy(lanes.data() + at, scalar.data(), size);
  }
  return lanes;
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

// Where the lanes of each operand are: of an array, or of a scalar spread over kSpread of them.
struct OperandLanes {
  std::array<const std::byte*, 3> data = {};
  std::array<int, 3> step = {};  // bytes from one lane to the next; 0 for a scalar
  std::vector<std::vector<std::byte>> spread;

  std::array<const std::byte*, 3> At(int64_t lane) const {
    std::array<const std::byte*, 3> at = data;
    for (size_t i = 0; i < at.size(); ++i) {
      if (step[i] != 0) at[i] += lane * step[i];
    }
    return at;
  }
};

Result<Value> Elementwise(KernelCall& call) {
  Result<LaneKernel> kernel = LaneKernel::Find(call.module(), call.instruction());
  if (!kernel.has_value()) return Unsupported(call, kernel.error().message);
  const int64_t count = ElementCount(call.shape());
  OperandLanes in;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const Value& operand = call.operands[i];
    in.data[i] = operand.data();
    if (operand.shape().IsScalar() && !call.shape().IsScalar()) {
      in.spread.push_back(Spread(operand, std::min(count, kSpread)));
      in.data[i] = in.spread.back().data();
      continue;
    }
    in.step[i] = hlo::StorageBytes(operand.shape().element_type());
  }
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer buffer, ResultBuffer(call, in.data));
  const int bytes = hlo::StorageBytes(kernel->result_type());
  HLOSCOPE_TRY(call.machine.ForRanges(count, kGrain, [&](IndexRange range) -> Status {
    const int64_t step = in.spread.empty() ? kGrain : kSpread;
    for (int64_t lane = range.begin; lane < range.end; lane += step) {
      kernel->Run(in.At(lane), buffer.data() + lane * bytes, std::min(step, range.end - lane));
    }
    return {};
  }));
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
