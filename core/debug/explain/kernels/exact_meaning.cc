// A walk over the instructions of all computations.
#include "core/debug/explain/kernels/exact_meaning.h"

#include <algorithm>
#include <optional>

namespace hloscope::debug {

using hlo::Instruction;
using hlo::Module;
using hlo::Opcode;

namespace {

enum class Exact : uint8_t { kMoves, kAdds, kMultiplies, kApplies };

std::optional<Exact> ExactOf(Opcode opcode) {
  switch (opcode) {
#define EXACT(name, how) \
  case Opcode::name:     \
    return Exact::how;
#include "core/debug/explain/kernels/exact_opcodes.def"
#undef EXACT
    default:
      return std::nullopt;
  }
}

bool HasFloats(const Module& module, hlo::InstructionId id) {
  const auto has = [](const hlo::Shape& shape) {
    return std::ranges::any_of(shape.LeafShapes(), [](const hlo::Shape* leaf) {
      return leaf->IsArray() &&
             (hlo::IsFloat(leaf->element_type()) || hlo::IsComplex(leaf->element_type()));
    });
  };
  return has(module.shape(id)) ||
         std::ranges::any_of(module.operands(id), [&](auto o) { return has(module.shape(o)); });
}

bool Computes(const Module& module, hlo::ComputationId computation) {
  for (uint32_t i = 0; i < module.instructions().size(); ++i) {
    const hlo::InstructionId id(i);
    if (module[id].computation != computation || !HasFloats(module, id)) continue;
    const auto how = ExactOf(module[id].opcode);
    if (how == Exact::kAdds || how == Exact::kMultiplies) return true;
  }
  return false;
}

}  // namespace

bool MeansEveryBit(const Module& alone) {
  bool adds = false, multiplies = false;
  for (uint32_t i = 0; i < alone.instructions().size(); ++i) {
    const hlo::InstructionId id(i);
    if (!HasFloats(alone, id)) continue;
    const auto how = ExactOf(alone[id].opcode);
    if (!how) return false;
    // A complex product is several.
    if (*how == Exact::kMultiplies && hlo::IsComplex(alone.shape(id).element_type())) return false;
    adds |= *how == Exact::kAdds;
    multiplies |= *how == Exact::kMultiplies;
    if (*how != Exact::kApplies) continue;
    for (const hlo::ComputationId applied : alone.CalledComputations(alone[id])) {
      if (Computes(alone, applied)) return false;
    }
  }
  return !(adds && multiplies);
}

}  // namespace hloscope::debug
