// Which function executes an instruction.
#include "core/ptx/machine/steps.h"

namespace hloscope::ptx {

bool IsControl(Operation operation) {
  switch (operation) {
    case Operation::kNop:
    case Operation::kBar:
    case Operation::kWarpBar:
    case Operation::kBra:
    case Operation::kRet:
    case Operation::kTrap:
      return true;
    default:
      return false;
  }
}

Step StepOf(const Instruction& instruction) {
  for (const auto of :
       {IntegerStep, FloatStep, FunctionStep, ConvertStep, MemoryStep, WarpStep, MatrixStep}) {
    // What only floating-point types have is asked of integers too: their tables have no entry for
    // it.
    if (const Step step = of(instruction); step != nullptr) return step;
  }
  return nullptr;
}

void Block::Fail(std::string what, uint32_t thread, std::optional<uint64_t> address) {
  if (fault.has_value()) return;
  fault = RawFault{std::move(what), pc, thread, address.value_or(0), address.has_value()};
}

}  // namespace hloscope::ptx
