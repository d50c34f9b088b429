// InPlaceOperands: dynamic-update-slice and scatter write parts of what they update.
#include "core/compile/kernel_rules.h"
#include "core/compile/plan/plan.h"

namespace hloscope::compile {

using hlo::AttributeKey;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;

namespace {

// What the kernel yields where it is one value: the root of a fusion, or the instruction.
InstructionId RootOf(const Module& module, InstructionId kernel) {
  if (module[kernel].opcode != Opcode::kFusion) return kernel;
  return module[module.GetComputation(module[kernel], AttributeKey::kCalls)].root;
}

}  // namespace

std::vector<int> InPlaceOperands(const Module& module, InstructionId kernel) {
  const hlo::Shape& shape = module.shape(kernel);
  std::vector<int> out(shape.IsTuple() ? shape.elements().size() : 1, -1);
  const InstructionId root = RootOf(module, kernel);
  for (size_t i = 0; i < UpdatedOperands(module, root); ++i) {
    const InstructionId updated = module.operands(root)[i];
    out[i] = root == kernel
                 ? static_cast<int>(i)
                 : static_cast<int>(module.GetInt(module[updated], AttributeKey::kParameterNumber));
  }
  return out;
}

}  // namespace hloscope::compile
