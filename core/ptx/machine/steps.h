// What executes each instruction. Every function gives nullptr for a form that it does not execute.
#pragma once

#include "core/ptx/machine/state.h"

namespace hloscope::ptx {

Step IntegerStep(
    const Instruction& instruction);  // arithmetic, bits, moves, comparisons of integers
Step FloatStep(
    const Instruction& instruction);  // arithmetic and comparisons of floating-point numbers
Step FunctionStep(const Instruction& instruction);  // approximate functions, roots, reciprocals
Step ConvertStep(const Instruction& instruction);
Step MemoryStep(const Instruction& instruction);
Step WarpStep(const Instruction& instruction);    // shuffles, votes, reductions of a warp
Step MatrixStep(const Instruction& instruction);  // tensor cores and matrices in shared memory

// The first of them that knows the instruction; nullptr for none. Control instructions have none:
// the loop of a warp executes them.
Step StepOf(const Instruction& instruction);
bool IsControl(Operation operation);

}  // namespace hloscope::ptx
