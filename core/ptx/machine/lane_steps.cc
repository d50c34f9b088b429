// Which function executes an instruction.
#include "core/ptx/machine/steps.h"
#include "core/ptx/machine/unit_begin.h"

namespace hloscope::ptx::inline HLOSCOPE_UNIT {

Step LaneStep(const Instruction& instruction) {
  for (const auto of : {BitStep, IntegerStep, FloatStep, OrderStep, FunctionStep, ConvertStep,
                        MemoryStep, WarpStep, MatrixStep}) {
    // What only floating-point types have is asked of integers too: their tables have no entry for
    // it.
    if (const Step step = of(instruction); step != nullptr) return step;
  }
  return nullptr;
}

}  // namespace hloscope::ptx::inline HLOSCOPE_UNIT

#include "core/ptx/machine/unit_end.h"
