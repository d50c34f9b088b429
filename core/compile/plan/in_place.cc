// InPlaceOperands, WrittenBytes: dynamic-update-slice and scatter write parts of what they update.
#include "core/compile/kernel_rules.h"
#include "core/compile/plan/plan.h"
#include "core/compile/plan/written_bytes.h"

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
  std::vector<int> out(module.shape(kernel).results().size(), -1);
  const InstructionId root = RootOf(module, kernel);
  for (size_t i = 0; i < UpdatedOperands(module, root); ++i) {
    const InstructionId updated = module.operands(root)[i];
    out[i] = root == kernel
                 ? static_cast<int>(i)
                 : static_cast<int>(module.GetInt(module[updated], AttributeKey::kParameterNumber));
  }
  return out;
}

int64_t WrittenBytes(const Module& module, InstructionId kernel) {
  const InstructionId root = RootOf(module, kernel);
  const size_t updated = UpdatedOperands(module, root);
  if (updated == 0) return module.shape(kernel).ByteSize().value_or(0);
  // A scatter's indices stand before its updates.
  const auto operands = module.operands(root);
  const size_t first = module[root].opcode == Opcode::kScatter ? updated + 1 : 1;
  int64_t bytes = 0;
  for (const InstructionId update : operands.subspan(first, updated)) {
    bytes += module.shape(update).ByteSize().value_or(0);
  }
  return bytes;
}

}  // namespace hloscope::compile
