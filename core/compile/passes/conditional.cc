// Conditionals whose branch is known become calls of it.
#include <algorithm>

#include "core/compile/passes/edit.h"
#include "core/compile/passes/simplify/rules.h"

namespace hloscope::compile {

using hlo::AttributeKey;
using hlo::ComputationId;
using hlo::ElementType;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;

namespace {

std::vector<ComputationId> BranchesOf(const Module& module, InstructionId id) {
  const hlo::Instruction& i = module[id];
  const auto holds = module.GetComputation(i, AttributeKey::kTrueComputation);
  if (holds.valid()) return {holds, module.GetComputation(i, AttributeKey::kFalseComputation)};
  std::vector<ComputationId> out;
  const hlo::Attribute* list = module.Find(i, AttributeKey::kBranchComputations);
  if (list == nullptr) return out;
  for (const uint32_t id_of : module.IdsOf(*list)) out.emplace_back(id_of);
  return out;
}

// The branch that runs, where that is known: an index out of range means the last one.
std::optional<size_t> Chosen(Edit& edit, InstructionId id, size_t branches) {
  const auto number = NumberOf(edit, edit.operand(id, 0));
  if (!number || branches == 0) return std::nullopt;
  if (number->type == ElementType::kPred) return number->integer != 0 ? 0 : 1;
  const bool is_inside = number->integer >= 0 && std::cmp_less(number->integer, branches);
  return is_inside ? static_cast<size_t>(number->integer) : branches - 1;
}

}  // namespace

Result<PassResult> SimplifyConditionals(const std::shared_ptr<const Module>& module, Compilation&) {
  if (!HasOpcode(*module, Opcode::kConditional)) return PassResult{};
  Edit edit(module);
  for (uint32_t k = 0; k < module->instructions().size(); ++k) {
    const InstructionId id(k);
    if ((*module)[id].opcode != Opcode::kConditional || edit.IsPinned(id)) continue;
    const std::vector<ComputationId> branches = BranchesOf(*module, id);
    const auto chosen = Chosen(edit, id, branches.size());
    if (!chosen || *chosen >= branches.size()) continue;
    const hlo::Shape shape = edit.shape(id);
    const InstructionId call = edit.Add(
        id, "call", Opcode::kCall, shape, {edit.operand(id, 1 + *chosen)},
        {edit.rewriter().builder().MakeComputation(AttributeKey::kToApply, branches[*chosen])});
    edit.Replace(id, call);
    edit.rewriter().Remove(id);
  }
  return edit.Finish();
}

}  // namespace hloscope::compile
