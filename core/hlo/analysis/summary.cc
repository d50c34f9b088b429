// Counts what a module holds.
#include "core/hlo/analysis/summary.h"

#include <algorithm>
#include <array>

namespace hloscope::hlo {

ModuleSummary Summarize(const Module& module) {
  ModuleSummary summary;
  summary.instructions = module.instructions().size();
  summary.computations = module.computations().size();
  std::array<size_t, kOpcodeCount> counts{};
  for (const Instruction& i : module.instructions()) {
    ++counts[static_cast<size_t>(i.opcode)];
  }
  summary.elided_constants = ElidedConstants(module).size();
  for (size_t k = 0; k < counts.size(); ++k) {
    if (counts[k] != 0) summary.opcodes.emplace_back(ToString(static_cast<Opcode>(k)), counts[k]);
  }
  std::ranges::stable_sort(summary.opcodes, std::greater<>(),
                           &std::pair<std::string_view, size_t>::second);
  for (InstructionId id : module.Parameters(module.entry_id())) {
    if (!id.valid()) continue;
    summary.parameters.push_back(ToString(module.shape(id)));
    summary.parameter_bytes += module.shape(id).ByteSize().value_or(0);
  }
  const Shape& result = module.shape(module.entry().root);
  summary.result = ToString(result);
  summary.result_bytes = result.ByteSize().value_or(0);
  return summary;
}

std::vector<InstructionId> ElidedConstants(const Module& module) {
  std::vector<InstructionId> elided;
  for (uint32_t k = 0; k < module.instructions().size(); ++k) {
    const InstructionId id(k);
    if (module[id].opcode != Opcode::kConstant) continue;
    const auto* literal = module.Get<Literal>(module[id], AttributeKey::kConstantValue);
    if (literal != nullptr && literal->elided()) elided.push_back(id);
  }
  return elided;
}

}  // namespace hloscope::hlo
