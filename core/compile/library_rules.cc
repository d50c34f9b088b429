// The rules of library calls.
#include "core/compile/library_rules.h"

#include <algorithm>

#include "core/compile/dot_form.h"

namespace hloscope::compile {

using hlo::ElementType;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using hlo::Shape;

namespace {

bool IsWholeArray(const Shape& shape) {
  return shape.IsArray() && shape.is_static() && shape.ByteSize().has_value() &&
         std::ranges::find(shape.dimensions(), 0) == shape.dimensions().end();
}

// Products of one type, summed up in f32 and rounded once to the result's.
bool HasLibraryTypes(const Module& module, InstructionId id) {
  const auto operands = module.operands(id);
  const ElementType type = module.shape(operands[0]).element_type();
  const ElementType out = module.shape(id).element_type();
  return module.shape(operands[1]).element_type() == type &&
         ((type == ElementType::kF32 && out == type) ||
          (type == ElementType::kBF16 && (out == type || out == ElementType::kF32)));
}

bool IsLibraryDot(const Module& module, InstructionId id) {
  if (module.operands(id).size() != 2 || !HasLibraryTypes(module, id)) return false;
  return DotFormOf(module, id).has_value();
}

}  // namespace

bool IsLibraryCall(const Module& module, InstructionId id) {
  const auto is_whole = [&](InstructionId operand) { return IsWholeArray(module.shape(operand)); };
  if (!is_whole(id) || !std::ranges::all_of(module.operands(id), is_whole)) return false;
  return module[id].opcode == Opcode::kDot && IsLibraryDot(module, id);
}

std::vector<InstructionId> LibraryCallsOf(const Module& module) {
  std::vector<InstructionId> calls;
  for (uint32_t i = 0; i < module.instructions().size(); ++i) {
    if (IsLibraryCall(module, InstructionId(i))) calls.emplace_back(i);
  }
  return calls;
}

}  // namespace hloscope::compile
