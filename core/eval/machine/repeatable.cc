// Marking what is not repeatable, and its callers.
#include "core/eval/machine/repeatable.h"

#include <utility>

#include "core/hlo/analysis/call_graph.h"
#include "core/hlo/analysis/effects.h"

namespace hloscope::eval {

using hlo::InstructionId;

Repeatable::Repeatable(const hlo::Module& module)
    : marked_instructions_(module.instructions().size(), false) {
  std::vector<bool> marked(module.computations().size(), false);
  for (size_t i = 0; i < marked_instructions_.size(); ++i) {
    const InstructionId id(i);
    const hlo::Opcode opcode = module[id].opcode;
    if (!hlo::HasOwnEffect(module, id) && !hlo::HasFlag(opcode, hlo::kFlagCollective) &&
        opcode != hlo::Opcode::kCustomCall && opcode != hlo::Opcode::kRngBitGenerator) {
      continue;
    }
    marked_instructions_[i] = true;
    marked[module[id].computation.index] = true;
  }
  marked_computations_ = hlo::WithCallers(hlo::CallGraphOf(module).calls(), std::move(marked));
  for (const hlo::Call& call : hlo::CallGraphOf(module).calls()) {
    if (marked_computations_[call.callee.index]) marked_instructions_[call.caller.index] = true;
  }
}

}  // namespace hloscope::eval
