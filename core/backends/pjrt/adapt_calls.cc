// ReplaceCustomCalls: calls whose meaning can be written in plain instructions.
#include <fmt/format.h>

#include <map>
#include <memory>

#include "core/backends/pjrt/adapt_steps.h"
#include "core/hlo/expand/custom_calls.h"
#include "core/hlo/expand/expand.h"
#include "core/hlo/rewrite/module_copier.h"
#include "core/hlo/rewrite/rewriter.h"

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
  if (state.adapted.partitioning.spmd && IsForPartitioner(target)) return false;
  const auto* row = hlo::expand::FindCustomCall(target);
  if (row == nullptr || row->meaning != hlo::expand::CustomCall::kIdentity) return false;
  return hlo::Compatible(module.shape(id), module.shape(module.operands(id)[0]));
}

// Calls of libraries that are not the plugin's; those of XLA:CPU itself stay.
bool IsForeign(std::string_view target) {
  for (std::string_view prefix : {"__cublas$", "__cudnn$", "__op$", "__gpu$", "xla.gpu.", "__cub$",
                                  "ApproxTopK", "PartialReduce"}) {
    if (target.starts_with(prefix)) return true;
  }
  return false;
}

// The expansions of foreign calls, by instruction.
Result<std::map<InstructionId, std::shared_ptr<const Module>>> FindExpansions(
    const Module& module) {
  std::map<InstructionId, std::shared_ptr<const Module>> expansions;
  for (uint32_t k = 0; k < module.instructions().size(); ++k) {
    const InstructionId id(k);
    if (module[id].opcode != Opcode::kCustomCall) continue;
    if (!IsForeign(module.GetString(module[id], AttributeKey::kCustomCallTarget))) continue;
    HLOSCOPE_ASSIGN_OR_RETURN(auto expansion, hlo::expand::Expand(module, id));
    if (expansion != nullptr) expansions.emplace(id, std::move(expansion));
  }
  return expansions;
}

// The entry of an expansion as a computation of the module being built.
void CopyEntry(const Module& from, hlo::ModuleBuilder& builder, hlo::ComputationId to) {
  hlo::ModuleCopier copier(from, builder);
  std::vector<InstructionId> ids;
  for (uint32_t i = 0; i < from.entry().instruction_count; ++i) {
    ids.push_back(InstructionId(from.entry().first_instruction + i));
  }
  copier.CopyCallees(ids);
  builder.BeginComputation(to);
  for (InstructionId id : ids) {
    std::vector<InstructionId> operands;
    for (InstructionId operand : from.operands(id)) operands.push_back(copier.new_id(operand));
    copier.CopyInstruction(id, operands);
  }
  builder.EndComputation(copier.new_id(from.entry().root));
}

// Makes each call with an expansion a call of that.
Status ExpandForeignCalls(AdaptState& state) {
  const std::shared_ptr<const Module> module = state.module;
  HLOSCOPE_ASSIGN_OR_RETURN(const auto expansions, FindExpansions(*module));
  if (expansions.empty()) return {};
  std::map<InstructionId, hlo::ComputationId> computations;
  std::vector<std::string> names;
  const auto add = [&](hlo::ModuleBuilder& builder) {
    for (const auto& [id, expansion] : expansions) {
      names.emplace_back(module->name(id));
      computations[id] = builder.DeclareComputation(
          builder.Intern(fmt::format("{}.expanded{}", module->name(id), id.index)));
    }
  };
  const auto define = [&](hlo::ModuleBuilder& builder) {
    for (const auto& [id, expansion] : expansions) CopyEntry(*expansion, builder, computations[id]);
  };
  state.module = EditModule(*module,
                            [&](InstructionId id, InstructionEdit& change) {
                              const auto computation = computations.find(id);
                              if (computation == computations.end()) return;
                              change.opcode = Opcode::kCall;
                              change.attributes = {change.builder.MakeComputation(
                                  AttributeKey::kToApply, computation->second)};
                            },
                            nullptr, {add, define});
  state.Warn(fmt::format("library calls were replaced by plain instructions: {}", ListSome(names)));
  return {};
}

}  // namespace

Status ReplaceCustomCalls(AdaptState& state) {
  HLOSCOPE_TRY(ExpandForeignCalls(state));
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
