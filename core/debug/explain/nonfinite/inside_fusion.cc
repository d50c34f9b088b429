// A fusion as a module of its own, evaluated with the search beside it.
#include "core/debug/explain/nonfinite/inside_fusion.h"

#include <utility>
#include <vector>

#include "core/eval/machine/evaluator.h"
#include "core/hlo/rewrite/module_copier.h"

namespace hloscope::debug {

using hlo::InstructionId;
using replay::NonFiniteOrigin;

namespace {

// A module that takes the operands of the instruction, and gives its value.
std::shared_ptr<const hlo::Module> Alone(const hlo::Module& module, InstructionId id) {
  hlo::ModuleBuilder builder;
  hlo::ModuleCopier copier(module, builder);
  builder.header().name = builder.Intern(module.name());
  copier.CopyHeader();
  copier.CopyCallees(std::span(&id, 1));
  const hlo::ComputationId entry =
      builder.DeclareComputation(copier.Copy(module[module[id].computation].name));
  builder.BeginComputation(entry);
  std::vector<InstructionId> operands;
  for (const InstructionId operand : module.operands(id)) {
    const hlo::Attribute number =
        builder.MakeInt(hlo::AttributeKey::kParameterNumber, std::ssize(operands));
    operands.push_back(builder.AddInstruction(copier.Copy(module[operand].name),
                                              hlo::Opcode::kParameter,
                                              copier.Copy(module[operand].shape), {}, {{number}}));
  }
  builder.EndComputation(copier.CopyInstruction(id, operands));
  builder.SetEntry(entry);
  return builder.Build();
}

}  // namespace

std::optional<OriginInside> FindInsideFusion(const hlo::Module& module,
                                             const NonFiniteOrigin& origin,
                                             replay::NonFiniteKind kind) {
  if (module[origin.instruction].opcode != hlo::Opcode::kFusion) return std::nullopt;
  const std::shared_ptr<const hlo::Module> alone = Alone(module, origin.instruction);
  std::vector<hlo::Literal> arguments;
  for (const runtime::Value& operand : origin.operands) {
    auto literal = operand.ToLiteral();
    if (!literal.has_value()) return std::nullopt;
    arguments.push_back(*std::move(literal));
  }
  replay::NonFiniteSearch search(*alone, kind);
  eval::EvaluateOptions how;
  how.observer = &search;
  (void)eval::Evaluate(*alone, arguments, how);  // what was found before it failed counts
  auto found = ReadNonFiniteFound(*alone, search.Finding());
  if (!found.has_value() || !found->first) return std::nullopt;
  return OriginInside{alone, *std::move(found->first)};
}

}  // namespace hloscope::debug
