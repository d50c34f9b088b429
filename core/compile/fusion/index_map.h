// IndexMap: at which index of its loop, and how often, a kernel reads an element.
#pragma once

#include <cstdint>

#include "core/hlo/module.h"

namespace hloscope::compile {

// Reads with the same `map` are of the same element in each turn of the kernel's loop, and computed
// once.
struct Reads {
  uint64_t map = 0;  // 0: the index of the loop itself
  double count = 0;  // over the whole loop
};

// Reads of operand `slot` where the instruction itself is read as `reads` says. A scalar is read
// once.
Reads OperandReads(const hlo::Module& module, hlo::InstructionId id, size_t slot,
                   const Reads& reads);

// Reads of a value of which an unrolled kernel computes each element once.
Reads ReadsOfAll(hlo::InstructionId id, double elements);

// How often the loop of a kernel runs that yields `id`: for each element of what is written, or of
// what is reduced.
double LoopCount(const hlo::Module& module, hlo::InstructionId id);

// Elements of an array; of a tuple the first array's.
double ElementCount(const hlo::Shape& shape);

// Picoseconds that an element of the instruction costs inside a kernel.
double CostOf(hlo::Opcode opcode);
inline constexpr double kPlainCost = 30;
// From here on it is not computed more often than it has elements.
inline constexpr double kExpensiveOpCost = 150;
// How much of a kernel's code it is, as KernelLimits counts.
uint32_t CodeSizeOf(hlo::Opcode opcode, bool for_gpu);

}  // namespace hloscope::compile
