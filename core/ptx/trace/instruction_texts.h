// The instructions of a kernel as people read them.
#pragma once

#include <vector>

#include "core/ptx/ir/program.h"
#include "core/ptx/trace/trace.h"

namespace hloscope::ptx {

// Of each instruction of the kernel its text and operands, aligned with Kernel::instructions. An
// operand for each slot, in order, sinks included; behind them the guard, where there is one.
std::vector<TracedInstruction> InstructionTexts(const Program& program, const Kernel& kernel);

}  // namespace hloscope::ptx
