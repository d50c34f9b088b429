// Walks what an instruction calls.
#include "core/debug/explain/passes/computed_functions.h"

#include <vector>

#include "core/hlo/analysis/cost.h"

namespace hloscope::debug {
namespace {

using hlo::Module;
using hlo::Opcode;

bool CallsForOthers(Opcode opcode) {
  return opcode == Opcode::kFusion || opcode == Opcode::kCall || opcode == Opcode::kWhile ||
         opcode == Opcode::kConditional;
}

bool HasFunctionInside(const Module& module, hlo::InstructionId id) {
  std::vector<bool> seen(module.computations().size(), false);
  std::vector<hlo::ComputationId> open;
  const auto call = [&](const hlo::Instruction& instruction) {
    for (const hlo::ComputationId callee : module.CalledComputations(instruction)) {
      if (seen[callee.index]) continue;
      seen[callee.index] = true;
      open.push_back(callee);
    }
  };
  call(module[id]);
  while (!open.empty()) {
    const hlo::ComputationId next = open.back();
    open.pop_back();
    for (const hlo::Instruction& instruction : module.instructions(module[next])) {
      const Opcode opcode = instruction.opcode;
      if (hlo::IsTranscendental(opcode) && opcode != Opcode::kSqrt) return true;
      call(instruction);
    }
  }
  return false;
}

}  // namespace

bool MayComputeFunction(const Module& module, hlo::InstructionId id,
                        std::optional<Opcode> differs) {
  const Opcode opcode = module[id].opcode;
  if (hlo::IsTranscendental(opcode)) return true;
  if (differs && !CallsForOthers(*differs)) return hlo::IsTranscendental(*differs);
  return HasFunctionInside(module, id);
}

}  // namespace hloscope::debug
