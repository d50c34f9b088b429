// Choosing the shape rule of an opcode, and what computations a module has to offer to it.
#include "core/hlo/shape/shape_inference.h"

#include "core/hlo/opcode_traits.h"
#include "core/hlo/shape/infer.h"
#include "fmt/format.h"

namespace hloscope::hlo {
namespace {

using Rule = Result<Shape> (*)(const InferenceInput&);

Rule RuleOf(ShapeRule rule) {
  switch (rule) {
#define SHAPE_RULE(name, function) \
  case ShapeRule::k##name:         \
    return Infer##function;
#include "core/hlo/shape_rules.def"
#undef SHAPE_RULE
  }
  return nullptr;
}

Result<ProgramShape> MakeProgramShape(const Module& module, ComputationId id) {
  if (!id.valid() || id.index >= module.computations().size()) {
    return InputError("calls a computation that does not exist");
  }
  const Computation& c = module[id];
  if (c.instruction_count == 0) {
    return UnsupportedError(fmt::format("computation {} is not defined yet", module[c.name]));
  }
  uint64_t end = uint64_t{c.first_instruction} + c.instruction_count;
  if (!c.root.valid() || c.root.index < c.first_instruction || c.root.index >= end) {
    return InputError(fmt::format("computation {} has no root", module[c.name]));
  }
  ProgramShape program;
  std::vector<InstructionId> parameters = module.Parameters(id);
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].valid()) {
      return InputError(fmt::format("computation {} has no parameter {}", module[c.name], i));
    }
    program.parameters.push_back(module[parameters[i]].shape);
  }
  program.result = module[c.root].shape;
  return program;
}

}  // namespace

Result<const ProgramShape*> ProgramShapes::Find(const Module& module, ComputationId id) {
  if (auto known = known_.find(id.index); known != known_.end()) return &known->second;
  HLOSCOPE_ASSIGN_OR_RETURN(ProgramShape program, MakeProgramShape(module, id));
  return &known_.emplace(id.index, std::move(program)).first->second;
}

Result<Shape> InferShape(const InferenceInput& input) {
  ProgramShapes programs;
  InferenceInput complete = input;
  if (complete.programs == nullptr) complete.programs = &programs;
  const OpcodeInfo& info = Info(input.opcode);
  if (info.arity >= 0) {
    HLOSCOPE_TRY(CheckCount(complete, static_cast<size_t>(info.arity)));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(Shape shape, RuleOf(info.shape_rule)(complete));
  if (input.keep_layouts) return shape;
  if (!shape.IsArray()) return shape.WithoutLayouts();
  shape.clear_layout();
  return shape;
}

// What HloInstruction::CreateSend and the like do in XLA's parser.
bool ShapeFollowsOperands(Opcode opcode) { return HasTrait(opcode, kTraitShapeFollows); }

bool CanInferShape(Opcode opcode) { return !HasTrait(opcode, kTraitShapeWritten); }

}  // namespace hloscope::hlo
