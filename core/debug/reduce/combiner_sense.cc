#include "core/debug/reduce/combiner_sense.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "core/hlo/opcode_table.h"

namespace hloscope::debug {
namespace {

using hlo::ComputationId;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;

bool DependsOnBoth(const Module& module, ComputationId id) {
  const hlo::Computation& computation = module[id];
  std::vector<bool> is_needed(computation.instruction_count, false);
  const auto need = [&](InstructionId at) {
    is_needed[at.index - computation.first_instruction] = true;
  };
  need(computation.root);
  for (uint32_t i = computation.instruction_count; i-- > 0;) {
    if (!is_needed[i]) continue;
    const InstructionId at(computation.first_instruction + i);
    std::ranges::for_each(module.operands(at), need);
  }
  const std::vector<InstructionId> parameters = module.Parameters(id);
  return parameters.size() == 2 && std::ranges::all_of(parameters, [&](InstructionId at) {
           return at.valid() && is_needed[at.index - computation.first_instruction];
         });
}

}  // namespace

bool CombinesBoth(const Module& module) {
  static constexpr hlo::OpcodeSet kCombine = {Opcode::kReduce, Opcode::kReduceWindow,
                                              Opcode::kSelectAndScatter, Opcode::kAllReduce,
                                              Opcode::kReduceScatter};
  std::unordered_set<ComputationId> known;  // to depend on both
  return std::ranges::all_of(module.instructions(), [&](const hlo::Instruction& instruction) {
    if (!kCombine.Has(instruction.opcode)) return true;
    const std::vector<ComputationId> called = module.CalledComputations(instruction);
    return called.empty() || !known.insert(called.back()).second ||
           DependsOnBoth(module, called.back());
  });
}

}  // namespace hloscope::debug
