// Finding invariants: from the elements of the state that the body hands on unchanged, forward.
#include "core/eval/machine/loop_invariants.h"

#include "core/hlo/analysis/cost.h"
#include "core/hlo/opcode_traits.h"

namespace hloscope::eval {

using hlo::InstructionId;
using hlo::Opcode;

namespace {

// More is computed again instead: it would stay in memory as long as the loop runs.
constexpr double kMaxBytes = 1 << 30;

// The element of the state that an instruction of the body is; -1 if it is none.
int64_t ElementOfState(const hlo::Module& module, InstructionId id) {
  while (module[id].opcode == Opcode::kCopy || module[id].opcode == Opcode::kOptimizationBarrier) {
    id = module.operands(id)[0];
  }
  if (module[id].opcode != Opcode::kGetTupleElement) return -1;
  if (module[module.operands(id)[0]].opcode != Opcode::kParameter) return -1;
  return module.GetInt(module[id], hlo::AttributeKey::kIndex);
}

}  // namespace

LoopInvariants::LoopInvariants(const hlo::Module& module, hlo::ComputationId body,
                               const Repeatable& repeatable)
    : module_(module),
      body_(module[body]),
      invariant_(body_.instruction_count, 0),
      kept_(body_.instruction_count, 0) {
  Find(repeatable);
  Keep();
}

// By index: the root of the body hands the element on as it came.
std::vector<bool> LoopInvariants::UnchangedElements() const {
  std::vector<bool> unchanged;
  if (module_[body_.root].opcode != Opcode::kTuple) return unchanged;
  const auto made = module_.operands(body_.root);
  for (size_t i = 0; i < made.size(); ++i) {
    unchanged.push_back(std::cmp_equal(ElementOfState(module_, made[i]), i));
  }
  return unchanged;
}

void LoopInvariants::Find(const Repeatable& repeatable) {
  const std::vector<bool> unchanged = UnchangedElements();
  for (uint32_t i = 0; i < body_.instruction_count; ++i) {
    const InstructionId id(body_.first_instruction + i);
    if (module_[id].opcode == Opcode::kParameter || !repeatable.Is(id)) continue;
    const int64_t element = ElementOfState(module_, id);
    bool same = element >= 0 && std::cmp_less(element, unchanged.size()) &&
                unchanged[static_cast<size_t>(element)];
    if (!same) {
      same = true;
      for (InstructionId operand : module_.operands(id)) {
        same = same && invariant_[operand.index - body_.first_instruction] != 0;
      }
    }
    invariant_[i] = same ? 1 : 0;
  }
  // What only names values is cheaper to do again than to keep.
  for (uint32_t i = 0; i < body_.instruction_count; ++i) {
    const Opcode opcode = module_[InstructionId(body_.first_instruction + i)].opcode;
    if (hlo::HasTrait(opcode, hlo::kTraitNoCode)) invariant_[i] = 0;
  }
}

void LoopInvariants::Keep() {
  const auto keep = [&](InstructionId id) {
    const uint32_t i = id.index - body_.first_instruction;
    if (invariant_[i] != 0) kept_[i] = 1;
  };
  keep(body_.root);
  for (uint32_t i = 0; i < body_.instruction_count; ++i) {
    if (invariant_[i] != 0) continue;
    for (InstructionId operand : module_.operands(InstructionId(body_.first_instruction + i))) {
      keep(operand);
    }
  }
  double bytes = 0;
  for (uint32_t i = 0; i < body_.instruction_count; ++i) {
    if (kept_[i] == 0) continue;
    bytes += hlo::LeafByteCount(module_.shape(InstructionId(body_.first_instruction + i)));
    empty_ = false;
  }
  if (bytes > kMaxBytes) empty_ = true;
}

}  // namespace hloscope::eval
