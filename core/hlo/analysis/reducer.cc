// What a computation that reduces does.
#include "core/hlo/analysis/reducer.h"

#include <algorithm>

namespace hloscope::hlo {

bool CombinesTwoParameters(const Module& module, InstructionId id) {
  const auto operands = module.operands(id);
  return operands.size() == 2 && operands[0] != operands[1] &&
         std::ranges::all_of(operands, [&](InstructionId operand) {
           return module[operand].opcode == Opcode::kParameter;
         });
}

std::optional<Opcode> BinaryReducer(const Module& module, ComputationId id) {
  if (!id.valid() || !CombinesTwoParameters(module, module[id].root)) return std::nullopt;
  return module[module[id].root].opcode;
}

std::optional<Opcode> BinaryReducerOf(const Module& module, InstructionId id) {
  return BinaryReducer(module, module.GetComputation(module[id], AttributeKey::kToApply));
}

}  // namespace hloscope::hlo
