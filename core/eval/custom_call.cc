// custom-call: the targets whose meaning is known, by name. Each says where that is written.
#include <algorithm>

#include "core/eval/kernels.h"
#include "core/eval/manual_region.h"
#include "core/hlo/topology.h"

namespace hloscope::eval {
namespace {

using hlo::AttributeKey;

struct TargetRow {
  std::string_view name;
  Kernel kernel;
};

// Notes to the compiler about placement and sharding: on one device the value itself.
Result<Value> Identity(KernelCall& call) {
  if (call.operands.empty()) return Unsupported(call, "it has no operand");
  const Value& operand = call.operands[0];
  if (operand.is_array() && !hlo::Compatible(call.shape(), operand.shape())) {
    return Unsupported(call, "the evaluator runs one device");
  }
  return operand;
}

// Memory whose contents nobody may rely on: zeros, so that runs agree.
Result<Value> ZeroBuffer(KernelCall& call) {
  if (!call.shape().IsArray()) return Unsupported(call, "its result is a tuple");
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer buffer, call.machine.Allocate(call.shape()));
  std::fill_n(buffer.data(), buffer.size, std::byte{0});
  return Value::Array(call.shape(), std::move(buffer));
}

constexpr TargetRow kTargets[] = {
    {"AllocateBuffer", ZeroBuffer},            // XLA: custom_call_target.h
    {"MoveToDevice", Identity},                // XLA: host_memory_offload_annotations.h
    {"MoveToHost", Identity},                  // likewise
    {"PadToStatic", PadToStatic},              // XLA: dynamic_padder.cc
    {hlo::kFullToShard, EnterManualKernel},    // XLA: sharding_op_util.h
    {hlo::kShardToFull, LeaveManualKernel},    // likewise
    {"ShardBarrierFrom", Identity},            // XLA: spmd/shard_barrier_partitioner.h
    {"ShardBarrierTo", Identity},              // likewise
    {"Sharding", Identity},                    // XLA: sharding_op_util.h
    {"SliceToDynamic", SliceToDynamic},        // XLA: dynamic_padder.cc
    {"TopK", TopKKernel},                      // XLA: cpu/runtime_topk.h
    {"annotate_device_placement", Identity},   // XLA: host_memory_offload_annotations.h
    {"xla.sdy.FuncResultSharding", Identity},  // Shardy: round_trip constants
    {hlo::kGlobalToLocal, EnterManualKernel},  // likewise
    {hlo::kLocalToGlobal, LeaveManualKernel},  // likewise
    {"xla.sdy.PropagationBarrier", Identity},  // likewise
    {"xla.sdy.ShardingGroup", Identity},       // likewise
};

}  // namespace

Result<Value> CustomCallKernel(KernelCall& call) {
  const std::string_view target =
      call.module().GetString(call.instruction(), AttributeKey::kCustomCallTarget);
  for (const TargetRow& row : kTargets) {
    if (row.name == target) return row.kernel(call);
  }
  return Unsupported(call, "nobody knows what its target " + std::string(target) + " does");
}

}  // namespace hloscope::eval
