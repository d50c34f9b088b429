// Computations that run instruction by instruction.
#include "core/compile/run_computations.h"

#include "core/hlo/opcode_traits.h"

namespace hloscope::compile {

using hlo::ComputationId;
using hlo::Module;

std::vector<bool> RunComputations(const Module& module, bool into_fusions) {
  std::vector<bool> runs(module.computations().size(), false);
  std::vector<ComputationId> open = {module.entry_id()};
  while (!open.empty()) {
    const ComputationId next = open.back();
    open.pop_back();
    if (!next.valid() || runs[next.index]) continue;
    runs[next.index] = true;
    for (const hlo::Instruction& i : module.instructions(module[next])) {
      if (!HasTrait(i.opcode, hlo::kTraitRunsBody)) continue;
      if (i.opcode == hlo::Opcode::kFusion && !into_fusions) continue;
      for (const ComputationId called : module.CalledComputations(i)) open.push_back(called);
    }
  }
  return runs;
}

}  // namespace hloscope::compile
