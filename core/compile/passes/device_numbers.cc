// Device numbers: the replica or partition of a run that has one. It goes first, before anything
// that says how many devices there are is dropped.
#include <cstdint>
#include <limits>

#include "core/compile/passes/edit.h"
#include "core/hlo/sharding/topology.h"

namespace hloscope::compile {

using hlo::ElementType;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;

Result<PassResult> FoldDeviceNumbers(const std::shared_ptr<const Module>& module, Compilation&) {
  if (!HasOpcode(*module, Opcode::kReplicaId) && !HasOpcode(*module, Opcode::kPartitionId)) {
    return PassResult{};
  }
  // As many devices as the module can ask for, whatever the limit of the run.
  const hlo::DeviceCounts counts =
      hlo::TopologyOf(*module, std::numeric_limits<int64_t>::max()).counts;
  Edit edit(module);
  edit.ForEachRunning([&](InstructionId id) {
    const Opcode opcode = (*module)[id].opcode;
    const bool is_only_one = (opcode == Opcode::kReplicaId && counts.replicas == 1) ||
                             (opcode == Opcode::kPartitionId && counts.partitions == 1);
    if (!is_only_one || !module->shape(id).IsScalar()) return;
    if (module->shape(id).element_type() != ElementType::kU32) return;
    edit.Replace(id, edit.AddScalar(id, ElementType::kU32, std::vector<std::byte>(4)));
  });
  return edit.Finish();
}

}  // namespace hloscope::compile
