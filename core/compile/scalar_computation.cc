// Computations of scalars: reducers, comparators, bodies of maps.
#include "core/compile/scalar_computation.h"

#include <algorithm>

#include "core/compile/kernel_rules.h"
#include "core/hlo/opcode_table.h"

namespace hloscope::compile {

using hlo::AttributeKey;
using hlo::ComputationId;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using hlo::Shape;

namespace {

constexpr int kMaxNested = 8;  // of calls in it

// True for a scalar, or a tuple of some.
bool AreScalars(const Shape& shape) {
  return std::ranges::all_of(shape.results(), &Shape::IsScalar);
}

bool AppliesToScalars(const Module& module, ComputationId id, int depth);

// True for what is applied element by element: elementwise instructions, others that show a scalar
// as a scalar, groups of scalars and calls of such computations.
bool IsScalarStep(const Module& module, InstructionId id, int depth) {
  if (!AreScalars(module.shape(id))) return false;
  static constexpr hlo::OpcodeSet kMovements = {Opcode::kBroadcast, Opcode::kCopy, Opcode::kReshape,
                                                Opcode::kTranspose};
  const Opcode opcode = module[id].opcode;
  if (opcode == Opcode::kTuple || opcode == Opcode::kGetTupleElement) return true;
  if (opcode == Opcode::kCall || opcode == Opcode::kFusion) {
    const auto key = opcode == Opcode::kCall ? AttributeKey::kToApply : AttributeKey::kCalls;
    return AppliesToScalars(module, module.GetComputation(module[id], key), depth + 1);
  }
  if (kMovements.Has(opcode)) {
    return AreScalars(module.shape(module.operands(id)[0])) && IsElemental(module, id);
  }
  const bool is_step =
      opcode == Opcode::kConstant || opcode == Opcode::kParameter ||
      (Info(opcode).category == hlo::Category::kElementwise && opcode != Opcode::kMap);
  return is_step && IsElemental(module, id);
}

bool AppliesToScalars(const Module& module, ComputationId id, int depth) {
  if (!id.valid() || module[id].instruction_count > kMaxApplied || depth > kMaxNested) {
    return false;
  }
  const hlo::Computation& computation = module[id];
  for (uint32_t k = 0; k < computation.instruction_count; ++k) {
    if (!IsScalarStep(module, InstructionId(computation.first_instruction + k), depth)) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool IsScalarComputation(const Module& module, ComputationId id, size_t results) {
  if (!AppliesToScalars(module, id, 0)) return false;
  const Shape& result = module.shape(module[id].root);
  return results == 1 ? result.IsScalar() : result.IsTuple() && result.elements().size() == results;
}

bool IsTooLarge(const Module& module, ComputationId id) {
  if (!id.valid()) return false;
  if (module[id].instruction_count > kMaxApplied) return true;
  return std::ranges::any_of(module.instructions(module[id]), [&](const hlo::Instruction& each) {
    return std::ranges::any_of(module.CalledComputations(each), [&](ComputationId callee) {
      return module[callee].instruction_count > kMaxApplied;
    });
  });
}

bool TakesTypesOf(const Module& module, ComputationId id, std::span<const InstructionId> values,
                  size_t first) {
  const auto parameters = module.Parameters(id);
  if (parameters.size() < first + values.size()) return false;
  for (size_t k = 0; k < values.size(); ++k) {
    if (!parameters[first + k].valid() || module.shape(parameters[first + k]).element_type() !=
                                              module.shape(values[k]).element_type()) {
      return false;
    }
  }
  return true;
}

bool MakesTypesOf(const Module& module, ComputationId id, std::span<const InstructionId> values) {
  const Shape& made = module.shape(module[id].root);
  for (size_t k = 0; k < values.size(); ++k) {
    const Shape& result = made.results()[k];
    if (result.element_type() != module.shape(values[k]).element_type()) return false;
  }
  return true;
}

}  // namespace hloscope::compile
