// Dead-code elimination.
#include <algorithm>

#include "core/compile/passes/edit.h"
#include "core/hlo/analysis/call_graph.h"
#include "core/hlo/analysis/effects.h"

namespace hloscope::compile {

using hlo::ComputationId;
using hlo::InstructionId;
using hlo::Module;

namespace {

// True if a computation is not called from the entry, or holds something nothing depends on.
bool HasDeadCode(const Module& module) {
  const hlo::CallGraph& calls = CallGraphOf(module);
  for (uint32_t c = 0; c < module.computations().size(); ++c) {
    if (!calls.IsReached(ComputationId(c))) return true;
    const std::vector<bool> live = LiveInstructions(module, ComputationId(c));
    const hlo::Computation& computation = module.computations()[c];
    for (uint32_t k = 0; k < computation.instruction_count; ++k) {
      const InstructionId id(computation.first_instruction + k);
      if (!live[k] && module[id].opcode != hlo::Opcode::kParameter) return true;
    }
  }
  return false;
}

}  // namespace

Result<PassResult> EliminateDeadCode(const std::shared_ptr<const Module>& module, Compilation&) {
  if (!HasDeadCode(*module)) return PassResult{};
  Edit edit(module);
  edit.NoteChange();
  return edit.Finish();
}

}  // namespace hloscope::compile
