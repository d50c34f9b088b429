// Marking effects and their callers, and what results and effects depend on.
#include "core/hlo/analysis/effects.h"

#include <algorithm>

#include "core/hlo/analysis/call_graph.h"

namespace hloscope::hlo {

bool HasOwnEffect(Opcode opcode, std::span<const Attribute> attributes) {
  if (HasFlag(opcode, kFlagSideEffect)) return true;
  if (opcode != Opcode::kCustomCall) return false;
  return std::ranges::any_of(attributes, [](const Attribute& a) {
    return a.key == AttributeKey::kCustomCallHasSideEffect && a.value != 0;
  });
}

std::optional<Generator> DrawsItself(const Module& module, InstructionId id) {
  const Instruction& i = module[id];
  if (i.opcode == Opcode::kRngGetAndUpdateState) return Generator::kCounter;
  const bool draws =
      i.opcode == Opcode::kCustomCall
          ? module.GetString(i, AttributeKey::kCustomCallTarget) == "GetRngSeed"
          : HasFlag(i.opcode, kFlagSideEffect) && Info(i.opcode).category == Category::kSource;
  return draws ? std::optional(Generator::kSeeded) : std::nullopt;
}

Effects::Effects(const Module& module)
    : instructions_(module.instructions().size(), false),
      seen_(instructions_),
      draws_{instructions_, instructions_} {
  std::vector<bool> marked(module.computations().size(), false), seen(marked);
  std::array<std::vector<bool>, kGenerators> draws{marked, marked};
  for (size_t i = 0; i < instructions_.size(); ++i) {
    const InstructionId id(i);
    if (const auto generator = DrawsItself(module, id)) {
      const auto g = static_cast<size_t>(*generator);
      draws_[g][i] = draws[g][module[id].computation.index] = true;
    }
    if (!HasOwnEffect(module, id)) continue;
    instructions_[i] = true;
    marked[module[id].computation.index] = true;
    if (Info(module[id].opcode).category == Category::kSource) continue;
    seen_[i] = true;
    seen[module[id].computation.index] = true;
  }
  computations_ = WithCallers(CallGraphOf(module).calls(), std::move(marked));
  seen = WithCallers(CallGraphOf(module).calls(), std::move(seen));
  for (auto& each : draws) each = WithCallers(CallGraphOf(module).calls(), std::move(each));
  for (const Call& call : CallGraphOf(module).calls()) {
    if (computations_[call.callee.index]) instructions_[call.caller.index] = true;
    if (seen[call.callee.index]) seen_[call.caller.index] = true;
    for (size_t g = 0; g < draws.size(); ++g) {
      if (draws[g][call.callee.index]) draws_[g][call.caller.index] = true;
    }
  }
}

std::vector<bool> LiveInstructions(const Module& module, ComputationId computation) {
  const Computation& c = module[computation];
  const uint32_t first = c.first_instruction;
  const Effects& effects = EffectsOf(module);
  std::vector<bool> live(c.instruction_count, false);
  live[c.root.index - first] = true;
  // Operands stand before their users, so one pass from the end finds everything alive.
  for (uint32_t i = c.instruction_count; i-- > 0;) {
    const InstructionId id(first + i);
    if (effects.Has(id)) live[i] = true;
    if (!live[i]) continue;
    for (InstructionId operand : module.operands(id)) live[operand.index - first] = true;
  }
  return live;
}

}  // namespace hloscope::hlo
