// Kernels of devices and collectives for a module that runs on one device, where every group is the
// device itself; more devices are refused by name.
#include "core/eval/kernels.h"
#include "core/eval/strided_copy.h"

namespace hloscope::eval {
namespace {

using hlo::AttributeKey;
using hlo::Opcode;

bool OneDevice(const KernelCall& call) {
  const hlo::ModuleHeader& header = call.module().header();
  return header.replica_count * header.num_partitions == 1;
}

Result<Value> Number(KernelCall& call, int64_t value) {
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer buffer, call.machine.Allocate(call.shape()));
  *buffer.as<uint32_t>() = static_cast<uint32_t>(value);
  return Value::Array(call.shape(), std::move(buffer));
}

// A collective of one participant gives back what it was given; starts put it behind the operand.
Result<Value> GiveBack(KernelCall& call, bool start_keeps_operand) {
  if (!OneDevice(call)) return Unsupported(call, "the evaluator runs one device");
  std::vector<Value> operands(call.operands.begin(), call.operands.end());
  Value all = operands.size() == 1 ? operands[0] : Value::Tuple(operands);
  if (hlo::HasFlag(call.opcode(), hlo::kFlagStart) && start_keeps_operand) {
    return Value::Tuple({all, all});
  }
  if (operands.size() == 1 && call.shape().IsTuple()) return Value::Tuple(std::move(operands));
  if (operands.size() == 1 && !hlo::Compatible(call.shape(), operands[0].shape())) {
    return Unsupported(call, "its shape needs more than one device");
  }
  return all;
}

}  // namespace

Result<Value> ReplicaIdKernel(KernelCall& call) { return Number(call, 0); }
Result<Value> PartitionIdKernel(KernelCall& call) { return Number(call, 0); }

Result<Value> AllReduceKernel(KernelCall& call) { return GiveBack(call, false); }
Result<Value> AllGatherKernel(KernelCall& call) { return GiveBack(call, true); }
Result<Value> AllToAllKernel(KernelCall& call) { return GiveBack(call, true); }
Result<Value> ReduceScatterKernel(KernelCall& call) { return GiveBack(call, true); }
Result<Value> CollectiveBroadcastKernel(KernelCall& call) { return GiveBack(call, true); }

// A device that nobody sends to receives zeros.
Result<Value> CollectivePermuteKernel(KernelCall& call) {
  const auto pairs = call.module().GetInts(call.instruction(), AttributeKey::kSourceTargetPairs);
  for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
    if (pairs[i] == 0 && pairs[i + 1] == 0) return GiveBack(call, true);
  }
  if (!OneDevice(call)) return Unsupported(call, "the evaluator runs one device");
  if (!call.shape().IsArray()) return Unsupported(call, "it receives a tuple");
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer buffer, call.machine.Allocate(call.shape()));
  std::fill_n(buffer.data(), buffer.size, std::byte{0});
  return Value::Array(call.shape(), std::move(buffer));
}

}  // namespace hloscope::eval
