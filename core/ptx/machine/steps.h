// What executes each instruction. Every function gives nullptr for a form that it does not execute.
#pragma once

#include <span>
#include <string_view>

#include "core/ptx/machine/state.h"
#include "core/ptx/machine/unit_begin.h"

namespace hloscope::ptx {

struct CellSteps;  // checks/cell_lanes.h

// Compiled for each generation of vector units; all have the same bits.
inline namespace HLOSCOPE_UNIT {

Step IntegerStep(const Instruction& instruction);   // arithmetic of integers
Step BitStep(const Instruction& instruction);       // bits, moves, comparisons of integers
Step FloatStep(const Instruction& instruction);     // arithmetic of floating-point numbers
Step OrderStep(const Instruction& instruction);     // their comparisons, the smaller, the larger
Step FunctionStep(const Instruction& instruction);  // approximate functions, roots, reciprocals
Step ConvertStep(const Instruction& instruction);
Step MemoryStep(const Instruction& instruction);
Step WarpStep(const Instruction& instruction);    // shuffles, votes, reductions of a warp
Step MatrixStep(const Instruction& instruction);  // tensor cores and matrices in shared memory

// The first of them that knows the instruction; nullptr for none.
Step LaneStep(const Instruction& instruction);
const CellSteps& UnitCellSteps();  // the search for races

}  // namespace HLOSCOPE_UNIT

Step RareStep(const Instruction& instruction);          // what few kernels have
Step NarrowStep(const Instruction& instruction);        // conversions and .ftz of narrow floats
Step WideStep(const Instruction& instruction);          // values of 128 bits
Step ByteMatrixStep(const Instruction& instruction);    // ldmatrix and stmatrix of bytes
Step WmmaStep(const Instruction& instruction);          // wmma
Step BarrierStep(const Instruction& instruction);       // mbarrier
Step BulkStep(const Instruction& instruction);          // bulk copies without tensor maps
Step TensorMapStep(const Instruction& instruction);     // those with them, and what changes maps
Step WarpGroupStep(const Instruction& instruction);     // wgmma, given the first warp of the group
Step TensorMemoryStep(const Instruction& instruction);  // tcgen05 but its products
Step TensorCopyStep(const Instruction& instruction);    // tcgen05.cp
Step TensorMultiplyStep(const Instruction& instruction);
Step NarrowMmaStep(const Instruction& instruction);       // mma.sync of 4 to 8 bits on sm_120
Step ExactNarrowMmaStep(const Instruction& instruction);  // the same, sums rounded once

struct VectorUnit {
  std::string_view name;
  Step (*step_of)(const Instruction&);
  const CellSteps& (*cell_steps)();
};

// Those that this processor has, the best last.
std::span<const VectorUnit> VectorUnits();

// The step of the best of them, or the one for all units; nullptr for none. Control instructions
// have none: the loop of a warp executes them.
Step StepOf(const Instruction& instruction);
bool IsControl(Operation operation);

}  // namespace hloscope::ptx

#include "core/ptx/machine/unit_end.h"
