// ReplaceCustomCalls: calls whose meaning can be written in plain instructions.
#include <fmt/format.h>

#include "core/eval/custom_calls.h"
#include "core/hlo/rewriter.h"
#include "core/replay/pjrt/adapt_steps.h"

namespace hloscope::replay::pjrt {

using hlo::AttributeKey;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;

namespace {

// Notes to the partitioner, which it takes away itself.
bool IsForPartitioner(std::string_view target) {
  return target == "Sharding" || target.starts_with("SPMD") || target.starts_with("xla.sdy.") ||
         target.starts_with("ShardBarrier");
}

// True for a call that hands its operand on.
bool IsIdentity(const AdaptState& state, InstructionId id) {
  const Module& module = *state.module;
  if (module[id].opcode == Opcode::kDomain) return true;
  if (module[id].opcode != Opcode::kCustomCall || module.operands(id).size() != 1) return false;
  const auto target = module.GetString(module[id], AttributeKey::kCustomCallTarget);
  if (state.adapted.partition && IsForPartitioner(target)) return false;
  const auto* row = eval::FindCustomCall(target);
  if (row == nullptr || row->kernel != &eval::IdentityCall) return false;
  return hlo::Compatible(module.shape(id), module.shape(module.operands(id)[0]));
}

}  // namespace

Status ReplaceCustomCalls(AdaptState& state) {
  const std::shared_ptr<const Module> module = state.module;
  std::optional<hlo::Rewriter> rewriter;
  for (uint32_t k = 0; k < module->instructions().size(); ++k) {
    const InstructionId id(k);
    if (!IsIdentity(state, id)) continue;
    if (!rewriter) rewriter.emplace(module);
    rewriter->ReplaceAllUses(id, rewriter->operands(id)[0]);
    rewriter->Remove(id);
  }
  if (!rewriter) return {};
  HLOSCOPE_ASSIGN_OR_RETURN(hlo::RewriteResult result, rewriter->Finish());
  state.module = std::move(result.module);
  return {};
}

}  // namespace hloscope::replay::pjrt
