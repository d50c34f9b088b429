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

// `applier`: only what instructions of this opcode call, directly or not, counts.
bool HasFunctionInside(const Module& module, hlo::InstructionId id,
                       std::optional<Opcode> applier = {}) {
  struct Called {
    hlo::ComputationId computation;
    bool counts;
  };
  std::vector<bool> seen(2 * module.computations().size(), false);
  std::vector<Called> open;
  const auto call = [&](const hlo::Instruction& instruction, bool counts) {
    counts = counts || instruction.opcode == applier;
    for (const hlo::ComputationId callee : module.CalledComputations(instruction)) {
      const size_t at = 2 * callee.index + (counts ? 1 : 0);
      if (seen[at]) continue;
      seen[at] = true;
      open.push_back({callee, counts});
    }
  };
  call(module[id], !applier);
  while (!open.empty()) {
    const Called next = open.back();
    open.pop_back();
    for (const hlo::Instruction& instruction : module.instructions(module[next.computation])) {
      const Opcode opcode = instruction.opcode;
      if (next.counts && hlo::IsTranscendental(opcode) && opcode != Opcode::kSqrt) return true;
      call(instruction, next.counts);
    }
  }
  return false;
}

}  // namespace

bool MayComputeFunction(const Module& module, hlo::InstructionId id,
                        std::optional<Opcode> differs) {
  const Opcode opcode = module[id].opcode;
  if (hlo::IsTranscendental(opcode)) return true;
  if (differs && !CallsForOthers(*differs)) {
    if (!hlo::HasFlag(*differs, hlo::kFlagCalls)) return hlo::IsTranscendental(*differs);
    return HasFunctionInside(module, id, differs);
  }
  return HasFunctionInside(module, id);
}

}  // namespace hloscope::debug
