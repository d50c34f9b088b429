// Counts what a kernel does.
#include "core/codegen/effort.h"

#include <algorithm>

namespace hloscope::codegen {

using compile::Effort;
namespace {

// Elements that one run of a kernel may compute. At a few ns each, three times the time of good
// code, they lose less than a hundredth of the millisecond that good code takes to write.
constexpr int64_t kFewElements = 2048;

// Of one instruction: what it yields or, where that is more, what it reads.
int64_t ElementsOf(const hlo::Module& module, hlo::InstructionId id) {
  const auto count = [&](hlo::InstructionId each) {
    const hlo::Shape& shape = module.shape(each);
    return shape.IsTuple() ? 0 : shape.ElementCount().value_or(kFewElements + 1);
  };
  int64_t most = count(id);
  for (const hlo::InstructionId operand : module.operands(id)) {
    most = std::max(most, count(operand));
  }
  return most;
}

}  // namespace

Effort EffortFor(const Kernel& kernel) {
  const hlo::Module& module = kernel.module;
  if (module[kernel.id].computation != module.entry_id()) return Effort::kUsual;
  int64_t elements = 0;
  for (const hlo::InstructionId id : kernel.instructions) {
    elements += ElementsOf(module, id);
    if (elements > kFewElements) return Effort::kUsual;
  }
  return Effort::kLeast;
}

}  // namespace hloscope::codegen
